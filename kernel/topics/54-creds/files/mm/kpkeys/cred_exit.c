// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of tasks, and sealed credentials, that go.
 *
 * Sealed ones are freed when nobody refers to them, which ordinary memory says, and no
 * record names them, which it does not.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/array_size.h>
#include <linux/cpu.h>
#include <linux/kpkeys_guarded.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "cred_slots.h"
#include "cred_stacks.h"
#include "creds.h"
#include "internal.h"

/* Sealed credentials that go with the next record: no section of their own. */
static DEFINE_PER_CPU(unsigned int, waiting[2]);

static __always_inline bool free_sealed(unsigned int nr)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(nr);

	if (!slot || !slot->owner || slot->owner & 1 ||
	    atomic_long_cmpxchg(&slot->users, 0, LONG_MIN))
		return false;
	/* It may have gone in between, and a record have come. */
	if (!READ_ONCE(slot->owner) || READ_ONCE(slot->owner) & 1) {
		atomic_long_sub(LONG_MIN, &slot->users);
		return false;
	}
	kpkeys_sealed_release(nr);
	return true;
}

/* With interrupts off: records go in softirqs, too. */
static noinline __flatten bool drop_record(unsigned int nr, const struct task_struct *task,
					   unsigned int one, unsigned int other)
{
	struct kpkeys_record *record;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(task);
	kpkeys_reread(one);
	kpkeys_reread(other);
	free_sealed(one);
	free_sealed(other);
	record = kpkeys_record_at(nr, task);
	if (!record)
		return false;
	kpkeys_cred_use(record->real, -1);
	kpkeys_cred_use(record->cred, -1);
	while (record->nr_below && record->nr_below <= KPKEYS_CRED_DEPTH)
		kpkeys_cred_use(record->below[--record->nr_below], -1);
	kpkeys_leave_stack(nr);
	kpkeys_cred_release(nr);
	return true;
}

/* Else it would be that of the next task at the same address. */
static void drop_wherever_it_is(const struct task_struct *task)
{
	unsigned int nr, end = READ_ONCE(kpkeys_cred_slots.nr_chunks) * KPKEYS_CRED_SLOTS;

	kpkeys_refuse_quietly("use as credentials", "another task's", task);
	for (nr = 0; nr < end; nr++) {
		guard(irqsave)();
		if (kpkeys_record_at(nr, task))
			drop_record(nr, task, 0, 0);
	}
}

static noinline __flatten bool free_at_once(unsigned int nr)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	return free_sealed(nr);
}

/* On a CPU, or of one that is off. */
static void free_waiting(void *numbers)
{
	unsigned int *number = numbers ?: this_cpu_ptr(waiting), i, nr;

	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		nr = xchg(&number[i], 0);
		if (nr)
			free_at_once(nr);
	}
}

/**
 * kpkeys_free_waiting_creds - free sealed credentials at once that wait for a record to go
 */
void kpkeys_free_waiting_creds(void)
{
	unsigned int cpu;

	guard(cpus_read_lock)();
	on_each_cpu(free_waiting, NULL, true);
	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			free_waiting(per_cpu(waiting, cpu));
}

/**
 * __kpkeys_exit_creds - a task's record goes
 * @task: whose
 */
void __kpkeys_exit_creds(struct task_struct *task)
{
	bool dropped;

	kpkeys_look_at_creds(task);
	/* Who has them freed at once does not miss those that are on their way. */
	scoped_guard(irqsave)
		dropped = drop_record(READ_ONCE(task->cred_slot), task,
				      this_cpu_xchg(waiting[0], 0),
				      this_cpu_xchg(waiting[1], 0));
	if (!dropped)
		drop_wherever_it_is(task);
	task->cred_slot = 0;
}

static bool may_go(const struct cred *prepared)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(prepared->slot);

	return slot && READ_ONCE(slot->owner) == kpkeys_made_of(prepared) &&
	       !atomic_long_read(&slot->users);
}

static bool let_wait(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(waiting); i++)
		if (!this_cpu_cmpxchg(waiting[i], 0, nr))
			return true;
	return false;
}

/**
 * __kpkeys_free_creds - credentials that nobody refers to go
 * @cred: what was prepared
 *
 * Return: false if records say that they are in force; they stay, then.
 */
bool __kpkeys_free_creds(struct cred *cred)
{
	unsigned int nr = cred->slot;

	if (!nr || (may_go(cred) && (let_wait(nr) || free_at_once(nr))))
		return true;
	kpkeys_refuse_quietly("free", "credentials that are in force", cred);
	return false;
}
