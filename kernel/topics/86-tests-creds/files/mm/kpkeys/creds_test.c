// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: sealed credentials, the records of tasks, and what may become of them. */
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/kpkeys_guarded.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/kthread.h>
#include <linux/uaccess.h>

#include "check.h"
#include "cred_slots.h"
#include "creds.h"
#include "creds_test.h"
#include "kpkeys_test_programs.h"

#define OTHER	1001

static int store_to(const void *addr)
{
	unsigned long value = 0;

	return copy_to_kernel_nofault((void *)addr, &value, sizeof(value));
}

static bool is_uid(unsigned int id)
{
	return uid_eq(current_uid(), KUIDT_INIT(id));
}

static void test_nobody_stores_to_credentials(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kpkeys_is_sealed(current_cred()));
	KUNIT_EXPECT_EQ(test, store_to(&current_cred()->uid), -EFAULT);
	KUNIT_EXPECT_EQ(test, store_to(&current_cred()->cap_effective), -EFAULT);
	KUNIT_EXPECT_EQ(test, store_to(kpkeys_record_of(current)), -EFAULT);
	KUNIT_EXPECT_EQ(test, store_to(&kpkeys_cred_slots), -EFAULT);
}

static void test_other_levels_deny_stores(struct kunit *test)
{
	int by_tables, by_secrets;

	KPKEYS_TEST_REQUIRES(test, arch_kpkeys_has_keys());
	scoped_guard(kpkeys_hardened_pgtables)
		by_tables = store_to(&current_cred()->uid);
	scoped_guard(kpkeys_secret)
		by_secrets = store_to(&current_cred()->uid);
	KUNIT_EXPECT_EQ(test, by_tables, -EFAULT);
	KUNIT_EXPECT_EQ(test, by_secrets, -EFAULT);
}

/* Two words of ordinary memory. */
static void test_pointers_decide_nothing(struct kunit *test)
{
	const struct cred *subjective = rcu_access_pointer(current->cred);
	const struct cred *objective = rcu_access_pointer(current->real_cred);
	const struct cred *seen, *seen_real;

	rcu_assign_pointer(current->cred, &kpkeys_nobody);
	rcu_assign_pointer(current->real_cred, &kpkeys_nobody);
	seen = current_cred();
	rcu_read_lock();
	seen_real = __task_cred(current);
	rcu_read_unlock();
	rcu_assign_pointer(current->cred, subjective);
	rcu_assign_pointer(current->real_cred, objective);
	KUNIT_EXPECT_PTR_EQ(test, seen, subjective);
	KUNIT_EXPECT_PTR_EQ(test, seen_real, objective);
	kpkeys_test_expect_clean(test);
}

static void test_turned_pointers_are_reported(struct kunit *test)
{
	const struct cred *objective = rcu_access_pointer(current->real_cred);
	unsigned long before = kpkeys_test_violations();
	const struct cred *old;

	rcu_assign_pointer(current->real_cred, &kpkeys_nobody);
	old = kpkeys_test_override(current_cred());
	rcu_assign_pointer(current->real_cred, objective);
	kpkeys_test_revert(old);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

/* Its own number is another task's, sealed credentials', free, or no slot's at all. */
static void test_records_know_their_task(struct kunit *test)
{
	unsigned int own = current->cred_slot, i;
	const unsigned int forged[] = {
		init_task.cred_slot, current_cred()->slot, KPKEYS_CRED_SLOTS - 1, 0, ~0U,
	};
	const struct cred *seen;

	for (i = 0; i < ARRAY_SIZE(forged); i++) {
		/* Or the CPU would note that a task without a record runs. */
		scoped_guard(preempt) {
			current->cred_slot = forged[i];
			seen = current_cred();
			current->cred_slot = own;
		}
		KUNIT_EXPECT_PTR_EQ_MSG(test, seen, &kpkeys_nobody, "%u", forged[i]);
	}
	KUNIT_EXPECT_TRUE(test, is_uid(0));
}

/* What a store to the place where the CPU has its task does. */
static void turn_current(struct task_struct *task)
{
#ifdef CONFIG_X86
	raw_cpu_write(kpkeys_test_current_task, task);
#else
	write_sysreg(task, sp_el0);
#endif
	barrier();
}

/* Whoever is said to be current has another stack. */
static void test_current_is_on_its_stack(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	struct task_struct *own = current, *idle;
	const struct cred *seen, *real;

	/* Or it would be read again, when it is another one. */
	OPTIMIZER_HIDE_VAR(own);
	scoped_guard(irqsave) {
		/* Of this CPU: arm64 reads its number from the task, and interrupts that one. */
		idle = idle_task(smp_processor_id());
		turn_current(idle);
		seen = __kpkeys_current_cred();
		real = __kpkeys_current_real_cred();
		turn_current(own);
	}
	KUNIT_EXPECT_PTR_EQ(test, seen, &kpkeys_nobody);
	KUNIT_EXPECT_PTR_EQ(test, real, &kpkeys_nobody);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 2);
}

static void make_user(struct cred *cred)
{
	cred->uid = KUIDT_INIT(USER);
	cred->euid = KUIDT_INIT(USER);
	cred->suid = KUIDT_INIT(USER);
	cred->fsuid = KUIDT_INIT(USER);
	cred->cap_permitted = CAP_EMPTY_SET;
	cred->cap_effective = CAP_EMPTY_SET;
}

struct cred *kpkeys_test_user(struct kunit *test)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	make_user(cred);
	return cred;
}

struct job {
	void (*run)(void *data);
	void *data;
	struct completion done;
};

static int run_job(void *data)
{
	struct job *job = data;

	job->run(job->data);
	complete(&job->done);
	return 0;
}

void kpkeys_test_in_task(struct kunit *test, void (*run)(void *data), void *data)
{
	struct job job = { .run = run, .data = data };
	struct task_struct *task;

	init_completion(&job.done);
	task = kthread_run(run_job, &job, "kpkeys-test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&job.done);
}

#ifdef CONFIG_X86_64
static void note_on_cpu(unsigned long rights, unsigned long real_rights)
{
	guard(kpkeys_guarded)();
	raw_cpu_write(kpkeys_cpu.rights, rights);
	raw_cpu_write(kpkeys_cpu.real_rights, real_rights);
}

/* What the task is refused while other rights are noted, and its own are again. */
static bool is_nobody_with(unsigned long rights, unsigned long real_rights)
{
	unsigned long own, own_real;
	bool is_nobody;

	guard(irqsave)();
	own = raw_cpu_read(kpkeys_cpu.rights);
	own_real = raw_cpu_read(kpkeys_cpu.real_rights);
	note_on_cpu(rights, real_rights);
	is_nobody = __kpkeys_current_cred() == &kpkeys_nobody &&
		    __kpkeys_current_real_cred() == &kpkeys_nobody;
	note_on_cpu(own, own_real);
	return is_nobody;
}

/* As if another task ran, on the stack of the one that is said to be current. */
static void test_current_is_what_runs(struct kunit *test)
{
	const struct kpkeys_record *own = kpkeys_record_of(current);
	unsigned long rights = kpkeys_rights_of(own->cred);

	KUNIT_EXPECT_TRUE(test, kpkeys_is_of_cpu(own));
	KUNIT_EXPECT_TRUE(test, is_nobody_with(rights + 1, rights));
	KUNIT_EXPECT_TRUE(test, is_nobody_with(rights, rights + 1));
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), own->cred);
}

/* The other one has an override, or begins or ends one; who runs has the same rights twice. */
static void test_overridden_is_what_runs(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test);
	const struct cred *old = kpkeys_test_override(user);
	const struct kpkeys_record *own = kpkeys_record_of(current);
	const struct kpkeys_record between = {
		.cred = own->cred, .real = own->real, .stack = own->stack,
	};
	unsigned long rights = kpkeys_rights_of(own->cred);
	bool is_of_cpu = kpkeys_is_of_cpu(own), is_nobody, is_plain;

	is_nobody = is_nobody_with(rights, rights);
	scoped_guard(irqsave) {
		note_on_cpu(rights, rights);
		is_plain = kpkeys_is_of_cpu(&between) || kpkeys_own_real(&between);
		note_on_cpu(rights, kpkeys_rights_of(own->real));
	}
	kpkeys_test_revert(old);
	put_cred(user);
	KUNIT_EXPECT_TRUE(test, is_of_cpu);
	KUNIT_EXPECT_TRUE(test, is_nobody);
	KUNIT_EXPECT_FALSE(test, is_plain);
}

/* A task that comes back on another one's stack has no rights. */
static void test_switch_asks_whose_stack_it_is(struct kunit *test)
{
	unsigned long by_other, by_idle, by_own;

	scoped_guard(irqsave) {
		__kpkeys_task_runs(&init_task);
		by_other = raw_cpu_read(kpkeys_cpu.rights);
		__kpkeys_task_runs(current);
		__kpkeys_task_runs(idle_task(smp_processor_id()));
		by_idle = raw_cpu_read(kpkeys_cpu.rights);
		__kpkeys_task_runs(current);
		by_own = raw_cpu_read(kpkeys_cpu.rights);
	}
	KUNIT_EXPECT_EQ(test, by_other, 0);
	KUNIT_EXPECT_EQ(test, by_idle, 0);
	KUNIT_EXPECT_EQ(test, by_own, kpkeys_rights_of(current_cred()));
}

/* Of each task that runs, after each switch. */
static void look_where_it_runs(void *data)
{
	bool *noted = data;
	struct cred *user = prepare_creds();

	*noted = kpkeys_is_of_cpu(kpkeys_record_of(current));
	make_user(user);
	commit_creds(user);
	*noted &= kpkeys_is_of_cpu(kpkeys_record_of(current));
	schedule_timeout_uninterruptible(2);
	*noted &= kpkeys_is_of_cpu(kpkeys_record_of(current)) && is_uid(USER);
}

/* Or each switch between processes of one user would write. */
static void test_rights_are_numbered(struct kunit *test)
{
	unsigned long rights = kpkeys_rights_of(current_cred()), user_rights;
	struct cred *same = prepare_creds(), *user = kpkeys_test_user(test);
	const struct cred *old;

	KUNIT_ASSERT_NOT_NULL(test, same);
	old = kpkeys_test_override(same);
	KUNIT_EXPECT_EQ(test, kpkeys_rights_of(current_cred()), rights);
	kpkeys_test_revert(old);
	old = kpkeys_test_override(user);
	user_rights = kpkeys_rights_of(current_cred());
	kpkeys_test_revert(old);
	KUNIT_EXPECT_NE(test, user_rights, rights);
	KUNIT_EXPECT_NE(test, user_rights, 0);
	put_cred(same);
	put_cred(user);
}

static void test_switch_notes_rights(struct kunit *test)
{
	bool noted = false;

	kpkeys_test_in_task(test, look_where_it_runs, &noted);
	KUNIT_EXPECT_TRUE(test, noted);
	KUNIT_EXPECT_TRUE(test, kpkeys_is_of_cpu(kpkeys_record_of(current)));
	kpkeys_test_expect_clean(test);
}
#endif

static void test_override_is_sealed(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test);
	const struct cred *old = kpkeys_test_override(user);

	KUNIT_EXPECT_TRUE(test, is_uid(USER));
	KUNIT_EXPECT_TRUE(test, kpkeys_is_sealed(current_cred()));
	KUNIT_EXPECT_TRUE(test, creds_same(current_cred(), user));
	KUNIT_EXPECT_FALSE(test, creds_same(current_cred(), old));
	user->uid = GLOBAL_ROOT_UID;
	KUNIT_EXPECT_TRUE(test, is_uid(USER));
	/* Again: what was sealed is not looked at. */
	put_cred(kpkeys_test_override(user));
	KUNIT_EXPECT_TRUE(test, is_uid(USER));
	kpkeys_test_revert(old);
	put_cred(user);
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), current_real_cred());
	kpkeys_test_expect_clean(test);
}

static void test_overrides_nest(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test), *other = kpkeys_test_user(test);
	const struct cred *first, *second;

	other->uid = KUIDT_INIT(OTHER);
	first = kpkeys_test_override(user);
	second = kpkeys_test_override(other);
	KUNIT_EXPECT_TRUE(test, is_uid(OTHER));
	kpkeys_test_revert(second);
	KUNIT_EXPECT_TRUE(test, is_uid(USER));
	/* As overlayfs does: two overrides, and one way back. */
	put_cred(kpkeys_test_override(other));
	kpkeys_test_revert(first);
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), first);
	put_cred(user);
	put_cred(other);
	kpkeys_test_expect_clean(test);
}

/* What a stack says may be anything. */
static void test_only_what_was_in_force_comes_back(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test), *forged = prepare_creds();
	const struct cred *old = kpkeys_test_override(user);

	KUNIT_ASSERT_NOT_NULL(test, forged);
	kpkeys_test_revert(forged);
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), old);
	put_cred(user);
	put_cred(forged);
}

static void test_depth_is_bounded(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test);
	const struct cred *old = current_cred();
	unsigned int i;

	for (i = 0; i < KPKEYS_CRED_DEPTH; i++)
		kpkeys_test_override(user);
	KUNIT_EXPECT_EQ(test, kpkeys_record_of(current)->nr_below, KPKEYS_CRED_DEPTH);
	kpkeys_test_revert(old);
	for (i = 1; i < KPKEYS_CRED_DEPTH; i++)
		put_cred(user);
	put_cred(user);
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), old);
	kpkeys_test_expect_clean(test);
}

/* A count of users is ordinary memory. */
static void test_counts_free_nothing_in_force(struct kunit *test)
{
	const struct cred *cred = current_real_cred();
	unsigned long before = kpkeys_test_violations();
	long users = atomic_long_read(&cred_counts(cred)->usage);

	KUNIT_EXPECT_FALSE(test, kpkeys_free_creds(cred_counts(cred)));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&cred_counts(cred)->usage), users);
	KUNIT_EXPECT_TRUE(test, kpkeys_is_sealed(cred));
	KUNIT_EXPECT_PTR_EQ(test, current_real_cred(), cred);
}

/* A few wait on each CPU for the next task that goes. */
static void test_slots_come_back(struct kunit *test)
{
	const struct cred *old, *sealed;
	unsigned int nr[24], i, free = 0;
	struct cred *user;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		user = kpkeys_test_user(test);
		old = kpkeys_test_override(user);
		sealed = current_cred();
		nr[i] = sealed->slot;
		kpkeys_test_revert(old);
		KUNIT_EXPECT_TRUE(test, kpkeys_is_sealed(sealed));
		put_cred(user);
		rcu_barrier();
	}
	for (i = 0; i < ARRAY_SIZE(nr); i++)
		free += !kpkeys_cred_slot_at(nr[i])->owner;
	KUNIT_EXPECT_GE(test, free, 1);
	kpkeys_test_expect_clean(test);
}

struct grower {
	bool dropped, grown;
};

/* A task that gives its rights up, and would have them back. */
static void grow(void *data)
{
	struct grower *grower = data;
	struct cred *new = prepare_creds();

	make_user(new);
	commit_creds(new);
	grower->dropped = is_uid(USER);
	new = prepare_creds();
	new->uid = GLOBAL_ROOT_UID;
	new->cap_effective = CAP_FULL_SET;
	commit_creds(new);
	grower->grown = !is_uid(USER) || capable(CAP_SYS_ADMIN);
}

static void test_committed_credentials_do_not_grow(struct kunit *test)
{
	struct grower grower = { };

	kpkeys_test_in_task(test, grow, &grower);
	KUNIT_EXPECT_TRUE(test, grower.dropped);
	KUNIT_EXPECT_FALSE(test, grower.grown);
}

static void test_checker_sees_bare_slots(struct kunit *test)
{
	struct kpkeys_check *check = kpkeys_test_check_bare(test, kpkeys_creds_page(0),
							    KPKEYS_PKEY_GUARDED);

	KUNIT_EXPECT_GE(test, check->guarded_unkeyed, 1);
	kpkeys_test_expect_clean(test);
}

int kpkeys_test_creds_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_test_run_programs(true));
	return kpkeys_test_init(test);
}

static struct kunit_case creds_cases[] = {
	KUNIT_CASE(test_nobody_stores_to_credentials),
	KUNIT_CASE(test_other_levels_deny_stores),
	KUNIT_CASE(test_pointers_decide_nothing),
	KUNIT_CASE(test_turned_pointers_are_reported),
	KUNIT_CASE(test_records_know_their_task),
	KUNIT_CASE(test_current_is_on_its_stack),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_current_is_what_runs),
	KUNIT_CASE(test_overridden_is_what_runs),
	KUNIT_CASE(test_switch_asks_whose_stack_it_is),
	KUNIT_CASE(test_switch_notes_rights),
	KUNIT_CASE(test_rights_are_numbered),
#endif
	KUNIT_CASE(test_override_is_sealed),
	KUNIT_CASE(test_overrides_nest),
	KUNIT_CASE(test_only_what_was_in_force_comes_back),
	KUNIT_CASE(test_depth_is_bounded),
	KUNIT_CASE(test_counts_free_nothing_in_force),
	KUNIT_CASE(test_slots_come_back),
	KUNIT_CASE(test_committed_credentials_do_not_grow),
	KUNIT_CASE(test_checker_sees_bare_slots),
	{}
};

static struct kunit_suite creds_suite = {
	.name = "kpkeys-creds",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = creds_cases,
};

kunit_test_suite(creds_suite);
