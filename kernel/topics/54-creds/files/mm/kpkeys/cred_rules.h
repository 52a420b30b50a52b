/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What credentials may become: the rule of the system calls, in few words, by
 * data that no store changes. A section asks, so that nothing here is called.
 */
#ifndef _MM_KPKEYS_CRED_RULES_H
#define _MM_KPKEYS_CRED_RULES_H

#include <linux/cred.h>
#include <linux/securebits.h>
#include <linux/user_namespace.h>

#include "cred_lists.h"

/* What anybody may set and lock, as only programs ask about it. Linux 6.12 has none. */
#ifndef SECURE_ALL_UNPRIVILEGED
#define SECURE_ALL_UNPRIVILEGED		0
#endif
#define KPKEYS_UNPRIVILEGED_LOCKS	(SECURE_ALL_UNPRIVILEGED << 1)

/* Linux makes no more of them, one in another. */
#define KPKEYS_NS_DEPTH	33

static __always_inline bool kpkeys_cred_can(const struct cred *cred, int cap)
{
	return cap_raised(cred->cap_effective, cap);
}

/* In a namespace of its own, anybody has all capabilities, over the IDs that it has. */
static __always_inline bool kpkeys_cred_gives(const struct cred *cred, bool gids, u32 id)
{
	return kpkeys_cred_can(cred, gids ? CAP_SETGID : CAP_SETUID) &&
	       kpkeys_map_gives(cred->ns_slot, gids, id);
}

static __always_inline bool kpkeys_cred_rules(const struct cred *cred, int cap)
{
	return kpkeys_cred_can(cred, cap) && cred->user_ns == &init_user_ns;
}

static __always_inline bool kpkeys_may_have_uid(const struct cred *old, kuid_t id)
{
	return uid_eq(id, old->uid) || uid_eq(id, old->euid) ||
	       uid_eq(id, old->suid) || uid_eq(id, old->fsuid) ||
	       kpkeys_cred_rules(old, CAP_SETUID) ||
	       kpkeys_cred_gives(old, false, __kuid_val(id));
}

static __always_inline bool kpkeys_may_have_gid(const struct cred *old, kgid_t id)
{
	return gid_eq(id, old->gid) || gid_eq(id, old->egid) ||
	       gid_eq(id, old->sgid) || gid_eq(id, old->fsgid) ||
	       kpkeys_cred_rules(old, CAP_SETGID) ||
	       kpkeys_cred_gives(old, true, __kgid_val(id));
}

/* Sealed lists. */
static __always_inline bool kpkeys_may_have_groups(const struct cred *old,
						   const struct group_info *groups)
{
	int i;

	if (groups == old->group_info || kpkeys_cred_rules(old, CAP_SETGID))
		return true;
	if (!kpkeys_cred_can(old, CAP_SETGID))
		return false;
	for (i = 0; i < groups->ngroups; i++)
		if (!kpkeys_may_have_gid(old, groups->gid[i]))
			return false;
	return true;
}

static __always_inline bool kpkeys_may_have_ids(const struct cred *old, const struct cred *new)
{
	return kpkeys_may_have_uid(old, new->uid) && kpkeys_may_have_uid(old, new->euid) &&
	       kpkeys_may_have_uid(old, new->suid) && kpkeys_may_have_uid(old, new->fsuid) &&
	       kpkeys_may_have_gid(old, new->gid) && kpkeys_may_have_gid(old, new->egid) &&
	       kpkeys_may_have_gid(old, new->sgid) && kpkeys_may_have_gid(old, new->fsgid) &&
	       kpkeys_may_have_groups(old, new->group_info);
}

static __always_inline bool kpkeys_may_have_securebits(const struct cred *old,
						       const struct cred *new)
{
	unsigned int locks = old->securebits & KPKEYS_UNPRIVILEGED_LOCKS;
	unsigned int changed = new->securebits ^ old->securebits;

	return !(changed & (locks | locks >> 1)) &&
	       !(changed & ~(issecure_mask(SECURE_KEEP_CAPS) | SECURE_ALL_UNPRIVILEGED |
			     KPKEYS_UNPRIVILEGED_LOCKS));
}

/* What it could have a program gain counts as well. */
static __always_inline bool kpkeys_may_have_caps(const struct cred *old, const struct cred *new)
{
	u64 might = old->cap_inheritable.val | old->cap_permitted.val;
	bool all = kpkeys_cred_can(old, CAP_SETPCAP);

	if (all)
		might |= old->cap_bset.val;
	return !(new->cap_permitted.val & ~old->cap_permitted.val) &&
	       !(new->cap_effective.val & ~new->cap_permitted.val) &&
	       !(new->cap_bset.val & ~old->cap_bset.val) &&
	       !(new->cap_inheritable.val & ~might) &&
	       !(new->cap_ambient.val & ~(new->cap_permitted.val & new->cap_inheritable.val)) &&
	       (all || kpkeys_may_have_securebits(old, new));
}

static __always_inline bool kpkeys_same_ids(const struct cred *one, const struct cred *other)
{
	return uid_eq(one->uid, other->uid) && gid_eq(one->gid, other->gid) &&
	       uid_eq(one->suid, other->suid) && gid_eq(one->sgid, other->sgid) &&
	       uid_eq(one->euid, other->euid) && gid_eq(one->egid, other->egid) &&
	       uid_eq(one->fsuid, other->fsuid) && gid_eq(one->fsgid, other->fsgid) &&
	       one->group_info == other->group_info;
}

/* A namespace grants all capabilities in itself. A task gets into one that it has made. */
static __always_inline bool kpkeys_has_made(const struct cred *old, const struct cred *new)
{
	const struct kpkeys_user_ns *ns = &kpkeys_list(new->ns_slot)->ns;

	return new->ns_slot && ns->parent == old->user_ns && uid_eq(ns->owner, old->euid);
}

static __always_inline bool kpkeys_may_have_rights(const struct cred *old, const struct cred *new)
{
	return new->user_ns == old->user_ns ? kpkeys_may_have_caps(old, new) :
					      kpkeys_has_made(old, new);
}

static __always_inline bool kpkeys_may_commit(const struct cred *old, const struct cred *new)
{
	return kpkeys_may_have_ids(old, new) && kpkeys_may_have_rights(old, new);
}

/* A child may have a namespace of its own. */
static __always_inline bool kpkeys_may_fork(const struct cred *old, const struct cred *new)
{
	return kpkeys_same_ids(old, new) && kpkeys_may_have_rights(old, new);
}

/*
 * Into a namespace below one's own goes who may do everything there: by a capability in
 * his own, or because he made it, or one that it is in.
 */
static __always_inline bool kpkeys_may_enter(const struct cred *old, const struct cred *new)
{
	const struct kpkeys_user_ns *ns;
	unsigned int nr = new->ns_slot, depth;

	if (!kpkeys_same_ids(old, new))
		return false;
	for (depth = 0; nr && depth <= KPKEYS_NS_DEPTH; depth++) {
		ns = &kpkeys_list(nr)->ns;
		if (ns->parent == old->user_ns)
			return uid_eq(ns->owner, old->euid) || kpkeys_cred_can(old, CAP_SYS_ADMIN);
		nr = ns->above;
	}
	return false;
}

/* What no file grants: what the task could not have a program gain. */
static __always_inline bool kpkeys_may_gain_caps(const struct cred *old, const struct cred *new)
{
	u64 might = old->cap_bset.val | old->cap_inheritable.val | old->cap_permitted.val;

	return !(new->cap_permitted.val & ~might) &&
	       !(new->cap_effective.val & ~new->cap_permitted.val) &&
	       !(new->cap_bset.val & ~old->cap_bset.val) &&
	       !(new->cap_inheritable.val & ~old->cap_inheritable.val) &&
	       !(new->cap_ambient.val & ~old->cap_ambient.val) &&
	       !((new->securebits ^ old->securebits) & ~issecure_mask(SECURE_KEEP_CAPS));
}

/* By its file a program may have other effective IDs, and capabilities. */
static __always_inline bool kpkeys_may_exec(const struct cred *old, const struct cred *new)
{
	return uid_eq(new->uid, old->uid) && gid_eq(new->gid, old->gid) &&
	       new->group_info == old->group_info && new->user_ns == old->user_ns &&
	       kpkeys_may_gain_caps(old, new);
}

static __always_inline bool kpkeys_same_caps(const struct cred *one, const struct cred *other)
{
	return one->cap_inheritable.val == other->cap_inheritable.val &&
	       one->cap_permitted.val == other->cap_permitted.val &&
	       one->cap_effective.val == other->cap_effective.val &&
	       one->cap_bset.val == other->cap_bset.val &&
	       one->cap_ambient.val == other->cap_ambient.val &&
	       one->securebits == other->securebits;
}

static __always_inline bool kpkeys_same_keyrings(const struct cred *one, const struct cred *other)
{
#ifdef CONFIG_KEYS
	return one->session_keyring == other->session_keyring &&
	       one->process_keyring == other->process_keyring &&
	       one->thread_keyring == other->thread_keyring &&
	       one->request_key_auth == other->request_key_auth;
#else
	return true;
#endif
}

/* What LSMs keep each has of its own. */
static __always_inline bool kpkeys_same_rights(const struct cred *one, const struct cred *other)
{
	return kpkeys_same_ids(one, other) && kpkeys_same_caps(one, other) &&
	       kpkeys_same_keyrings(one, other) && one->user == other->user &&
	       one->user_ns == other->user_ns && one->ucounts == other->ucounts;
}

#endif /* _MM_KPKEYS_CRED_RULES_H */
