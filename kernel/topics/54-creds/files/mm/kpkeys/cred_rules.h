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

static __always_inline bool kpkeys_cred_can(const struct cred *cred, int cap)
{
	return cap_raised(cred->cap_effective, cap);
}

/* In a namespace of its own, anybody has all capabilities. */
static __always_inline bool kpkeys_cred_rules(const struct cred *cred, int cap)
{
	return kpkeys_cred_can(cred, cap) && cred->user_ns == &init_user_ns;
}

static __always_inline bool kpkeys_may_have_uid(const struct cred *old, kuid_t id)
{
	return uid_eq(id, old->uid) || uid_eq(id, old->euid) ||
	       uid_eq(id, old->suid) || uid_eq(id, old->fsuid) ||
	       kpkeys_cred_rules(old, CAP_SETUID) ||
	       (kpkeys_cred_can(old, CAP_SETUID) && !uid_eq(id, GLOBAL_ROOT_UID));
}

static __always_inline bool kpkeys_may_have_gid(const struct cred *old, kgid_t id)
{
	return gid_eq(id, old->gid) || gid_eq(id, old->egid) ||
	       gid_eq(id, old->sgid) || gid_eq(id, old->fsgid) ||
	       kpkeys_cred_rules(old, CAP_SETGID) ||
	       (kpkeys_cred_can(old, CAP_SETGID) && !gid_eq(id, GLOBAL_ROOT_GID));
}

static __always_inline bool kpkeys_may_have_ids(const struct cred *old, const struct cred *new)
{
	return kpkeys_may_have_uid(old, new->uid) && kpkeys_may_have_uid(old, new->euid) &&
	       kpkeys_may_have_uid(old, new->suid) && kpkeys_may_have_uid(old, new->fsuid) &&
	       kpkeys_may_have_gid(old, new->gid) && kpkeys_may_have_gid(old, new->egid) &&
	       kpkeys_may_have_gid(old, new->sgid) && kpkeys_may_have_gid(old, new->fsgid) &&
	       (new->group_info == old->group_info || kpkeys_cred_can(old, CAP_SETGID));
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
	       (all || !((new->securebits ^ old->securebits) & ~issecure_mask(SECURE_KEEP_CAPS)));
}

/* A namespace grants all capabilities in itself, so never the first one. */
static __always_inline bool kpkeys_may_commit(const struct cred *old, const struct cred *new)
{
	if (!kpkeys_may_have_ids(old, new))
		return false;
	return new->user_ns == old->user_ns ? kpkeys_may_have_caps(old, new) :
					      new->user_ns != &init_user_ns;
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
	       !(new->cap_bset.val & ~old->cap_bset.val);
}

#endif /* _MM_KPKEYS_CRED_RULES_H */
