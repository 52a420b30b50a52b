/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of this process in a row, as the pool takes them. */
#ifndef GUEST_CHUNK_H
#define GUEST_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "attack.h"

#define CHUNK_ORDER	3	/* what the pool takes when there is nothing larger */
#define CHUNK_PAGES	(1 << CHUNK_ORDER)
#define CHUNK_SIZE	(CHUNK_PAGES * PAGE_SIZE)

/* Small pages that no child has; nothing is there yet. Or NULL. */
volatile char *map_small_pages(int part, size_t size);

/* So that the kernel does not move them away when it wants pages in a row itself. */
void hold_pages(uint64_t first, int nr);

/* Has up to @nr tables made, from @next on, until the pool has a page, if one is named. What user space reads by one. */
volatile char *spend_tables(volatile char *base, int nr, int *next, uint64_t until);

/* Likewise, until one is in that page: which; -1 if none is. */
int find_table(volatile char *base, int nr, int next, uint64_t phys);

/* Is there a chunk at an address? If so, where its first page is. */
bool is_chunk(const volatile char *at, struct slot *first);

#endif
