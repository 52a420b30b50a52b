// SPDX-License-Identifier: GPL-2.0-only
/*
 * User namespaces: which one is above another one, and who made it. He may do everything
 * there. Both are noted when it is made, by what is in force of its maker.
 *
 * What is known of it stays while sealed credentials name it, or one below it: nobody
 * makes another one at its address meanwhile.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitops.h>
#include <linux/kpkeys_guarded.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "cred_lists.h"
#include "cred_slots.h"
#include "creds.h"

#define UNITS	DIV_ROUND_UP(sizeof(struct kpkeys_user_ns), KPKEYS_LIST_UNIT)

/* ---- what others ask ---- */

/* It may go, and another one come at its address, while it is looked at. */
static bool look_at_ns(const struct user_namespace *ns, struct kpkeys_user_ns *known)
{
	unsigned int nr = kpkeys_ns_number(ns);

	if (!nr)
		return false;
	known->parent = READ_ONCE(kpkeys_list(nr)->ns.parent);
	known->owner = READ_ONCE(kpkeys_list(nr)->ns.owner);
	/* Both are read before this is asked again. */
	smp_rmb();
	return kpkeys_is_ns(nr, ns);
}

/**
 * __kpkeys_ns_parent - what is above a user namespace
 * @ns: not the first one
 *
 * Return: the first one for what is no namespace.
 */
struct user_namespace *__kpkeys_ns_parent(const struct user_namespace *ns)
{
	struct kpkeys_user_ns known;

	return look_at_ns(ns, &known) ? known.parent : &init_user_ns;
}

/**
 * __kpkeys_ns_owner - who made a user namespace
 * @ns: not the first one
 *
 * Return: nobody for what is no namespace.
 */
kuid_t __kpkeys_ns_owner(const struct user_namespace *ns)
{
	struct kpkeys_user_ns known;

	return look_at_ns(ns, &known) ? known.owner : INVALID_UID;
}

/* ---- one comes ---- */

/* One that credentials name may be gone. */
static __always_inline bool is_known(const struct user_namespace *ns)
{
	unsigned int nr, end = kpkeys_nr_list_chunks() * KPKEYS_LIST_UNITS;

	for (nr = 0; nr < end; nr++)
		if ((READ_ONCE(kpkeys_list_state(nr)->owner) & ~KPKEYS_LIST_GONE) ==
		    kpkeys_owner_of_ns(ns))
			return true;
	return false;
}

static __always_inline void lock_namespaces(void)
{
	while (test_and_set_bit_lock(0, &kpkeys_cred_lists.busy))
		cpu_relax();
}

static __always_inline void unlock_namespaces(void)
{
	clear_bit_unlock(0, &kpkeys_cred_lists.busy);
}

/* One at each address: asked and answered by one CPU at a time. */
static __always_inline int publish_ns(unsigned int nr, const struct user_namespace *ns)
{
	bool known;

	lock_namespaces();
	known = is_known(ns);
	if (!known)
		kpkeys_list_publish(nr, kpkeys_owner_of_ns(ns));
	unlock_namespaces();
	return known ? -EEXIST : 0;
}

static __always_inline void fill_ns(struct kpkeys_user_ns *ns, const struct cred *maker)
{
	ns->parent = maker->user_ns;
	ns->owner = maker->euid;
	ns->above = maker->ns_slot;
	if (ns->above)
		atomic_long_inc(&kpkeys_list_state(ns->above)->users);
}

static noinline __flatten int make_ns(unsigned int chunk, void *data)
{
	unsigned int nr;
	int ret;

	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(data);
	const struct cred *maker __free(kpkeys_held) = kpkeys_hold_own_real();

	if (!maker || data == &init_user_ns)
		return -EPERM;
	nr = kpkeys_list_take(chunk, UNITS, true);
	if (!nr)
		return -EAGAIN;
	fill_ns(&kpkeys_list(nr)->ns, maker);
	ret = publish_ns(nr, data);
	if (!ret)
		return nr;
	/* Somebody may have taken it for what was there before. */
	kpkeys_list_publish(nr, KPKEYS_LIST_NS | KPKEYS_LIST_GONE);
	kpkeys_ns_drop(nr);
	return ret;
}

/* ---- one goes ---- */

static __always_inline void free_map(unsigned int nr)
{
	if (nr)
		kpkeys_list_put(nr);
}

/* Nobody counts himself for one that is gone. */
static __always_inline bool is_unused(unsigned int nr)
{
	unsigned long gone = KPKEYS_LIST_NS | KPKEYS_LIST_GONE;

	return (READ_ONCE(kpkeys_list_state(nr)->owner) & gone) == gone &&
	       !atomic_long_read_acquire(&kpkeys_list_state(nr)->users);
}

/* With those above it that have gone before it. */
static __always_inline void free_gone(unsigned int nr)
{
	unsigned int above;

	while (is_unused(nr)) {
		free_map(kpkeys_list(nr)->ns.map[0]);
		free_map(kpkeys_list(nr)->ns.map[1]);
		above = kpkeys_list(nr)->ns.above;
		kpkeys_ns_drop(above);
		kpkeys_list_free(nr);
		nr = above;
	}
}

static __always_inline void leave_ns(unsigned int nr, unsigned long owner)
{
	struct kpkeys_list_state *state = kpkeys_list_state(nr);

	if (READ_ONCE(state->owner) != owner)
		return;
	WRITE_ONCE(state->owner, owner | KPKEYS_LIST_GONE);
	kpkeys_ns_drop(nr);
}

/* By its address, whatever ordinary memory says; and others that went before. NULL: these only. */
static noinline __flatten void free_ns(const struct user_namespace *ns)
{
	unsigned int nr;

	guard(kpkeys_guarded)();
	kpkeys_reread(ns);
	lock_namespaces();
	for (nr = 0; nr / KPKEYS_LIST_UNITS < kpkeys_nr_list_chunks(); nr++) {
		leave_ns(nr, kpkeys_owner_of_ns(ns));
		free_gone(nr);
	}
	unlock_namespaces();
}

/**
 * __kpkeys_drop_user_ns - a namespace goes
 * @ns: which
 */
void __kpkeys_drop_user_ns(const struct user_namespace *ns)
{
	guard(mutex)(&kpkeys_list_lock);
	free_ns(ns);
}

/**
 * __kpkeys_make_user_ns - note who makes a namespace, and above which
 * @ns: memory that ordinary counts say is free; it gets a number
 *
 * Return: 0 or -errno: -ENOMEM if a task is in a namespace there.
 */
int __kpkeys_make_user_ns(struct user_namespace *ns)
{
	int nr;

	guard(mutex)(&kpkeys_list_lock);
	nr = kpkeys_list_somewhere(UNITS, make_ns, ns);
	if (nr == -EEXIST) {
		kpkeys_free_waiting_creds();
		free_ns(NULL);
		nr = kpkeys_list_somewhere(UNITS, make_ns, ns);
	}
	if (nr == -EEXIST)
		kpkeys_refuse_quietly("free", "a user namespace that a task is in", ns);
	if (nr < 0)
		return nr == -EEXIST ? -ENOMEM : nr;
	ns->slot = nr;
	return 0;
}
