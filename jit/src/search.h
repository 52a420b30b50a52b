/* SPDX-License-Identifier: MIT */
/*
 * Finds free addresses near a given one: arithmetic alone. Tell it what is
 * taken, in ascending order, then ask.
 */
#ifndef JITGATE_SEARCH_H
#define JITGATE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOWEST_PLACE	65536	/* of what programs are given */

static inline uintptr_t round_down(uintptr_t value, size_t align)
{
	return value & ~((uintptr_t)align - 1);
}

struct search {
	uintptr_t near_to;
	uintptr_t low, high;	/* the area fits in between */
	size_t size, align;
	uintptr_t gap;		/* where the next gap may begin */
	uintptr_t best;
	uintptr_t distance;	/* of the farthest byte of the best one */
	bool found;
};

/*
 * The place is a multiple of align, a power of two; every byte is to be within
 * reach of near_to and below limit.
 */
void search_begin(struct search *search, uintptr_t near_to, size_t reach, size_t size,
		  size_t align, uintptr_t limit);
void search_taken(struct search *search, uintptr_t start, uintptr_t end);
/* Returns 0 when there is nothing. */
uintptr_t search_end(struct search *search);

#endif
