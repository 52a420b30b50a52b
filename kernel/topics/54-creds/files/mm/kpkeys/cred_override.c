// SPDX-License-Identifier: GPL-2.0-only
/* Credentials that a task has for a while, and what it may go back to. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kpkeys_guarded.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>

#include "cred_slots.h"

static __always_inline int push(struct kpkeys_record *record, const struct cred *cred)
{
	if (record->nr_below >= KPKEYS_CRED_DEPTH)
		return -ENOSPC;
	record->below[record->nr_below++] = record->cred;
	WRITE_ONCE(record->cred, cred);
	return 0;
}

static noinline __flatten int override_by_sealed(const struct cred *new)
{
	struct kpkeys_record *record;
	int ret;

	guard(kpkeys_guarded)();
	kpkeys_reread(new);
	record = kpkeys_own_record();
	if (!record || !kpkeys_cred_hold(new))
		return -EPERM;
	ret = push(record, new);
	if (ret)
		kpkeys_cred_use(new, -1);
	return ret;
}

static noinline __flatten int seal_override(unsigned int chunk, struct cred *new)
{
	struct kpkeys_record *record;
	const struct cred *sealed;
	unsigned int nr;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(new);
	record = kpkeys_own_record();
	if (!record)
		return -EPERM;
	nr = kpkeys_cred_claim(chunk);
	if (!nr)
		return -EAGAIN;
	sealed = kpkeys_cred_copy(nr, new);
	kpkeys_cred_seal(sealed, 1);
	if (!push(record, sealed))
		return nr;
	kpkeys_cred_release(nr);
	return -ENOSPC;
}

/* What was sealed once is not looked at again. */
static const struct cred *sealed_before(const struct cred *new)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(READ_ONCE(new->slot));

	return slot && READ_ONCE(slot->owner) == kpkeys_made_of(new) ? &slot->cred : NULL;
}

static int override_somewhere(struct cred *new)
{
	static DEFINE_MUTEX(lock);
	const struct cred *sealed;
	int nr, chunk;

	/* One slot for what several override with at once. */
	guard(mutex)(&lock);
	sealed = sealed_before(new);
	if (sealed)
		return override_by_sealed(sealed);
	do {
		chunk = kpkeys_find_cred_room(1);
		if (chunk < 0)
			return -ENOMEM;
		nr = seal_override(chunk, new);
	} while (nr == -EAGAIN);
	if (nr > 0)
		new->slot = nr;
	return min(nr, 0);
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
	if (kpkeys_is_sealed(new))
		ret = override_by_sealed(new);
	else
		ret = override_somewhere((struct cred *)new);
	if (ret == -EPERM)
		kpkeys_refuse_quietly("use as credentials", "another task's", new);
	if (ret && override_by_sealed(&kpkeys_nobody))
		force_sig(SIGKILL);
	return __kpkeys_current_cred();
}

static __always_inline bool is_below(const struct kpkeys_record *record, const struct cred *cred)
{
	unsigned long i;

	for (i = 0; i < record->nr_below && i < KPKEYS_CRED_DEPTH; i++)
		if (record->below[i] == cred)
			return true;
	return false;
}

static noinline __flatten int revert_override(const struct cred *old)
{
	struct kpkeys_record *record;

	guard(kpkeys_guarded)();
	kpkeys_reread(old);
	record = kpkeys_own_record();
	if (!record)
		return -EPERM;
	if (!is_below(record, old))
		return record->cred == old ? 0 : -EPERM;
	do {
		kpkeys_cred_use(record->cred, -1);
		WRITE_ONCE(record->cred, record->below[--record->nr_below]);
	} while (record->cred != old);
	return 0;
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
	if (revert_override(old) &&
	    kpkeys_refuse("use as credentials", "some that were not in force", old, NULL))
		revert_override(__kpkeys_current_real_cred());
	return __kpkeys_current_cred();
}
