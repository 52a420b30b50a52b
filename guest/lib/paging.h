/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes that the kernel's configuration decides: of pages, of what an entry maps. */
#ifndef GUEST_PAGING_H
#define GUEST_PAGING_H

#include <stddef.h>
#include <stdint.h>

/* LEAF: wherever the walk ends. */
enum { LEAF, LEVEL_PTE, LEVEL_PMD, LEVEL_PUD, LEVEL_P4D, LEVEL_PGD };

#define PAGE_SIZE	page_size()
#define PMD_SIZE	entry_size(LEVEL_PMD)
#define PUD_SIZE	entry_size(LEVEL_PUD)

size_t page_size(void);

/* Entries of a page table that fills its page. */
size_t table_entries(void);

/* What one entry of a table of this level maps, in bytes. */
uint64_t entry_size(int level);

#endif
