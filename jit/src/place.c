// SPDX-License-Identifier: MIT
/* Reserves address space, anywhere or near an address. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "lines.h"
#include "search.h"

#define MARGIN		65536		/* stays free on both sides of what is there */
#define HEAP_ROOM	(32u << 20)	/* for brk() to grow */
#define MOST_TRIES	16		/* others map memory meanwhile */
#define QUICK_TRIES	15
#define HUGE_PAGE	((size_t)2 << 20)

#ifdef __aarch64__
#define ADDRESS_LIMIT	((uintptr_t)1 << 48)
#else
#define ADDRESS_LIMIT	(((uintptr_t)1 << 47) - 4096)
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void *map_reserve(uintptr_t at, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *hint = (void *)at;
	void *got;

	count_call();
	got = mmap(hint, size, PROT_NONE, at ? flags | MAP_FIXED_NOREPLACE : flags, -1, 0);
	if (!at || got == MAP_FAILED || got == hint)
		return got;
	/* Kernels before 4.17 take the address for a hint. */
	count_call();
	munmap(got, size);
	errno = EEXIST;
	return MAP_FAILED;
}

static void take(struct search *search, const struct mapping *mapping)
{
	uintptr_t start = mapping->start > MARGIN ? mapping->start - MARGIN : 0;

	/* What lies above the limit is the kernel's. */
	search_taken(search, start, mapping->end < ADDRESS_LIMIT ? mapping->end + MARGIN : mapping->end);
}

/* The heap begins there, whether it has been used yet or not. */
static uintptr_t heap_end(void)
{
	uintptr_t page = page_size();

	return ((uintptr_t)sbrk(0) + page - 1) & ~(page - 1);
}

static size_t alignment_of(const struct jitgate_request *request)
{
	size_t align = request->align > page_size() ? request->align : page_size();

	return request->flags & JITGATE_HUGE && align < HUGE_PAGE ? HUGE_PAGE : align;
}

static int find(const struct jitgate_request *request, size_t size, uintptr_t limit,
		uintptr_t *at)
{
	uintptr_t heap = heap_end();
	struct mapping mapping;
	struct search search;
	struct lines lines;
	char line[256];
	int error;

	search_begin(&search, (uintptr_t)request->near_to, request->reach, size,
		     alignment_of(request), limit);
	/* An engine that draws its hints draws some below zero. */
	if (search.high < search.low || search.high - search.low < size)
		return -ENOSPC;
	error = lines_open(&lines, "/proc/self/maps");
	if (error)
		return error;
	while (lines_next(&lines, line, sizeof(line))) {
		if (!parse_mapping(line, &mapping))
			continue;
		if (heap && mapping.start >= heap) {
			search_taken(&search, heap, heap + HEAP_ROOM);
			heap = 0;
		}
		take(&search, &mapping);
	}
	lines_close(&lines);
	*at = search_end(&search);
	return *at ? 0 : -ENOSPC;
}

static void *place_near(const struct jitgate_request *request, size_t size, int *error)
{
	uintptr_t limit = ADDRESS_LIMIT;
	int tries = MOST_TRIES;
	uintptr_t at;
	void *got;

	while (tries--) {
		*error = find(request, size, limit, &at);
		if (*error)
			return NULL;
		got = map_reserve(at, size);
		if (got != MAP_FAILED)
			return got;
		/* Taken meanwhile, or more than this kernel gives to programs. */
		if (errno != EEXIST)
			limit = at;
	}
	*error = -ENOSPC;
	return NULL;
}

static bool is_wanted(const struct jitgate_request *request, size_t size, uintptr_t at)
{
	uintptr_t near_to = (uintptr_t)request->near_to;
	uintptr_t last = at + size - 1;
	uintptr_t heap = heap_end();

	if (at < LOWEST_PLACE + MARGIN || last < at || last >= ADDRESS_LIMIT)
		return false;
	if (last >= heap && at < heap + HEAP_ROOM)
		return false;
	return (at > near_to ? at - near_to : near_to - at) <= request->reach &&
	       (last > near_to ? last - near_to : near_to - last) <= request->reach;
}

/* With as much left free around it as a search leaves. */
static void *map_apart(uintptr_t at, size_t size)
{
	char *got = map_reserve(at - MARGIN, size + 2 * MARGIN);

	if (got == MAP_FAILED)
		return NULL;
	count_call();
	munmap(got, MARGIN);
	count_call();
	munmap(got + MARGIN + size, MARGIN);
	return got + MARGIN;
}

/*
 * Around the address, then on both sides, twice as far each time. To try takes a
 * system call; to read what is mapped takes a hundred thousand instructions.
 */
static void *place_quickly(const struct jitgate_request *request, size_t size)
{
	size_t align = alignment_of(request);
	uintptr_t near_to = round_down((uintptr_t)request->near_to, align);
	uintptr_t away = round_down(size + 2 * MARGIN + align - 1, align);
	uintptr_t at = near_to - round_down(size / 2, align);
	int tries = QUICK_TRIES;
	void *got;

	while (tries--) {
		got = is_wanted(request, size, at) ? map_apart(at, size) : NULL;
		if (got)
			return got;
		at = tries % 2 ? near_to + away : near_to - away;
		away <<= tries % 2;
	}
	return NULL;
}

static void give_up(char *start, size_t size)
{
	if (!size)
		return;
	count_call();
	munmap(start, size);
}

static void *map_aligned(size_t size, size_t align)
{
	size_t more = align - page_size();
	char *got = map_reserve(0, size + more), *start;

	if (got == MAP_FAILED)
		return got;
	start = (char *)round_down((uintptr_t)got + more, align);
	give_up(got, start - got);
	give_up(start + size, got + more - start);
	return start;
}

void *place_area(const struct jitgate_request *request, size_t reserve, int *error)
{
	void *got;

	*error = 0;
	if (request->near_to) {
		got = place_quickly(request, reserve);
		return got ? got : place_near(request, reserve, error);
	}
	got = map_aligned(reserve, alignment_of(request));
	*error = got == MAP_FAILED ? -errno : 0;
	return *error ? NULL : got;
}
