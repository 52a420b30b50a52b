// SPDX-License-Identifier: GPL-2.0-only
/*
 * By whose rights a CPU of x86-64 runs. Two words of ordinary memory say which task is
 * current, and where a system call has its stack. The switch to a task has both in
 * registers, so that is where it is noted which rights the task has. Where it has those
 * of the one before nothing is written.
 */
#include <linux/init.h>
#include <linux/kpkeys_guarded.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "cred_slots.h"

/* Whose stack it is may have overrides. */
static const struct kpkeys_record no_record = {
	.cred		= &kpkeys_nobody,
	.real		= &kpkeys_nobody,
	.nr_below	= 1,
};

static __always_inline const struct kpkeys_record *record_that_runs(const struct task_struct *task)
{
	const struct kpkeys_record *record = kpkeys_record_of(task);

	return record && kpkeys_is_on_stack(record) ? record : &no_record;
}

/* The current task is still the one before. */
static noinline __flatten notrace void note_on_cpu(const struct task_struct *next)
{
	const struct kpkeys_record *record;

	guard(kpkeys_guarded)();
	kpkeys_reread(next);
	record = record_that_runs(next);
	kpkeys_note_on_cpu(record);
	raw_cpu_write(kpkeys_cpu.overridden, READ_ONCE(record->nr_below));
}

/**
 * __kpkeys_task_runs - note which rights the task has that a CPU has switched to
 * @next: the task
 *
 * Those of nobody, if it is on another one's stack: it is refused what it asks then. A
 * CPU's idle task on its own stack asks nothing. And note whether the task has overrides,
 * for the way to user space.
 */
notrace void __kpkeys_task_runs(const struct task_struct *next)
{
	const struct kpkeys_record *record = record_that_runs(next);

	if (next == raw_cpu_read(kpkeys_cpu.idle) && record != &no_record)
		return;
	if (!kpkeys_is_of_cpu(record) || unlikely(READ_ONCE(record->nr_below)))
		note_on_cpu(next);
}

static __flatten void __init know_idle_task(unsigned int cpu, const struct task_struct *idle)
{
	guard(kpkeys_guarded)();
	per_cpu_ptr(&kpkeys_cpu, cpu)->idle = idle;
}

/* Not before: the first one starts others until then. */
static int __init know_idle_tasks(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (kpkeys_creds_enabled())
			know_idle_task(cpu, idle_task(cpu));
	return 0;
}
late_initcall(know_idle_tasks);
