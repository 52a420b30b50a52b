// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "chunk.h"
#include "objects.h"

#define REFERENCES	8

volatile char *map_small_pages(int part, size_t size)
{
	char *at = mmap((void *)user_room(part), size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, size, MADV_NOHUGEPAGE);
	madvise(at, size, MADV_DONTFORK);
	return at;
}

bool is_chunk(const volatile char *at, struct slot *first)
{
	struct slot slot;
	uint64_t i;

	for (i = 0; i < CHUNK_PAGES; i++) {
		if (kwalk((uint64_t)at + i * PAGE_SIZE, LEAF, 0, &slot))
			return false;
		if (!i)
			*first = slot;
		if (slot.phys != first->phys + i * PAGE_SIZE)
			return false;
	}
	return first->phys % CHUNK_SIZE == 0;
}

void hold_pages(uint64_t first, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		add_reference(first + i * STRUCT_PAGE, REFERENCES);
}

volatile char *spend_tables(volatile char *base, int nr, int *next, uint64_t until)
{
	volatile char *at;

	for (; *next < nr && !(until && frame_of(until) != FRAME_ORDINARY); ++*next) {
		at = base + *next * PMD_SIZE;
		if (*at)
			return at;
	}
	return NULL;
}

int find_table(volatile char *base, int nr, int next, uint64_t phys)
{
	struct slot slot;

	for (; next < nr; next++) {
		(void)base[next * PMD_SIZE];
		if (!kwalk((uint64_t)base + next * PMD_SIZE, LEVEL_PTE, 0, &slot) &&
		    (slot.slot & -PAGE_SIZE) == direct_map_base() + phys)
			return next;
	}
	return -1;
}
