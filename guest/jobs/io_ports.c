// SPDX-License-Identifier: GPL-2.0-only
/* Tasks with different rights to I/O ports take turns on one CPU. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "cpus.h"
#include "job.h"

#ifdef __x86_64__
#include <sys/io.h>

#define FIRST_PORT	0x80	/* writes there do nothing */
#define NR_PORTS	2
#define ROUNDS		300

static const struct task {
	bool iopl;
	bool port[NR_PORTS];
} tasks[] = {
	{ .port = { true, false } },
	{ .port = { false, true } },
	{ .iopl = true, .port = { true, true } },
	{ .port = { false, false } },
};

#define NR_TASKS	((int)(sizeof(tasks) / sizeof(tasks[0])))

static sigjmp_buf refused;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(refused, 1);
}

static bool may_write(int port)
{
	if (sigsetjmp(refused, 1))
		return false;
	outb(0, FIRST_PORT + port);
	return true;
}

static bool take_rights(const struct task *task)
{
	int i;

	if (task->iopl)
		return !iopl(3);
	for (i = 0; i < NR_PORTS; i++)
		if (task->port[i] && ioperm(FIRST_PORT + i, 1, 1))
			return false;
	return true;
}

static bool has_rights(const struct task *task)
{
	int i;

	for (i = 0; i < NR_PORTS; i++)
		if (may_write(i) != task->port[i])
			return false;
	return true;
}

static void one_task(const struct task *task)
{
	int i;

	signal(SIGSEGV, on_fault);
	if (!take_rights(task))
		_exit(1);
	for (i = 0; i < ROUNDS; i++) {
		if (!has_rights(task))
			_exit(2);
		sched_yield();
	}
	/* And given back. */
	if (task->iopl ? iopl(0) : ioperm(FIRST_PORT, NR_PORTS, 0))
		_exit(3);
	_exit(may_write(0) || may_write(1));
}

enum job_outcome io_ports(void)
{
	int i, bad;

	if (ioperm(FIRST_PORT, 1, 0))
		return skipped("no ioperm()");
	stay_on_cpu(0);
	for (i = 0; i < NR_TASKS; i++)
		if (!fork())
			one_task(&tasks[i]);
	bad = reap_children();
	return bad ? failed("%d of %d tasks had other rights than theirs", bad, NR_TASKS) : passed();
}

#else

enum job_outcome io_ports(void)
{
	return skipped("there are no I/O ports here");
}

#endif
