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

/* ---- credentials that records have put aside, and nobody else refers to ---- */

/* Beside how many name them. */
#define OWED		BIT(62)
#define IN_FORCE	(KPKEYS_ASIDE - 1)

atomic_t kpkeys_nr_owed;

/* Where to look: what is owed, the slots say. */
static struct callback_head *owed;
static DEFINE_RAW_SPINLOCK(owed_lock);

/* Return: -EAGAIN if nobody uses them any more, or others change that. */
static noinline __flatten int note_owed(unsigned int nr, const struct cred *prepared)
{
	struct kpkeys_cred_slot *slot;
	long users;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(prepared);
	slot = kpkeys_cred_slot_at(nr);
	if (!slot)
		return -EPERM;
	users = atomic_long_read(&slot->users);
	if (READ_ONCE(slot->owner) != kpkeys_made_of(prepared) || users < 0 ||
	    users & (IN_FORCE | OWED))
		return -EPERM;
	if (!users || atomic_long_cmpxchg(&slot->users, users, users | OWED) != users)
		return -EAGAIN;
	return 0;
}

static noinline __flatten bool claim_owed(unsigned int nr, const struct cred *prepared)
{
	struct kpkeys_cred_slot *slot;

	guard(kpkeys_guarded)();
	kpkeys_reread(nr);
	kpkeys_reread(prepared);
	slot = kpkeys_cred_slot_at(nr);
	return slot && READ_ONCE(slot->owner) == kpkeys_made_of(prepared) &&
	       atomic_long_cmpxchg(&slot->users, OWED, 0) == OWED;
}

static bool is_put_aside(const struct cred *prepared)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(prepared->slot);

	return slot && atomic_long_read(&slot->users) != OWED;
}

static struct cred *take_owed(void)
{
	struct callback_head **at;
	struct cred *cred;

	guard(raw_spinlock_irqsave)(&owed_lock);
	for (at = &owed; *at; at = &(*at)->next) {
		cred = container_of(*at, struct cred, rcu);
		if (is_put_aside(cred) || !claim_owed(cred->slot, cred))
			continue;
		*at = cred->rcu.next;
		atomic_dec(&kpkeys_nr_owed);
		return cred;
	}
	return NULL;
}

/**
 * __kpkeys_put_owed_creds - give up references to what no record names any more
 */
void __kpkeys_put_owed_creds(void)
{
	struct cred *cred;

	while ((cred = take_owed())) {
		cred->non_rcu = 0;
		put_cred(cred);
	}
}

/* A reference, and the head by which they were to be freed, for who reverts. */
static int owe_a_reference(struct cred *prepared)
{
	int ret;

	guard(raw_spinlock_irqsave)(&owed_lock);
	ret = note_owed(prepared->slot, prepared);
	if (ret)
		return ret;
	atomic_long_set(&prepared->usage, 1);
	prepared->rcu.next = owed;
	owed = &prepared->rcu;
	atomic_inc(&kpkeys_nr_owed);
	return 0;
}

/* ---- records, and what goes with them ---- */

/* Once, however many CPUs have the task go. Who waits for it waits until it is nobody's. */
static __always_inline struct kpkeys_record *claim_record(unsigned int nr,
							  const struct task_struct *task)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(nr);

	if (!slot || !kpkeys_take_record(slot, kpkeys_owned_by(task)))
		return NULL;
	WRITE_ONCE(slot->owner, kpkeys_owned_by(NULL) | KPKEYS_CHANGES);
	return &slot->record;
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
	kpkeys_sealed_free(one);
	kpkeys_sealed_free(other);
	record = claim_record(nr, task);
	if (!record)
		return false;
	kpkeys_cred_use(record->real, -1);
	kpkeys_cred_use(record->cred, -1);
	while (record->nr_below && record->nr_below <= KPKEYS_CRED_DEPTH)
		kpkeys_cred_use(record->below[--record->nr_below], -KPKEYS_ASIDE);
	kpkeys_leave_stack(nr);
	kpkeys_cred_release(nr, 0);
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
	return kpkeys_sealed_free(nr);
}

static bool free_now(unsigned int nr)
{
	guard(irqsave)();
	return free_at_once(nr);
}

/* On a CPU, or of one that is off. */
static void free_waiting(void *numbers)
{
	unsigned int *number = numbers ?: this_cpu_ptr(waiting), i, nr;

	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		nr = xchg(&number[i], 0);
		if (nr)
			free_now(nr);
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
	int ret;

	do {
		if (!nr || (may_go(cred) && (let_wait(nr) || free_now(nr))))
			return true;
		ret = owe_a_reference(cred);
	} while (ret == -EAGAIN);
	if (ret)
		kpkeys_refuse_quietly("free", "credentials that are in force", cred);
	else
		kpkeys_put_owed_creds();
	return false;
}
