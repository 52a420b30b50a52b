// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "objects.h"

#ifdef __x86_64__
#define STACK_WORDS	4096		/* at most */

/* struct mutex; where it has its flags there are no others */
#define MUTEX		"text_mutex"
#define MUTEX_FLAGS	7UL
#define MUTEX_WAITERS	16
#define WAITER_TASK	16

/* A table's lock, in its struct page. On an emulator it does not show who waits. */
#define TABLE_LOCK	40
#define INSTRUCTIONS	2500		/* of a filter, five bytes each */
#define TAKES		20
#define LOOKS		5		/* at the same task, which goes nowhere */

#define PAUSE		2000		/* microseconds */
#define PATIENCE	500		/* times as many looks */
#define SETTLE		1500000		/* microseconds, until what others left is patched */

#define DONE_PAUSE	10000		/* microseconds, until it has done what it was asked ... */
#define DONE_PATIENCE	300		/* ... times as many */

static struct {
	volatile unsigned int asked, done;
	volatile bool stop;
} *helper;

/* ---- who acts ---- */

static void act_for_ever(void (*act)(void))
{
	stay_on_cpu(HELD_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!helper->stop) {
		usleep(PAUSE);
		if (helper->done == helper->asked)
			continue;
		act();
		helper->done++;
	}
	_exit(0);
}

/* Who would wait on this CPU would have it to himself. */
void held_start(void (*act)(void))
{
	helper = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fork())
		act_for_ever(act);
	stay_on_cpu(0);
	usleep(SETTLE);
}

/* Who became root has no right to kill it. */
void held_stop(void)
{
	helper->stop = true;
}

void held_ask(void)
{
	helper->asked++;
}

bool held_is_done(void)
{
	return helper->done == helper->asked;
}

/* ---- the locks ---- */

struct held_lock held_table(void)
{
	struct held_lock lock = { 0 };
	uint64_t addr = kread64(ksymbol(PATCH_ADDR)), phys;

	if (!addr || corrupt_command("walk addr=0x%lx level=%d name=%s", addr, LEVEL_PMD, PATCH_MM) ||
	    corrupt_answer("level") != LEVEL_PMD)
		return lock;
	phys = corrupt_answer("value") & PTE_PFN_MASK;
	if (phys)
		lock.addr = memory_map_base() + phys / PAGE_SIZE * STRUCT_PAGE + TABLE_LOCK;
	return lock;
}

struct held_lock held_mutex(void)
{
	return (struct held_lock) { ksymbol(MUTEX), held_copy_filter };
}

/* Who has it just then gives it back: it is taken again. */
static void take_spinlock(uint64_t addr)
{
	int i;

	for (i = 0; i < TAKES; i++)
		set_lock(addr, true);
}

/* By a task that sleeps, for which nobody spins. */
static void take(const struct held_lock *lock)
{
	struct task owner;

	if (!lock->hand_on)
		take_spinlock(lock->addr);
	else if (!ktask(getppid(), &owner))
		kwrite64(lock->addr, owner.task);
}

static uint64_t first_waiter(const struct held_lock *lock)
{
	uint64_t list = lock->addr + MUTEX_WAITERS, first = kread64(list);

	return first == list ? 0 : first;
}

/* Who has the kernel copy code takes the mutex, and gives it to who waits. */
void held_copy_filter(void)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, 7 } };
	struct sock_fprog filter = { .len = 1, .filter = code };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

void held_long_filter(void)
{
	static struct sock_filter code[INSTRUCTIONS];
	struct sock_fprog filter = { .len = INSTRUCTIONS, .filter = code };
	int i, fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	for (i = 0; i < INSTRUCTIONS; i++)
		code[i] = (struct sock_filter) { BPF_LD | BPF_IMM, 0, 0, i + 1 };
	code[i - 1] = (struct sock_filter) { BPF_RET | BPF_K, 0, 0, 7 };
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static void release(const struct held_lock *lock)
{
	if (!lock->hand_on)
		return set_lock(lock->addr, false);
	kwrite64(lock->addr, kread64(lock->addr) & MUTEX_FLAGS);
	if (first_waiter(lock))
		lock->hand_on();
}

/* ---- who waits ---- */

static uint64_t task_that_waits(const struct held_lock *lock)
{
	uint64_t waiter;

	if (lock->hand_on) {
		waiter = first_waiter(lock);
		return waiter ? kread64(waiter + WAITER_TASK) : 0;
	}
	return kread64(cpu_current(HELD_CPU));
}

/* All tasks have it at the same place. */
static size_t read_stack(uint64_t task, uint64_t *words, uint64_t *stack)
{
	struct task own;
	uint64_t slot;
	size_t at;

	if (ktask(0, &own) || own.stack_size > STACK_WORDS * sizeof(*words))
		return 0;
	slot = find_word(own.task, TASK_BEGIN, own.stack);
	*stack = slot ? kread64(task + (slot - own.task)) : 0;
	for (at = 0; at < own.stack_size; at += PAGE_SIZE)
		if (kread(*stack + at, (char *)words + at, PAGE_SIZE))
			return 0;
	return own.stack_size / sizeof(*words);
}

/* What is left of earlier calls may look like it. */
static bool change_stack(uint64_t task, const struct held_change *change)
{
	static uint64_t words[STACK_WORDS + HELD_ABOVE];
	uint64_t function = ksymbol(change->function), stack;
	size_t nr = read_stack(task, words, &stack), i;
	bool changed = false;

	for (i = HELD_BELOW; function && i < nr; i++)
		if (words[i] - function < change->length &&
		    change->change(change, stack + i * sizeof(*words), words + i))
			changed = true;
	return changed;
}

/* The kernel's way through what comes before a lock is short. */
static bool change_waiter(const struct held_lock *lock, const struct held_change *change)
{
	uint64_t task = task_that_waits(lock);
	int i;

	for (i = 0; task && i < LOOKS; i++) {
		usleep(PAUSE);
		if (task_that_waits(lock) != task)
			return false;
	}
	return task && change_stack(task, change);
}

static bool change_while_held(const struct held_lock *lock, const struct held_change *change)
{
	bool changed = false;
	int i;

	for (i = 0; i < PATIENCE && !changed && !change->is_over(change); i++) {
		usleep(PAUSE);
		changed = change_waiter(lock, change);
	}
	release(lock);
	return changed;
}

bool held_is_over(const struct held_change *change)
{
	(void)change;
	return held_is_done();
}

bool held_is_never_over(const struct held_change *change)
{
	(void)change;
	return false;
}

bool held_replace(uint64_t addr, const uint64_t *words, uint64_t from, uint64_t to)
{
	bool changed = false;
	int i;

	for (i = -HELD_BELOW; i < 0; i++) {
		if (words[i] != from)
			continue;
		kwrite64(addr + i * sizeof(*words), to);
		changed = true;
	}
	return changed;
}

void held_settle(void)
{
	int i;

	for (i = 0; i < DONE_PATIENCE && !held_is_done(); i++)
		usleep(DONE_PAUSE);
	usleep(20 * DONE_PAUSE);
}

bool held_act(const struct held_lock *lock, const struct held_change *change)
{
	take(lock);
	held_ask();
	return change_while_held(lock, change);
}

bool held_again(const struct held_lock *lock, const struct held_change *change)
{
	take(lock);
	return change_while_held(lock, change);
}
#endif
