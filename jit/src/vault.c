// SPDX-License-Identifier: MIT
/*
 * What is known of areas decides what becomes executable, so it is never
 * writable where it is read. A page of it is changed in a copy, which with a key
 * only this thread can write, is sealed, and then moved over the old one: readers
 * need no lock, and find the page before or after the change.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

/* Counts that decide about no memory but that of areas. */
static struct upkeep upkeep[MOST_AREAS];

_Static_assert(!(sizeof(struct jitgate_area) & (sizeof(struct jitgate_area) - 1)),
	       "no record crosses the end of a page");

struct jitgate_area *vault_map(void)
{
	void *vault;

	count_call();
	vault = mmap(NULL, VAULT_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return vault == MAP_FAILED ? NULL : vault;
}

bool is_area(const struct jitgate_area *area)
{
	uintptr_t offset = (uintptr_t)area - (uintptr_t)DECISION->vault;

	return DECISION->vault && offset < VAULT_SIZE && !(offset % sizeof(*area)) && area->base;
}

struct upkeep *upkeep_of(const struct jitgate_area *area)
{
	return &upkeep[area - DECISION->vault];
}

/* The lowest one that is free is taken first, so behind one that was never used there is none. */
struct jitgate_area *next_area(struct jitgate_area *area)
{
	struct jitgate_area *end = DECISION->vault ? DECISION->vault + MOST_AREAS : NULL;

	for (area = area ? area + 1 : DECISION->vault; area != end && area->was_used; area++)
		if (area->base)
			return area;
	return NULL;
}

static void drop_page(void *page, size_t size)
{
	count_call();
	munmap(page, size);
}

static void *fresh_page(size_t size)
{
	int prot = have_key() ? PROT_NONE : PROT_READ | PROT_WRITE;
	void *page;

	count_call();
	page = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!have_key() || !pkey_protect(page, size, PROT_READ | PROT_WRITE, DECISION->key))
		return page;
	drop_page(page, size);
	return NULL;
}

static void fill(char *page, const struct jitgate_area *area, const struct jitgate_area *record)
{
	size_t size = page_size(), offset = (uintptr_t)area & (size - 1);
	uint64_t before = have_key() ? pkey_gate_borrow() : 0;

	memcpy(page, (const char *)area - offset, size);
	memcpy(page + offset, record, sizeof(*record));
	if (have_key())
		pkey_gate_return(before);
}

/* Closed for good before it gets the ordinary key, which all threads can read. */
static int seal(void *page, size_t size)
{
	if (have_key())
		return pkey_protect(page, size, PROT_READ, 0);
	count_call();
	return mprotect(page, size, PROT_READ) ? -errno : 0;
}

static int move_over(void *page, size_t size, struct jitgate_area *area)
{
	char *at = (char *)area - ((uintptr_t)area & (size - 1));

	count_call();
	return mremap(page, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at ? 0 : -errno;
}

int vault_write(struct jitgate_area *area, const struct jitgate_area *record)
{
	size_t size = page_size();
	void *page = fresh_page(size);
	int error;

	if (!page)
		return -ENOMEM;
	fill(page, area, record);
	error = seal(page, size);
	if (!error)
		error = move_over(page, size, area);
	if (error)
		drop_page(page, size);
	return error;
}

int vault_add(struct jitgate_area **area, const struct jitgate_area *record)
{
	struct jitgate_area *slot = DECISION->vault;

	while (slot != DECISION->vault + MOST_AREAS && slot->base)
		slot++;
	if (slot == DECISION->vault + MOST_AREAS)
		return -ENOMEM;
	*upkeep_of(slot) = (struct upkeep){ .openers = 0 };
	*area = slot;
	return vault_write(slot, record);
}

/* Nothing of it is left: other memory may be there next. */
int vault_remove(struct jitgate_area *area)
{
	struct jitgate_area nothing = { .was_used = 1 };

	return vault_write(area, &nothing);
}
