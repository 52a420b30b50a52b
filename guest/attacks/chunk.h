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

/* Is there a chunk at an address? If so, where its first page is. */
bool is_chunk(const volatile char *at, struct slot *first);

#endif
