// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "chunk.h"

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
