/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credentials in keyed memory: what a task may do, no store decides.
 *
 * Whoever changes credentials prepares a copy in ordinary memory, as ever. When
 * it is committed, or overrides others, it is sealed: a copy in a slot with
 * KPKEYS_PKEY_GUARDED is in force from then on, and is never written again. Its
 * references are counted in the copy that was prepared.
 *
 * Which ones a task has, its record says, in a slot of the same kind. The task
 * names it by a number, and it knows its task.
 */
#ifndef _LINUX_KPKEYS_CREDS_H
#define _LINUX_KPKEYS_CREDS_H

#include <linux/build_bug.h>
#include <linux/kpkeys.h>
#include <linux/uidgid_types.h>

struct cred;
struct group_info;
struct task_struct;
struct uid_gid_map;
struct user_namespace;

#if defined(KPKEYS_BUILT_IN) && defined(CONFIG_KPKEYS_CREDS)
DECLARE_STATIC_KEY_FALSE(kpkeys_creds_key);

static __always_inline bool kpkeys_creds_enabled(void)
{
	return static_branch_unlikely(&kpkeys_creds_key);
}

void kpkeys_creds_init(void);
#else
static __always_inline bool kpkeys_creds_enabled(void) { return false; }
static inline void kpkeys_creds_init(void) { }
#endif

/**
 * enum kpkeys_commit - what credentials are committed for
 * @KPKEYS_COMMIT: the task asks for them, or for a user namespace of its own
 * @KPKEYS_COMMIT_EXEC: a program, whose file may grant more than the task has
 * @KPKEYS_COMMIT_NSSET: a user namespace that there is
 */
enum kpkeys_commit {
	KPKEYS_COMMIT,
	KPKEYS_COMMIT_EXEC,
	KPKEYS_COMMIT_NSSET,
};

/* Nobody calls these where credentials are not sealed. */
const struct cred *__kpkeys_current_cred(void);
const struct cred *__kpkeys_current_real_cred(void);
const struct cred *__kpkeys_task_cred(const struct task_struct *task);
const struct cred *__kpkeys_task_real_cred(const struct task_struct *task);
int __kpkeys_fork_creds(struct task_struct *child, struct cred *new);
int __kpkeys_commit_creds(struct cred *new);
int __kpkeys_commit_exec_creds(struct cred *new);
int __kpkeys_commit_nsset_creds(struct cred *new);
const struct cred *__kpkeys_override_creds(const struct cred *new);
const struct cred *__kpkeys_revert_creds(const struct cred *old);
void __kpkeys_switch_creds(const struct task_struct *next);
void __kpkeys_end_overrides(void);
void __kpkeys_exit_creds(struct task_struct *task);
bool __kpkeys_free_creds(struct cred *cred);
int __kpkeys_seal_groups(struct group_info *groups);
struct group_info *__kpkeys_sealed_groups(struct group_info *groups);
bool __kpkeys_free_groups(struct group_info *groups);

/* Nor are these defined without user namespaces. */
struct user_namespace *__kpkeys_ns_parent(const struct user_namespace *ns);
kuid_t __kpkeys_ns_owner(const struct user_namespace *ns);
struct uid_gid_map *__kpkeys_sealed_map(struct user_namespace *ns, bool gids);
int __kpkeys_seal_map(const struct user_namespace *ns, const struct uid_gid_map *map, bool gids);
int __kpkeys_make_user_ns(struct user_namespace *ns);
void __kpkeys_drop_user_ns(const struct user_namespace *ns);

/**
 * kpkeys_current_cred - the current task's subjective credentials, where they are sealed
 * @otherwise: what they are where they are not
 */
#define kpkeys_current_cred(otherwise)					\
	(kpkeys_creds_enabled() ? __kpkeys_current_cred() : (otherwise))

/**
 * kpkeys_current_real_cred - the current task's objective credentials, likewise
 * @otherwise: what they are where they are not sealed
 */
#define kpkeys_current_real_cred(otherwise)				\
	(kpkeys_creds_enabled() ? __kpkeys_current_real_cred() : (otherwise))

/**
 * kpkeys_task_cred - a task's subjective credentials, where they are sealed
 * @task: which
 * @otherwise: what they are where they are not
 */
#define kpkeys_task_cred(task, otherwise)				\
	(kpkeys_creds_enabled() ? __kpkeys_task_cred(task) : (otherwise))

/**
 * kpkeys_task_real_cred - a task's objective credentials, likewise
 * @task: which
 * @otherwise: what they are where they are not sealed
 */
#define kpkeys_task_real_cred(task, otherwise)				\
	(kpkeys_creds_enabled() ? __kpkeys_task_real_cred(task) : (otherwise))

/**
 * kpkeys_fork_creds - give a child a record
 * @child: not seen by anybody yet
 * @new: what was prepared for it, or NULL for what its parent has
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_fork_creds(struct task_struct *child, struct cred *new)
{
	return kpkeys_creds_enabled() ? __kpkeys_fork_creds(child, new) : 0;
}

/**
 * kpkeys_commit_creds - seal credentials, and put them in force
 * @new: what was prepared
 * @how: what for, a constant: who waits has his variables on his stack
 *
 * Return: 0, or -errno: what was in force is, and who asked for others is killed.
 */
static __always_inline int kpkeys_commit_creds(struct cred *new, enum kpkeys_commit how)
{
	BUILD_BUG_ON(!__builtin_constant_p(how));
	if (!kpkeys_creds_enabled())
		return 0;
	switch (how) {
	case KPKEYS_COMMIT_EXEC:
		return __kpkeys_commit_exec_creds(new);
	case KPKEYS_COMMIT_NSSET:
		return __kpkeys_commit_nsset_creds(new);
	default:
		return __kpkeys_commit_creds(new);
	}
}

/**
 * kpkeys_override_creds - put credentials in force for a while
 * @new: sealed or prepared
 *
 * Return: what is in force.
 */
static inline const struct cred *kpkeys_override_creds(const struct cred *new)
{
	return kpkeys_creds_enabled() ? __kpkeys_override_creds(new) : new;
}

/**
 * kpkeys_revert_creds - the end of that while
 * @old: what had been in force
 *
 * Return: what is in force.
 */
static inline const struct cred *kpkeys_revert_creds(const struct cred *old)
{
	return kpkeys_creds_enabled() ? __kpkeys_revert_creds(old) : old;
}

/**
 * kpkeys_switch_creds - a task that has overrides gets this CPU
 * @next: the task
 *
 * On x86-64 kpkeys_task_runs() does it, which looks at the task's record anyway.
 */
static __always_inline void kpkeys_switch_creds(const struct task_struct *next)
{
	if (!IS_ENABLED(CONFIG_X86_64) && kpkeys_creds_enabled())
		__kpkeys_switch_creds(next);
}

#ifdef CONFIG_X86_64
void __kpkeys_task_runs(const struct task_struct *next);

/**
 * kpkeys_task_runs - a CPU has switched to a task, and is on its stack
 * @next: what the stack was taken from, as the register says that it was taken by
 */
static __always_inline void kpkeys_task_runs(const struct task_struct *next)
{
	if (kpkeys_creds_enabled())
		__kpkeys_task_runs(next);
}
#endif

/**
 * kpkeys_exit_creds - a task's record goes
 * @task: whose
 */
static inline void kpkeys_exit_creds(struct task_struct *task)
{
	if (kpkeys_creds_enabled())
		__kpkeys_exit_creds(task);
}

/**
 * kpkeys_free_creds - credentials that nobody refers to go
 * @cred: what was prepared
 *
 * Return: false if records say that they are in force; they stay, then.
 */
static inline bool kpkeys_free_creds(struct cred *cred)
{
	return !kpkeys_creds_enabled() || __kpkeys_free_creds(cred);
}

/**
 * kpkeys_seal_groups - have a list sealed, ahead of kpkeys_sealed_groups()
 * @groups: sorted, and complete
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_seal_groups(struct group_info *groups)
{
	return kpkeys_creds_enabled() ? __kpkeys_seal_groups(groups) : 0;
}

/**
 * kpkeys_sealed_groups - a list as credentials may name it
 * @groups: which; its references stay as they are
 *
 * Return: the sealed copy, or @groups if it cannot be sealed.
 */
static inline struct group_info *kpkeys_sealed_groups(struct group_info *groups)
{
	return kpkeys_creds_enabled() ? __kpkeys_sealed_groups(groups) : groups;
}

/**
 * kpkeys_free_groups - a list that nobody refers to goes
 * @groups: what is to be freed
 *
 * Return: false if it must stay.
 */
static inline bool kpkeys_free_groups(struct group_info *groups)
{
	return !kpkeys_creds_enabled() || __kpkeys_free_groups(groups);
}

/* Without user namespaces there is the first one alone. */
static __always_inline bool kpkeys_knows_user_ns(void)
{
	return IS_ENABLED(CONFIG_USER_NS) && kpkeys_creds_enabled();
}

/**
 * kpkeys_ns_parent - what is above a user namespace
 * @ns: not the first one
 */
#define kpkeys_ns_parent(ns)						\
	(kpkeys_knows_user_ns() ? __kpkeys_ns_parent(ns) : (ns)->parent)

/**
 * kpkeys_ns_owner - who made a user namespace
 * @ns: not the first one
 */
#define kpkeys_ns_owner(ns)						\
	(kpkeys_knows_user_ns() ? __kpkeys_ns_owner(ns) : (ns)->owner)

/**
 * kpkeys_uid_map - which users a user namespace has
 * @ns: which
 */
#define kpkeys_uid_map(ns)						\
	(kpkeys_knows_user_ns() ? __kpkeys_sealed_map(ns, false) : &(ns)->uid_map)

/**
 * kpkeys_gid_map - which groups a user namespace has
 * @ns: which
 */
#define kpkeys_gid_map(ns)						\
	(kpkeys_knows_user_ns() ? __kpkeys_sealed_map(ns, true) : &(ns)->gid_map)

/**
 * kpkeys_seal_map - have a map sealed, ahead of having it in force
 * @ns: whose
 * @map: what is to be in force
 * @gids: for groups, else for users
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_seal_map(const struct user_namespace *ns, const struct uid_gid_map *map,
				  bool gids)
{
	return kpkeys_creds_enabled() ? __kpkeys_seal_map(ns, map, gids) : 0;
}

/**
 * kpkeys_make_user_ns - note who makes a namespace, and above which
 * @ns: memory that ordinary counts say is free
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_make_user_ns(struct user_namespace *ns)
{
	return kpkeys_creds_enabled() ? __kpkeys_make_user_ns(ns) : 0;
}

/**
 * kpkeys_drop_user_ns - a namespace goes
 * @ns: which
 */
static inline void kpkeys_drop_user_ns(const struct user_namespace *ns)
{
	if (kpkeys_creds_enabled())
		__kpkeys_drop_user_ns(ns);
}

#endif /* _LINUX_KPKEYS_CREDS_H */
