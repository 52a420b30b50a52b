// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of tasks, and sealed credentials, that go.
 *
 * Sealed ones are freed when nobody refers to them, which ordinary memory says, and no
 * record names them, which it does not. Who overrides an override may give up the
 * reference to that one: then the last record that has put it aside has a reference.
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

/* ---- credentials that records have put aside, and nobody else refers to ---- */

/* Beside how many name them. */
#define OWED	BIT(62)

atomic_t kpkeys_nr_owed;

static bool is_in_force(const struct cred *sealed)
{
	unsigned int nr, end = READ_ONCE(kpkeys_cred_slots.nr_chunks) * KPKEYS_CRED_SLOTS;
	struct kpkeys_cred_slot *slot;

	for (nr = 0; nr < end; nr++) {
		slot = kpkeys_cred_slot(nr);
		if (READ_ONCE(slot->owner) & 1 && (READ_ONCE(slot->record.cred) == sealed ||
						   READ_ONCE(slot->record.real) == sealed))
			return true;
	}
	return false;
}

/* Return: whether nobody has owed it before. */
static noinline __flatten bool note_owed(unsigned int nr, const struct cred *prepared)
{
	struct kpkeys_cred_slot *slot;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(prepared);
	slot = kpkeys_cred_slot_at(nr);
	return slot && READ_ONCE(slot->owner) == kpkeys_made_of(prepared) &&
	       !(atomic_long_fetch_or(OWED, &slot->users) & OWED);
}

static noinline __flatten struct cred *claim_owed(unsigned int nr)
{
	struct kpkeys_cred_slot *slot;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	slot = kpkeys_cred_slot_at(nr);
	if (!slot || atomic_long_cmpxchg(&slot->users, OWED, 0) != OWED)
		return NULL;
	return (struct cred *)READ_ONCE(slot->owner);
}

/**
 * __kpkeys_put_owed_creds - give up references to what no record names any more
 */
void __kpkeys_put_owed_creds(void)
{
	unsigned int nr, end = READ_ONCE(kpkeys_cred_slots.nr_chunks) * KPKEYS_CRED_SLOTS;
	struct cred *cred;

	for (nr = 0; nr < end; nr++) {
		if (atomic_long_read(&kpkeys_cred_slot(nr)->users) != OWED)
			continue;
		cred = claim_owed(nr);
		if (!cred)
			continue;
		atomic_dec(&kpkeys_nr_owed);
		put_cred(cred);
	}
}

static bool owe_a_reference(struct cred *prepared)
{
	unsigned int nr = prepared->slot;
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(nr);

	if (!slot || READ_ONCE(slot->owner) != kpkeys_made_of(prepared) ||
	    is_in_force(&slot->cred))
		return false;
	atomic_long_set(&prepared->usage, 1);
	if (note_owed(nr, prepared))
		atomic_inc(&kpkeys_nr_owed);
	kpkeys_put_owed_creds();
	return true;
}

/* ---- records, and what goes with them ---- */

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
	kpkeys_put_owed_creds();
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
 * Return: false if records say that they are in force, or have been put aside; they stay,
 * then.
 */
bool __kpkeys_free_creds(struct cred *cred)
{
	unsigned int nr = cred->slot;

	if (!nr || (may_go(cred) && (let_wait(nr) || free_at_once(nr))))
		return true;
	if (!owe_a_reference(cred))
		kpkeys_refuse_quietly("free", "credentials that are in force", cred);
	return false;
}
