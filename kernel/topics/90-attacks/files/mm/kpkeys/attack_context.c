// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: the contexts a store can come from.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kpkeys.h>
#include <linux/kthread.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <asm/kpkeys_attack.h>

#include "attack.h"

#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

/* A kernel thread that needs longer than this has died of its store. */
#define ATTACK_THREAD_TIMEOUT	(5 * HZ)

/*
 * Everything a store in another context needs. On the heap, because it must
 * outlive a thread that dies.
 */
struct attack_run {
	struct attack_store store;
	struct timer_list timer;
	struct irq_work work;
	struct completion done;
	int err;
};

static void run_store(struct attack_run *run)
{
	run->err = attack_store(&run->store);
	complete(&run->done);
}

static void run_timer(struct timer_list *timer)
{
	struct attack_run *run = timer_container_of(run, timer, timer);

	run_store(run);
}

static void run_irq_work(struct irq_work *work)
{
	run_store(container_of(work, struct attack_run, work));
}

static int run_thread(void *data)
{
	run_store(data);
	return 0;
}

static void run_in_softirq(struct attack_run *run)
{
	run->store.may_oops = false;
	timer_setup(&run->timer, run_timer, 0);
	mod_timer(&run->timer, jiffies + 1);
	wait_for_completion(&run->done);
	timer_delete_sync(&run->timer);
}

static void run_in_hardirq(struct attack_run *run)
{
	run->store.may_oops = false;
	run->work = IRQ_WORK_INIT_HARD(run_irq_work);
	irq_work_queue(&run->work);
	irq_work_sync(&run->work);
}

/* Return: false when the thread never came back; it may still use @run. */
static bool run_in_kthread(struct attack_run *run)
{
	struct task_struct *task = kthread_run(run_thread, run, "attack");

	if (IS_ERR(task)) {
		run->err = PTR_ERR(task);
		return true;
	}
	return wait_for_completion_timeout(&run->done, ATTACK_THREAD_TIMEOUT);
}

struct attack_holder {
	struct completion open;
};

static int hold_section(void *data)
{
	struct attack_holder *holder = data;

	guard(kpkeys_pgtables_section)(2);
	complete(&holder->open);
	while (!kthread_should_stop())
		cpu_relax();
	return 0;
}

static void run_while_other_open(struct attack_run *run)
{
	struct attack_holder holder;
	struct task_struct *task;
	unsigned int other;

	init_completion(&holder.open);
	migrate_disable();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (other >= nr_cpu_ids) {
		run->err = -ENODEV;
		goto out;
	}
	task = kthread_create_on_cpu(hold_section, &holder, other, "attack/%u");
	if (IS_ERR(task)) {
		run->err = PTR_ERR(task);
		goto out;
	}
	wake_up_process(task);
	wait_for_completion(&holder.open);
	run->store.may_oops = false;
	run->err = attack_store(&run->store);
	kthread_stop(task);
out:
	migrate_enable();
}

/* What every writer of page tables does, with a store that is none of its own. */
static void run_in_section(struct attack_run *run)
{
	run->store.may_oops = false;
	scoped_guard(kpkeys_hardened_pgtables)
		run->err = attack_store(&run->store);
}

/* Interrupts off, so that the CPU whose protection is cleared is the one that stores. */
static void run_unprotected(struct attack_run *run)
{
	unsigned long flags;

	run->store.may_oops = false;
	local_irq_save(flags);
	run->err = attack_clear_write_protection();
	if (!run->err) {
		run->err = attack_store(&run->store);
		attack_restore_write_protection();
	}
	local_irq_restore(flags);
}

/**
 * attack_store_in_context() - execute a store in the context asked for
 * @file: open file
 * @request: context and store
 *
 * Return: 0, -EFAULT when the store was refused, -ENODEV when the context
 * needs a second CPU, -EOPNOTSUPP when this architecture does not have it.
 */
int attack_store_in_context(struct attack_file *file,
			    struct attack_request *request)
{
	struct attack_run *run;
	int err;

	if (!request->store.len)
		return -EINVAL;
	if (request->context == ATTACK_TASK)
		return attack_store(&request->store);

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	run->store = request->store;
	init_completion(&run->done);

	switch (request->context) {
	case ATTACK_SOFTIRQ:
		run_in_softirq(run);
		break;
	case ATTACK_HARDIRQ:
		run_in_hardirq(run);
		break;
	case ATTACK_KTHREAD:
		if (!run_in_kthread(run))
			return -EFAULT;
		break;
	case ATTACK_SECTION:
		run_in_section(run);
		break;
	case ATTACK_CR0:
		run_unprotected(run);
		break;
	default:
		run_while_other_open(run);
	}
	err = run->err;
	kfree(run);
	return err;
}

/**
 * struct attack_sleeper - a kernel thread that waits, then stores
 * @store: what it stores when woken
 * @section: whether it waits inside a lazy-MMU section
 * @spin: whether it spins until it is preempted instead of going to sleep, so
 *	that its stack holds an exception frame
 * @asleep: it is about to wait
 * @wake: ends its wait
 * @task: the thread
 * @err: result of the store
 */
struct attack_sleeper {
	struct attack_store store;
	bool section;
	bool spin;
	struct completion asleep;
	struct completion wake;
	struct task_struct *task;
	int err;
};

static void sleeper_wait(struct attack_sleeper *sleeper)
{
	complete(&sleeper->asleep);
	if (!sleeper->spin) {
		wait_for_completion(&sleeper->wake);
		return;
	}
	while (!completion_done(&sleeper->wake))
		cpu_relax();
}

/* The store comes after the section: only forged state can make it land. */
static int sleeper_thread(void *data)
{
	struct attack_sleeper *sleeper = data;

	scoped_guard(kpkeys_pgtables_section, sleeper->section ? 2 : 1)
		sleeper_wait(sleeper);
	sleeper->err = attack_store(&sleeper->store);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static int sleeper_finish(struct attack_file *file)
{
	struct attack_sleeper *sleeper = file->sleeper;
	int err;

	complete(&sleeper->wake);
	kthread_stop(sleeper->task);
	err = sleeper->err;
	kfree(sleeper);
	file->sleeper = NULL;
	return err;
}

/**
 * attack_sleep() - start a thread that waits until attack_wake()
 * @file: open file
 * @request: the store, the CPU, whether to wait inside a section, and whether
 *	to spin; a spinner on the caller's CPU is preempted when this returns,
 *	but not one in a section, which does not sleep either
 *
 * Answers with the thread's pid, so that its saved state can be looked up.
 *
 * Return: 0 or a negative error.
 */
int attack_sleep(struct attack_file *file, struct attack_request *request)
{
	struct attack_sleeper *sleeper;

	if (file->sleeper || !request->store.len ||
	    (request->section && (!request->spin || request->cpu <= 0)))
		return -EINVAL;
	sleeper = kzalloc(sizeof(*sleeper), GFP_KERNEL);
	if (!sleeper)
		return -ENOMEM;
	sleeper->store = request->store;
	sleeper->store.may_oops = false;
	sleeper->section = request->section;
	sleeper->spin = request->spin;
	init_completion(&sleeper->asleep);
	init_completion(&sleeper->wake);

	sleeper->task = kthread_create(sleeper_thread, sleeper, "attack_sleeper");
	if (IS_ERR(sleeper->task)) {
		int err = PTR_ERR(sleeper->task);

		kfree(sleeper);
		return err;
	}
	if (request->cpu >= 0)
		kthread_bind(sleeper->task, request->cpu);
	file->sleeper = sleeper;
	wake_up_process(sleeper->task);
	wait_for_completion(&sleeper->asleep);
	if (!sleeper->spin)
		wait_task_inactive(sleeper->task, TASK_UNINTERRUPTIBLE);
	attack_print(file, "pid=%d\n", task_pid_nr(sleeper->task));
	return 0;
}

/**
 * attack_wake() - wake the sleeper and let it store
 * @file: open file
 * @request: unused
 *
 * Return: result of the store, -EFAULT when it was refused.
 */
int attack_wake(struct attack_file *file, struct attack_request *request)
{
	return file->sleeper ? sleeper_finish(file) : -EINVAL;
}

/**
 * attack_sleeper_release() - end a sleeper that was never woken
 * @file: open file
 */
void attack_sleeper_release(struct attack_file *file)
{
	if (!file->sleeper)
		return;
	/* Nothing to store any more: its caller is gone. */
	file->sleeper->store.len = 0;
	file->sleeper->store.form = ATTACK_PLAIN;
	sleeper_finish(file);
}
