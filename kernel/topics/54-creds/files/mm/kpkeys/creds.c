// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credentials: sealed when they are committed, and named by the task's record.
 *
 * Sealed ones are copied from ordinary memory first, and asked about then: what
 * is asked about is what will be in force.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/init.h>
#include <linux/kpkeys_guarded.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "cred_rules.h"
#include "cred_slots.h"
#include "cred_stacks.h"
#include "creds.h"
#include "guarded.h"
#include "internal.h"

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_creds_key);
EXPORT_SYMBOL(kpkeys_creds_key);

static bool wanted __ro_after_init = true;

static int __init cred_setup(char *arg)
{
	if (!arg || kstrtobool(arg, &wanted))
		pr_warn("kpkeys_cred=%s: not on or off; on\n", arg ?: "");
	return 0;
}
early_param("kpkeys_cred", cred_setup);

/* ---- who has no right at all ---- */

static struct cred nobody_counts = {
	.usage		= ATOMIC_INIT(LONG_MAX / 2),
};

/* In force where others are refused. */
struct kpkeys_cred_slot kpkeys_slot_of_nobody __ro_after_init = {
	.cred = {
		.uid		= KUIDT_INIT(DEFAULT_OVERFLOWUID),
		.gid		= KGIDT_INIT(DEFAULT_OVERFLOWGID),
		.suid		= KUIDT_INIT(DEFAULT_OVERFLOWUID),
		.sgid		= KGIDT_INIT(DEFAULT_OVERFLOWGID),
		.euid		= KUIDT_INIT(DEFAULT_OVERFLOWUID),
		.egid		= KGIDT_INIT(DEFAULT_OVERFLOWGID),
		.fsuid		= KUIDT_INIT(DEFAULT_OVERFLOWUID),
		.fsgid		= KGIDT_INIT(DEFAULT_OVERFLOWGID),
		.securebits	= SECUREBITS_DEFAULT,
		.user		= INIT_USER,
		.user_ns	= &init_user_ns,
		.ucounts	= &init_ucounts,
		.group_info	= &kpkeys_no_groups,
		.counts		= &nobody_counts,
	},
};

/*
 * What others see of a task that is refused: who may do something to it is asked by
 * its IDs, which are nobody's, and by what it could do, which is everything.
 */
struct cred kpkeys_untouchable __ro_after_init = {
	.uid		= INVALID_UID,
	.gid		= INVALID_GID,
	.suid		= INVALID_UID,
	.sgid		= INVALID_GID,
	.euid		= INVALID_UID,
	.egid		= INVALID_GID,
	.fsuid		= INVALID_UID,
	.fsgid		= INVALID_GID,
	.securebits	= SECUREBITS_DEFAULT,
	.cap_permitted	= CAP_FULL_SET,
	.user		= INIT_USER,
	.user_ns	= &init_user_ns,
	.ucounts	= &init_ucounts,
	.group_info	= &kpkeys_no_groups,
	.counts		= &nobody_counts,
};

/* ---- what a task has ---- */

static const struct cred *refuse_to_read(const struct task_struct *task,
					 const struct cred *instead, const struct cred *otherwise)
{
	if (kpkeys_refuse_quietly("use as credentials", "another task's", task))
		return instead;
	return otherwise;
}

/*
 * Off its own stack a task has no rights. In an interrupt that is no violation, but
 * that it is one, ordinary memory says. Whom to blame is not known, unless it is
 * said to be this task: its number is forged.
 */
static const struct cred *refuse_to_current(const struct task_struct *task, bool is_elsewhere,
					    const struct cred *otherwise)
{
	if (!is_elsewhere)
		return kpkeys_refuse("use as credentials", "another task's", task, NULL) ?
		       &kpkeys_nobody : otherwise;
	return in_task() ? refuse_to_read(task, &kpkeys_nobody, otherwise) : &kpkeys_nobody;
}

/* Which task is current is read once: another CPU may turn it forth and back. */
static __always_inline const struct task_struct *read_current(void)
{
	const struct task_struct *task = current;

	OPTIMIZER_HIDE_VAR(task);
	return task;
}

/**
 * __kpkeys_current_cred - the current task's subjective credentials
 */
const struct cred *__kpkeys_current_cred(void)
{
	const struct task_struct *task = read_current();
	const struct kpkeys_record *record = kpkeys_record_of(task);
	const struct cred *cred, *real;

	if (likely(kpkeys_read_own(record, &cred, &real)))
		return cred;
	return refuse_to_current(task, record, rcu_dereference_raw(task->cred));
}
EXPORT_SYMBOL(__kpkeys_current_cred);

/**
 * __kpkeys_current_real_cred - the current task's objective credentials
 */
const struct cred *__kpkeys_current_real_cred(void)
{
	const struct task_struct *task = read_current();
	const struct kpkeys_record *record = kpkeys_record_of(task);
	const struct cred *cred, *real;

	if (likely(kpkeys_read_own(record, &cred, &real)))
		return real;
	return refuse_to_current(task, record, rcu_dereference_raw(task->real_cred));
}
EXPORT_SYMBOL(__kpkeys_current_real_cred);

/**
 * __kpkeys_task_cred - a task's subjective credentials
 * @task: which
 */
const struct cred *__kpkeys_task_cred(const struct task_struct *task)
{
	const struct kpkeys_record *record = kpkeys_record_of(task);

	if (unlikely(!record))
		return refuse_to_read(task, &kpkeys_untouchable,
				      rcu_dereference_raw(task->cred));
	return READ_ONCE(record->cred);
}
EXPORT_SYMBOL(__kpkeys_task_cred);

/**
 * __kpkeys_task_real_cred - a task's objective credentials
 * @task: which
 */
const struct cred *__kpkeys_task_real_cred(const struct task_struct *task)
{
	const struct kpkeys_record *record = kpkeys_record_of(task);

	if (unlikely(!record))
		return refuse_to_read(task, &kpkeys_untouchable,
				      rcu_dereference_raw(task->real_cred));
	return READ_ONCE(record->real);
}
EXPORT_SYMBOL(__kpkeys_task_real_cred);

/**
 * kpkeys_look_at_creds - report a task's pointers that were turned
 * @task: whose
 *
 * They decide nothing, but whoever changes them hopes so.
 */
void kpkeys_look_at_creds(const struct task_struct *task)
{
	const struct kpkeys_record *record = kpkeys_record_of(task);

	if (record && (rcu_access_pointer(task->cred) != READ_ONCE(record->cred) ||
		       rcu_access_pointer(task->real_cred) != READ_ONCE(record->real)))
		kpkeys_refuse_quietly("redirection", "pointers to credentials", task);
}

/* ---- what may come in force ---- */

/* In a section. What is asked about is what will be in force. */
static __always_inline int seal_if(bool (*may_have)(const struct cred *old,
						    const struct cred *new),
				   unsigned int nr, const struct cred *old, struct cred *new)
{
	bool is_complete, may;
	const struct cred *sealed = kpkeys_cred_copy(nr, new, &is_complete);

	may = is_complete && may_have(old, sealed);
	if (!may && kpkeys_state.mode != KPKEYS_AUDIT) {
		kpkeys_sealed_release(nr, 0);
		return -EACCES;
	}
	kpkeys_cred_seal(sealed, 2, old);
	return may ? 0 : KPKEYS_GROWN;
}

/* Return: the number alone, or -errno. */
static int report(int nr, const struct cred *new, const char *of)
{
	if (nr == -EPERM)
		kpkeys_refuse_quietly("use as credentials", "another task's", current);
	if (nr == -EACCES || (nr > 0 && nr & KPKEYS_GROWN))
		kpkeys_refuse("growth", of, new, NULL);
	return nr < 0 ? nr : nr & ~KPKEYS_GROWN;
}

/* ---- fork ---- */

/* The first child of all becomes init. */
static __always_inline bool child_runs_programs(void)
{
	if (kpkeys_cred_slots.has_init)
		return __kpkeys_runs_programs();
	kpkeys_cred_slots.has_init = true;
	return true;
}

static __always_inline void fill_record(unsigned int nr, const struct task_struct *task,
					const struct cred *cred, bool runs_programs)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot(nr);

	slot->record.cred = cred;
	slot->record.real = cred;
	slot->record.runs_programs = runs_programs;
	kpkeys_take_stack(nr, READ_ONCE(task->stack));
	/* Who finds it by the task has it gone, maybe. */
	smp_store_release(&slot->owner, kpkeys_owned_by(task));
}

/* A child has its parent's objective ones: others are the parent's for a while only. */
static noinline __flatten int share_creds(unsigned int chunk, const struct task_struct *child)
{
	unsigned int nr;

	guard(irq)();
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(child);
	const struct cred *real __free(kpkeys_held) = __kpkeys_hold_own_real();

	if (!real)
		return -EPERM;
	nr = kpkeys_cred_claim(chunk);
	if (!nr)
		return -EAGAIN;
	kpkeys_cred_use(real, 2);
	fill_record(nr, child, real, child_runs_programs());
	return nr;
}

static noinline __flatten int seal_for_child(unsigned int chunk,
					     const struct task_struct *child, struct cred *new)
{
	unsigned int nr, cred_nr;
	int ret;

	guard(irq)();
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(child);
	kpkeys_reread(new);
	const struct cred *real __free(kpkeys_held) = __kpkeys_hold_own_real();

	if (!real)
		return -EPERM;
	cred_nr = kpkeys_cred_claim(chunk);
	if (!cred_nr)
		return -EAGAIN;
	ret = seal_if(kpkeys_may_fork, cred_nr, real, new);
	if (ret < 0)
		return ret;
	/* Nothing of the first one is kept for it. */
	OPTIMIZER_HIDE_VAR(chunk);
	nr = kpkeys_cred_claim(chunk);
	if (!nr) {
		/* Somebody may have counted himself. */
		kpkeys_cred_use(&kpkeys_cred_slot(cred_nr)->cred, -2);
		kpkeys_sealed_free(cred_nr);
		return -EAGAIN;
	}
	fill_record(nr, child, &kpkeys_cred_slot(cred_nr)->cred, child_runs_programs());
	return nr | ret;
}

static int fork_somewhere(struct task_struct *child, struct cred *new)
{
	int nr, chunk;

	do {
		chunk = kpkeys_find_cred_room(new ? 2 : 1);
		if (chunk < 0)
			return -ENOMEM;
		nr = new ? seal_for_child(chunk, child, new) : share_creds(chunk, child);
	} while (nr == -EAGAIN);
	return nr;
}

/**
 * __kpkeys_fork_creds - give a child a record
 * @child: not seen by anybody yet
 * @new: what was prepared for it, or NULL for what its parent has
 *
 * Return: 0 or -errno.
 */
int __kpkeys_fork_creds(struct task_struct *child, struct cred *new)
{
	int nr;

	kpkeys_look_at_creds(current);
	nr = report(fork_somewhere(child, new), new, "credentials of a child");
	if (nr < 0)
		return nr;
	child->cred_slot = nr;
	rcu_assign_pointer(child->real_cred, __kpkeys_task_real_cred(child));
	rcu_assign_pointer(child->cred, __kpkeys_task_cred(child));
	if (new)
		new->slot = rcu_access_pointer(child->cred)->slot;
	return 0;
}

/* ---- commit ---- */

/* Unless another CPU has the task go on with others meanwhile. */
static __always_inline bool put_in_force(const struct cred *real, const struct cred *sealed,
					 bool is_exec)
{
	guard(kpkeys_irq)();
	struct kpkeys_record *record __free(kpkeys_record) = kpkeys_take_own_record();

	if (!record || record->real != real || record->nr_below)
		return false;
	/* Others read what is behind it. */
	smp_store_release(&record->real, sealed);
	WRITE_ONCE(record->cred, sealed);
	if (is_exec)
		record->runs_programs = true;
	kpkeys_cred_use(real, -2);
	kpkeys_note_on_cpu(record);
	return true;
}

static __always_inline int commit(unsigned int chunk, struct cred *new,
				  bool (*may_have)(const struct cred *old,
						   const struct cred *new))
{
	const struct cred *real __free(kpkeys_held) = kpkeys_hold_own_real();
	unsigned int nr;
	int ret;

	if (!real)
		return -EPERM;
	nr = kpkeys_cred_claim(chunk);
	if (!nr)
		return -EAGAIN;
	ret = seal_if(may_have, nr, real, new);
	if (ret < 0 || put_in_force(real, &kpkeys_cred_slot(nr)->cred,
				    may_have == kpkeys_may_exec))
		return ret < 0 ? ret : nr | ret;
	/* Somebody may have counted himself. */
	scoped_guard(kpkeys_irq) {
		kpkeys_cred_use(&kpkeys_cred_slot(nr)->cred, -2);
		kpkeys_sealed_free(nr);
	}
	return -EPERM;
}

static noinline __flatten int seal_commit(unsigned int chunk, struct cred *new)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(new);
	return commit(chunk, new, kpkeys_may_commit);
}

static noinline __flatten int seal_exec(unsigned int chunk, struct cred *new)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(new);
	return commit(chunk, new, kpkeys_may_exec);
}

static noinline __flatten int seal_nsset(unsigned int chunk, struct cred *new)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(new);
	return commit(chunk, new, kpkeys_may_enter);
}

/* Who waits for room has on his stack what he goes on with: not by which rule. */
static __always_inline int commit_somewhere(struct cred *new,
					    int (*seal)(unsigned int chunk, struct cred *new))
{
	int nr, chunk;

	do {
		chunk = kpkeys_find_cred_room(1);
		if (chunk < 0)
			return -ENOMEM;
		nr = seal(chunk, new);
	} while (nr == -EAGAIN);
	return nr;
}

static __always_inline int commit_by(int (*seal)(unsigned int chunk, struct cred *new),
				     struct cred *new)
{
	int nr;

	kpkeys_look_at_creds(current);
	nr = report(commit_somewhere(new, seal), new, "credentials that are committed");
	if (nr < 0) {
		/* It would go on with what it was to give up. */
		force_sig(SIGKILL);
		return nr;
	}
	new->slot = nr;
	rcu_assign_pointer(current->real_cred, __kpkeys_current_real_cred());
	rcu_assign_pointer(current->cred, __kpkeys_current_cred());
	return 0;
}

/**
 * __kpkeys_commit_creds - seal what a task asks for, and put it in force
 * @new: what was prepared
 *
 * Return: 0, or -errno: what was in force is, and who asked for others is killed.
 */
int __kpkeys_commit_creds(struct cred *new)
{
	return commit_by(seal_commit, new);
}

/**
 * __kpkeys_commit_exec_creds - the same for a program, whose file may grant more
 * @new: what was prepared
 *
 * Return: 0 or -errno.
 */
int __kpkeys_commit_exec_creds(struct cred *new)
{
	return commit_by(seal_exec, new);
}

/**
 * __kpkeys_commit_nsset_creds - the same for a user namespace that there is
 * @new: what was prepared
 *
 * Return: 0 or -errno.
 */
int __kpkeys_commit_nsset_creds(struct cred *new)
{
	return commit_by(seal_nsset, new);
}

/* ---- the start ---- */

static void __init key_static(void *addr, size_t size)
{
	kpkeys_key_static(lm_alias(addr), size, KPKEYS_PKEY_STATE, &kpkeys_state.state_pages);
}

/**
 * kpkeys_key_creds - key what says where slots and lists are
 */
void __init kpkeys_key_creds(void)
{
	if (!wanted || !kpkeys_guarded_enabled())
		return;
	key_static(&kpkeys_cred_slots, sizeof(kpkeys_cred_slots));
	key_static(&kpkeys_cred_lists, sizeof(kpkeys_cred_lists));
}

/* Of the first task, from which all others have theirs. */
static noinline __flatten int __init first_record(unsigned int chunk, struct cred *prepared)
{
	const struct cred *first;
	unsigned int nr, cred;
	bool is_complete;

	guard(irqsave)();
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	kpkeys_reread(prepared);
	nr = kpkeys_cred_claim(chunk);
	cred = kpkeys_cred_claim(chunk);
	if (!nr || !cred)
		return -ENOMEM;
	first = kpkeys_cred_copy(cred, prepared, &is_complete);
	if (!is_complete)
		return -EINVAL;
	kpkeys_cred_seal(first, 2, &kpkeys_nobody);
	fill_record(nr, &init_task, first, false);
	kpkeys_note_on_cpu(&kpkeys_cred_slot(nr)->record);
	return nr;
}

/**
 * kpkeys_creds_init - seal the credentials of the first task
 *
 * When LSMs have given it theirs, and there is no other one.
 */
void __init kpkeys_creds_init(void)
{
	struct cred *first = (struct cred *)rcu_access_pointer(init_task.real_cred);
	int nr, chunk;

	if (!wanted || !kpkeys_guarded_enabled())
		return;
	first->group_info = __kpkeys_sealed_groups(first->group_info);
	chunk = kpkeys_find_cred_room(2);
	nr = chunk < 0 ? chunk : first_record(chunk, first);
	if (nr < 0)
		panic("kpkeys: no memory for credentials; kpkeys_cred=off starts without");
#ifdef CONFIG_SECURITY
	kpkeys_nobody.security = first->security;
	kpkeys_untouchable.security = first->security;
#endif
	first->slot = kpkeys_cred_slot(nr)->record.real->slot;
	init_task.cred_slot = nr;
	static_branch_enable(&kpkeys_creds_key);
	rcu_assign_pointer(init_task.real_cred, __kpkeys_task_real_cred(&init_task));
	rcu_assign_pointer(init_task.cred, __kpkeys_task_cred(&init_task));
	pr_info("credentials are sealed\n");
}
