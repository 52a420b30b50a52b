// SPDX-License-Identifier: GPL-2.0-only
/* Credentials that a task has for a while, and what it may go back to. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kpkeys_guarded.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "cred_slots.h"
#include "cred_stacks.h"

static __always_inline int push(struct kpkeys_record *record, const struct cred *cred)
{
	if (record->nr_below >= KPKEYS_CRED_DEPTH)
		return -ENOSPC;
	kpkeys_cred_use(record->cred, KPKEYS_ASIDE - 1);
	record->below[record->nr_below] = record->cred;
	WRITE_ONCE(record->nr_below, record->nr_below + 1);
	WRITE_ONCE(record->cred, cred);
	kpkeys_note_on_cpu(record);
	raw_cpu_write(kpkeys_cpu.overridden, true);
	return 0;
}

static __always_inline int push_on_own(const struct cred *cred)
{
	struct kpkeys_record *record __free(kpkeys_record) = kpkeys_take_own_record();

	return record ? push(record, cred) : -EPERM;
}

static noinline __flatten int override_by_sealed(const struct cred *new)
{
	int ret;

	guard(kpkeys_guarded)();
	kpkeys_reread(new);
	if (!kpkeys_cred_hold(new))
		return -EPERM;
	ret = push_on_own(new);
	if (ret)
		kpkeys_cred_use(new, -1);
	return ret;
}

static noinline __flatten int seal_override(unsigned int chunk, struct cred *new)
{
	const struct cred *sealed;
	bool is_complete;
	unsigned int nr;
	int ret;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(new);
	const struct cred *real __free(kpkeys_held) = __kpkeys_hold_own_real();

	if (!real)
		return -EPERM;
	nr = kpkeys_cred_claim(chunk);
	if (!nr)
		return -EAGAIN;
	sealed = kpkeys_cred_copy(nr, new, &is_complete);
	kpkeys_cred_seal(sealed, 1, real);
	ret = push_on_own(sealed);
	if (!ret)
		return is_complete ? nr : nr | KPKEYS_GROWN;
	/* Somebody may have counted himself. */
	kpkeys_cred_use(sealed, -1);
	kpkeys_sealed_free(nr);
	return ret;
}

/* What was sealed once is not looked at again. */
static const struct cred *sealed_before(const struct cred *new)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(READ_ONCE(new->slot));

	return slot && READ_ONCE(slot->owner) == kpkeys_made_of(new) ? &slot->cred : NULL;
}

static int override_somewhere(struct cred *new)
{
	static DEFINE_RAW_SPINLOCK(lock);
	const struct cred *sealed;
	int nr, chunk;

	/* One slot for what several override with at once, overlayfs without sleeping. */
	guard(raw_spinlock)(&lock);
	sealed = sealed_before(new);
	if (sealed)
		return override_by_sealed(sealed);
	do {
		chunk = kpkeys_find_cred_room_now();
		if (chunk < 0)
			return -ENOMEM;
		nr = seal_override(chunk, new);
	} while (nr == -EAGAIN);
	if (nr > 0 && nr & KPKEYS_GROWN)
		kpkeys_refuse_quietly("use as credentials",
				      "groups or a namespace that are not sealed", new);
	if (nr > 0)
		new->slot = nr & ~KPKEYS_GROWN;
	return min(nr, 0);
}

static int override(const struct cred *new)
{
	guard(irqsave)();
	return kpkeys_is_sealed(new) ? override_by_sealed(new) :
				       override_somewhere((struct cred *)new);
}

/**
 * __kpkeys_override_creds - put credentials in force for a while
 * @new: sealed, or prepared, which takes memory
 *
 * Where that fails, those of nobody are, who may do nothing. A task that has too many
 * put aside is killed.
 *
 * Return: what is in force.
 */
const struct cred *__kpkeys_override_creds(const struct cred *new)
{
	int ret;

	kpkeys_look_at_creds(current);
	ret = override(new == &kpkeys_untouchable ? &kpkeys_nobody : new);
	if (ret == -EPERM)
		kpkeys_refuse_quietly("use as credentials", "another task's", new);
	if (ret && override(&kpkeys_nobody))
		force_sig(SIGKILL);
	return __kpkeys_current_cred();
}
EXPORT_SYMBOL(__kpkeys_override_creds);

static __always_inline bool is_below(const struct kpkeys_record *record, const struct cred *cred)
{
	unsigned long i;

	for (i = 0; i < record->nr_below && i < KPKEYS_CRED_DEPTH; i++)
		if (record->below[i] == cred)
			return true;
	return false;
}

/* Back to that one, or to the first that was put aside. Whose stack this is may be a lie. */
static __always_inline void pop(struct kpkeys_record *record, const struct cred *old)
{
	bool runs = kpkeys_is_of_cpu(record);
	unsigned long below = record->nr_below;

	while (below && below-- <= KPKEYS_CRED_DEPTH) {
		kpkeys_cred_use(record->cred, -1);
		WRITE_ONCE(record->nr_below, below);
		WRITE_ONCE(record->cred, record->below[below]);
		kpkeys_cred_use(record->cred, 1 - KPKEYS_ASIDE);
		if (record->cred == old)
			break;
	}
	if (runs)
		kpkeys_note_on_cpu(record);
	raw_cpu_write(kpkeys_cpu.overridden, record->nr_below);
}

static noinline __flatten int revert_override(const struct cred *old)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(old);
	struct kpkeys_record *record __free(kpkeys_record) = kpkeys_take_own_record();

	if (!record)
		return -EPERM;
	if (!is_below(record, old))
		return record->cred == old ? 0 : -EPERM;
	pop(record, old);
	return 0;
}

static int revert(const struct cred *old)
{
	guard(irqsave)();
	return revert_override(old);
}

/**
 * __kpkeys_revert_creds - the end of that while
 * @old: what had been in force
 *
 * Return: what is in force.
 */
const struct cred *__kpkeys_revert_creds(const struct cred *old)
{
	kpkeys_look_at_creds(current);
	if (revert(old) &&
	    kpkeys_refuse("use as credentials", "some that were not in force", old, NULL))
		revert(__kpkeys_current_real_cred());
	kpkeys_put_owed_creds();
	return __kpkeys_current_cred();
}
EXPORT_SYMBOL(__kpkeys_revert_creds);

/* ---- no override lasts longer than the system call ---- */

#ifndef CONFIG_X86_64
static noinline __flatten void note_overridden(void)
{
	guard(kpkeys_guarded)();
	raw_cpu_write(kpkeys_cpu.overridden, true);
}

/**
 * __kpkeys_switch_creds - have the way to user space know whether overrides are to end
 * @next: the task that gets this CPU; without a record, that is looked for then
 */
void __kpkeys_switch_creds(const struct task_struct *next)
{
	const struct kpkeys_record *record = kpkeys_record_of(next);

	if (unlikely(!record || READ_ONCE(record->nr_below)))
		note_overridden();
}
#endif

static __always_inline struct kpkeys_record *take_record_at(unsigned int nr)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot(nr);
	unsigned long owner = READ_ONCE(slot->owner) & ~KPKEYS_CHANGES;

	if (!(owner & KPKEYS_OF_TASK) || !kpkeys_take_record(slot, owner))
		return NULL;
	return &slot->record;
}

/* Return: whose they were, if there was something to end. */
static noinline __flatten struct task_struct *end_overrides(void)
{
	unsigned int nr;

	guard(irqsave)();
	guard(kpkeys_guarded)();
	raw_cpu_write(kpkeys_cpu.overridden, false);
	nr = kpkeys_record_on_stack();
	if (!nr)
		return NULL;
	struct kpkeys_record *record __free(kpkeys_record) = take_record_at(nr);

	if (!record || !kpkeys_is_on_stack(record) || !record->nr_below)
		return NULL;
	if (kpkeys_state.mode != KPKEYS_AUDIT)
		pop(record, NULL);
	return kpkeys_owner_of(nr);
}

/**
 * __kpkeys_end_overrides - the task goes to user space, by its own credentials
 *
 * Where it keeps what it reverts to, or whether it does, is ordinary memory.
 */
void __kpkeys_end_overrides(void)
{
	struct task_struct *task = end_overrides();

	if (!task)
		return;
	kpkeys_refuse("use as credentials", "an override that did not end", task, task);
	kpkeys_put_owed_creds();
}
