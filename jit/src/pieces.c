// SPDX-License-Identifier: MIT
/*
 * Small pieces of an area. What is taken is in a book outside of the area: two
 * bits for each unit, whether it is taken and whether a piece begins there. The
 * book is shut as the code is: with a key it is written by the thread that has
 * the gate open, else it is read-only but for the moment of a change. Nothing in
 * it is an address, so a wrong book can give code twice, and nothing but code.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

#define UNIT		16u
#define WORD		64u
#define LEAST_GROWTH	65536u

struct book {
	size_t lowest;		/* no unit below it is free */
	uint64_t bits[];	/* what is taken, then where pieces begin */
};

struct run {
	size_t at, units;
};

static size_t words_of(size_t reserve)
{
	return (reserve / UNIT + WORD - 1) / WORD;
}

size_t book_size(size_t reserve)
{
	size_t page = page_size();
	size_t size = sizeof(struct book) + 2 * words_of(reserve) * sizeof(uint64_t);

	return (size + page - 1) & ~(page - 1);
}

struct book *book_map(size_t reserve, int *error)
{
	int prot = have_key() ? PROT_READ | PROT_WRITE : PROT_READ;
	size_t size = book_size(reserve);
	void *book;

	count_call();
	book = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*error = book == MAP_FAILED ? -errno : 0;
	if (!*error && have_key())
		*error = pkey_protect(book, size, prot, DECISION->key);
	if (*error && book != MAP_FAILED)
		book_unmap(book, reserve);
	return *error ? NULL : book;
}

void book_unmap(struct book *book, size_t reserve)
{
	count_call();
	munmap(book, book_size(reserve));
}

/* Until book_shut() this thread can change the book. */
static int book_open(const struct jitgate_area *area, uint64_t *rights)
{
	if (have_key()) {
		*rights = pkey_gate_borrow();
		return 0;
	}
	return pages_commit((void *)area->book, book_size(area->reserve), PROT_READ | PROT_WRITE);
}

static int book_shut(const struct jitgate_area *area, uint64_t rights)
{
	if (!have_key())
		return pages_commit((void *)area->book, book_size(area->reserve), PROT_READ);
	pkey_gate_return(rights);
	return 0;
}

static uint64_t *taken(const struct jitgate_area *area)
{
	return area->book->bits;
}

static uint64_t *begins(const struct jitgate_area *area)
{
	return area->book->bits + words_of(area->reserve);
}

static bool is_set(const uint64_t *bits, size_t at)
{
	return bits[at / WORD] >> at % WORD & 1;
}

/* Those bits of the word at / WORD that lie from at on and before end. */
static uint64_t mask_of(size_t at, size_t end)
{
	size_t from = at % WORD, last = end - (at - from);
	uint64_t mask = ~(uint64_t)0 << from;

	return last < WORD ? mask & ~(~(uint64_t)0 << last) : mask;
}

static void set_run(uint64_t *bits, const struct run *run, bool on)
{
	size_t at = run->at, end = run->at + run->units;

	for (; at < end; at = (at / WORD + 1) * WORD) {
		if (on)
			bits[at / WORD] |= mask_of(at, end);
		else
			bits[at / WORD] &= ~mask_of(at, end);
	}
}

/* Behind the last one that is taken in a run, 0 where none is. */
static size_t behind_taken(const uint64_t *bits, const struct run *run)
{
	size_t end = run->at + run->units, at;
	uint64_t word;

	while (end > run->at) {
		at = (end - 1) / WORD * WORD;
		if (at < run->at)
			at = run->at;
		word = bits[at / WORD] & mask_of(at, end);
		if (word)
			return at / WORD * WORD + WORD - __builtin_clzll(word);
		end = at;
	}
	return 0;
}

static size_t aligned_unit(const struct jitgate_area *area, size_t at, size_t align)
{
	uintptr_t address = (uintptr_t)area->base + at * UNIT;

	return (((address + align - 1) & ~((uintptr_t)align - 1)) - (uintptr_t)area->base) / UNIT;
}

/* The lowest place. */
static bool find_run(const struct jitgate_area *area, struct run *run, size_t align)
{
	size_t units = area->size / UNIT, behind = area->book->lowest;

	do {
		run->at = aligned_unit(area, behind, align);
		if (run->at > units || run->units > units - run->at)
			return false;
		behind = behind_taken(taken(area), run);
	} while (behind);
	return true;
}

static void take_run(const struct jitgate_area *area, const struct run *run)
{
	set_run(taken(area), run, true);
	set_run(begins(area), &(struct run){ run->at, 1 }, true);
	if (run->at == area->book->lowest)
		area->book->lowest += run->units;
}

static bool find_and_take(const struct jitgate_area *area, struct run *run, size_t align, int *error)
{
	uint64_t rights = 0;
	bool found;

	*error = book_open(area, &rights);
	if (*error)
		return false;
	found = find_run(area, run, align);
	if (found)
		take_run(area, run);
	*error = book_shut(area, rights);
	return found;
}

static int make_room(struct jitgate_area *area, size_t size)
{
	size_t more = size > LEAST_GROWTH ? size : LEAST_GROWTH;

	if (area->size == area->reserve)
		return -ENOSPC;
	if (more > area->reserve - area->size)
		more = area->reserve - area->size;
	return jitgate_area_grow(area, area->size + more);
}

static int take_piece(struct jitgate_area *area, size_t size, size_t align, void **piece)
{
	struct run run = { .units = (size + UNIT - 1) / UNIT };
	int error;

	while (!find_and_take(area, &run, align, &error)) {
		if (!error)
			error = make_room(area, size + align);
		if (error)
			return error;
	}
	*piece = area->base + run.at * UNIT;
	return error;
}

int jitgate_piece_new(struct jitgate_area *area, size_t size, size_t align, void **piece)
{
	int error, cancelling;

	if (!size || align & (align - 1))
		return -EINVAL;
	if (align < UNIT)
		align = UNIT;
	pieces_take(&cancelling);
	if (!is_area(area) || !area->book)
		error = -EINVAL;
	else if (size > area->reserve || align > area->reserve)
		error = -ENOSPC;
	else
		error = take_piece(area, size, align, piece);
	pieces_drop(cancelling);
	return error;
}

/* With a book that can be read. */
static bool find_piece(const struct jitgate_area *area, const void *piece, struct run *run)
{
	uintptr_t offset = (uintptr_t)piece - (uintptr_t)area->base;
	size_t units = area->size / UNIT, end;

	if (offset >= area->size || offset % UNIT)
		return false;
	run->at = offset / UNIT;
	if (!is_set(begins(area), run->at))
		return false;
	for (end = run->at + 1; end < units && is_set(taken(area), end); end++)
		if (is_set(begins(area), end))
			break;
	run->units = end - run->at;
	return true;
}

static void drop_run(const struct jitgate_area *area, const struct run *run)
{
	set_run(taken(area), run, false);
	set_run(begins(area), &(struct run){ run->at, 1 }, false);
	if (run->at < area->book->lowest)
		area->book->lowest = run->at;
}

static int drop_piece(const struct jitgate_area *area, const void *piece)
{
	uint64_t rights = 0;
	struct run run;
	bool found;
	int error = book_open(area, &rights);

	if (error)
		return error;
	found = find_piece(area, piece, &run);
	if (found)
		drop_run(area, &run);
	error = book_shut(area, rights);
	return found ? error : -EINVAL;
}

int jitgate_piece_free(struct jitgate_area *area, void *piece)
{
	int error = -EINVAL, cancelling;

	if (!piece)
		return 0;
	pieces_take(&cancelling);
	if (is_area(area) && area->book)
		error = drop_piece(area, piece);
	pieces_drop(cancelling);
	return error;
}

static size_t size_of(const struct jitgate_area *area, const void *piece)
{
	uint64_t rights = have_key() ? pkey_gate_borrow() : 0;
	struct run run;
	size_t size = find_piece(area, piece, &run) ? run.units * UNIT : 0;

	if (have_key())
		pkey_gate_return(rights);
	return size;
}

size_t jitgate_piece_size(const struct jitgate_area *area, const void *piece)
{
	size_t size = 0;
	int cancelling;

	pieces_take(&cancelling);
	if (is_area(area) && area->book)
		size = size_of(area, piece);
	pieces_drop(cancelling);
	return size;
}
