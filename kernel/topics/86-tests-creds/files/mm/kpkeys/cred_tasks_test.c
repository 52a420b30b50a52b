// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: records of tasks, whose stacks they know, and what they are without. */
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/kpkeys_guarded.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/kthread.h>
#include <linux/sysctl.h>

#include "cred_slots.h"
#include "cred_stacks.h"
#include "creds.h"
#include "creds_test.h"
#include "internal.h"

#define NR_FAKES	3

static int setting __kpkeys_guarded;

static const struct ctl_table setting_table = {
	.procname	= "setting",
	.data		= &setting,
	.maxlen		= sizeof(setting),
	.mode		= 0644,
	.proc_handler	= proc_dointvec,
};

static int write_setting(void)
{
	char buffer[] = "2\n";
	size_t len = sizeof(buffer) - 1;
	loff_t pos = 0;

	return kpkeys_guarded_sysctl(&setting_table, buffer, &len, &pos);
}

/* ---- overrides that do not end ---- */

static void go_to_user_space(void)
{
	guard(irqsave)();
	kpkeys_exit_to_user(false);
}

/* The task may have slept since, or be said to be another one. */
static void test_overrides_end_before_user_space(struct kunit *test)
{
	const struct cred *own = current_cred();
	unsigned int slot = current->cred_slot, i;
	unsigned long before;
	struct cred *user;

	for (i = 0; i < 3; i++) {
		user = kpkeys_test_user(test);
		before = kpkeys_test_violations();
		kpkeys_test_override(user);
		if (i == 1)
			msleep(20);
		scoped_guard(preempt) {
			if (i == 2)
				current->cred_slot = init_task.cred_slot;
			go_to_user_space();
			current->cred_slot = slot;
		}
		rcu_assign_pointer(current->cred, own);
		KUNIT_EXPECT_PTR_EQ_MSG(test, current_cred(), own, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_record_of(current)->nr_below, 0, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, kpkeys_test_violations(), before + 1, "%u", i);
		put_cred(user);
		put_cred(user);
	}
}

static void test_overrides_that_end_are_no_matter(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();
	struct cred *user = kpkeys_test_user(test);
	const struct cred *old = kpkeys_test_override(user);

	msleep(20);
	kpkeys_test_revert(old);
	go_to_user_space();
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
	put_cred(user);
}

struct borrower {
	struct cred *user;
	bool root, wrote;
};

/* A user that is root for a while: whose credentials those are, its caller has said. */
static void borrow(void *data)
{
	struct borrower *borrower = data;
	const struct cred *root = get_task_cred(&init_task), *old;

	commit_creds(borrower->user);
	old = kpkeys_test_override(root);
	borrower->root = uid_eq(current_euid(), GLOBAL_ROOT_UID) && capable(CAP_SYS_ADMIN);
	borrower->wrote = !write_setting();
	kpkeys_test_revert(old);
	put_cred(root);
}

static void test_root_for_a_while_writes_no_setting(struct kunit *test)
{
	struct borrower borrower = { .user = kpkeys_test_user(test) };

	kpkeys_test_in_task(test, borrow, &borrower);
	KUNIT_EXPECT_TRUE(test, borrower.root);
	KUNIT_EXPECT_FALSE(test, borrower.wrote);
	KUNIT_EXPECT_EQ(test, write_setting(), 0);
	KUNIT_EXPECT_EQ(test, setting, 2);
}

/* ---- stacks ---- */

static struct task_struct *fake_task(struct kunit *test, void *stack)
{
	struct task_struct *task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, task);
	task->stack = stack;
	KUNIT_ASSERT_EQ(test, __kpkeys_fork_creds(task, NULL), 0);
	get_cred_many(rcu_access_pointer(task->cred), 2);
	return task;
}

static void drop_fake(struct task_struct *task)
{
	const struct cred *cred = rcu_access_pointer(task->cred);

	__kpkeys_exit_creds(task);
	put_cred_many(cred, 2);
}

static const void *stack_of(const struct task_struct *task)
{
	return kpkeys_record_of(task)->stack;
}

/* As after a task has died, and its stack serves the next one. */
static void test_stack_is_of_who_got_it_last(struct kunit *test)
{
	void *stack = (void *)(KPKEYS_STACK_BITS * THREAD_SIZE);
	struct task_struct *dead = fake_task(test, stack), *next;

	KUNIT_EXPECT_PTR_EQ(test, stack_of(dead), stack);
	next = fake_task(test, stack);
	KUNIT_EXPECT_NULL(test, stack_of(dead));
	KUNIT_EXPECT_PTR_EQ(test, stack_of(next), stack);
	drop_fake(dead);
	KUNIT_EXPECT_PTR_EQ(test, stack_of(next), stack);
	drop_fake(next);
	kpkeys_test_expect_clean(test);
}

static bool is_in_chain(void *stack)
{
	atomic_t *chain = kpkeys_stack_chain(stack);

	return kpkeys_find_stack(atomic_read(chain), stack);
}

/* One goes from the middle, the end and the beginning of a chain. */
static void test_chains_stay_whole(struct kunit *test)
{
	struct task_struct *task[NR_FAKES];
	void *stack[NR_FAKES];
	unsigned int goes, i;
	unsigned long at = 0;

	for (i = 0; i < NR_FAKES; i++) {
		do {
			at += THREAD_SIZE;
			stack[i] = (void *)at;
		} while (kpkeys_stack_chain(stack[i]) != kpkeys_stack_chain(stack[0]));
	}
	for (goes = 0; goes < NR_FAKES; goes++) {
		for (i = 0; i < NR_FAKES; i++)
			task[i] = fake_task(test, stack[i]);
		drop_fake(task[goes]);
		for (i = 0; i < NR_FAKES; i++)
			KUNIT_EXPECT_EQ_MSG(test, is_in_chain(stack[i]), i != goes,
					    "%u after %u", i, goes);
		for (i = 0; i < NR_FAKES; i++)
			if (i != goes)
				drop_fake(task[i]);
		KUNIT_EXPECT_FALSE(test, is_in_chain(stack[0]));
	}
}

/* ---- tasks without a record ---- */

/* Others may do nothing to it, and it may do nothing itself. */
static void test_refused_task_is_out_of_reach(struct kunit *test)
{
	struct task_struct *task = fake_task(test, (void *)THREAD_SIZE);
	unsigned int slot = task->cred_slot;
	const struct cred *seen, *old;

	task->cred_slot = 0;
	rcu_read_lock();
	seen = __task_cred(task);
	rcu_read_unlock();
	task->cred_slot = slot;
	KUNIT_EXPECT_FALSE(test, uid_valid(seen->uid) || uid_valid(seen->euid) ||
				 uid_valid(seen->suid) || gid_valid(seen->gid));
	KUNIT_EXPECT_TRUE(test, cap_issubset(CAP_FULL_SET, seen->cap_permitted));
	KUNIT_EXPECT_TRUE(test, cap_isclear(seen->cap_effective));
	old = kpkeys_test_override(seen);
	KUNIT_EXPECT_PTR_EQ(test, current_cred(), &kpkeys_nobody);
	kpkeys_test_revert(old);
	drop_fake(task);
}

/* ---- what is put aside, and nobody refers to ---- */

static bool is_sealed_at(unsigned int nr, const struct cred *prepared)
{
	rcu_barrier();
	kpkeys_free_waiting_creds();
	return READ_ONCE(kpkeys_cred_slot(nr)->owner) == kpkeys_made_of(prepared);
}

struct service {
	struct cred *user, *other;
	unsigned int slot;
};

/* As nfsd does: it acts for one client, then with more rights, and forgets the former. */
static void serve(void *data)
{
	struct service *service = data;

	put_cred(kpkeys_test_override(service->user));
	service->slot = service->user->slot;
	put_cred(service->user);
	put_cred(kpkeys_test_override(service->other));
	put_cred(service->other);
	rcu_barrier();
}

static struct service make_service(struct kunit *test)
{
	return (struct service) {
		.user = kpkeys_test_user(test), .other = kpkeys_test_user(test),
	};
}

static void expect_freed(struct kunit *test, const struct service *service)
{
	KUNIT_EXPECT_FALSE(test, is_sealed_at(service->slot, service->user));
	KUNIT_EXPECT_EQ(test, atomic_read(&kpkeys_nr_owed), 0);
}

static void test_put_aside_is_freed_by_who_reverts(struct kunit *test)
{
	struct service service = make_service(test);
	unsigned long before = kpkeys_test_violations();

	serve(&service);
	KUNIT_EXPECT_TRUE(test, is_sealed_at(service.slot, service.user));
	KUNIT_EXPECT_EQ(test, atomic_read(&kpkeys_nr_owed), 1);
	kpkeys_test_revert(get_cred(current_real_cred()));
	expect_freed(test, &service);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
}

static void test_put_aside_is_freed_by_who_ends(struct kunit *test)
{
	struct service service = make_service(test);
	unsigned int i;

	kpkeys_test_in_task(test, serve, &service);
	for (i = 0; i < 100 && is_sealed_at(service.slot, service.user); i++)
		msleep(20);
	expect_freed(test, &service);
}

static void test_put_aside_is_freed_on_the_way_to_user_space(struct kunit *test)
{
	struct service service = make_service(test);
	unsigned long before = kpkeys_test_violations();

	serve(&service);
	go_to_user_space();
	rcu_assign_pointer(current->cred, get_cred(current_real_cred()));
	put_cred(service.other);
	expect_freed(test, &service);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 1);
}

static void count(unsigned int nr, long users)
{
	guard(kpkeys_guarded)();
	atomic_long_add(users, &kpkeys_cred_slot(nr)->users);
}

/* As somebody does who took it for sealed credentials, and is about to find that it is not. */
static void test_who_counts_himself_is_counted(struct kunit *test)
{
	struct task_struct *task = fake_task(test, (void *)THREAD_SIZE);
	unsigned int nr = task->cred_slot;

	count(nr, 1);
	drop_fake(task);
	count(nr, -1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kpkeys_cred_slot(nr)->users), 0);
}

/* ---- a task that two CPUs run ---- */

struct rival {
	struct kpkeys_cred_slot *slot;
	const struct task_struct *task;
	bool has, gave;
	struct completion done;
};

static noinline __flatten void take(struct rival *rival)
{
	guard(kpkeys_guarded)();
	rival->has = kpkeys_take_record(rival->slot, kpkeys_owned_by(rival->task));
}

static noinline __flatten void give(struct rival *rival)
{
	guard(kpkeys_guarded)();
	kpkeys_give_record(&rival->slot->record);
}

/* What a CPU does that has the task go on as well. */
static int have_record(void *data)
{
	struct rival *rival = data;

	scoped_guard(irqsave) {
		take(rival);
		mdelay(20);
		WRITE_ONCE(rival->gave, true);
		give(rival);
	}
	complete(&rival->done);
	return 0;
}

static void start_rival(struct kunit *test, struct rival *rival)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	struct task_struct *task = kthread_run_on_cpu(have_record, rival, cpu, "kpkeys-rival/%u");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* Its CPU has interrupts off, and so is not this one. */
	while (!READ_ONCE(rival->has))
		cpu_relax();
}

static void expect_wait(struct kunit *test, const char *what, const struct task_struct *task,
			void (*change)(void *data), void *data)
{
	struct rival rival = { .slot = kpkeys_cred_slot(task->cred_slot), .task = task };

	init_completion(&rival.done);
	migrate_disable();
	start_rival(test, &rival);
	change(data);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(rival.gave), "%s", what);
	migrate_enable();
	wait_for_completion(&rival.done);
}

static void change_to(void *user)
{
	kpkeys_test_override(user);
}

static void change_back(void *own)
{
	kpkeys_test_revert(own);
}

static void change_by_end(void *own)
{
	go_to_user_space();
	rcu_assign_pointer(current->cred, own);
}

static void change_for_good(void *prepared)
{
	commit_creds(prepared);
}

static void change_by_exit(void *task)
{
	drop_fake(task);
}

static void fork_fake(void *test)
{
	drop_fake(fake_task(test, (void *)THREAD_SIZE));
}

/* The same task, by another number in the same memory. */
static void take_by_other_name(void *task)
{
	struct rival rival = { .slot = kpkeys_cred_slot(current->cred_slot), .task = task };

	guard(irqsave)();
	take(&rival);
	if (rival.has)
		give(&rival);
}

static void write_it(void *data)
{
	write_setting();
}

static void make_ns(void *test)
{
	kpkeys_drop_user_ns(kpkeys_test_make_ns(test));
}

static void test_records_are_changed_by_one_cpu(struct kunit *test)
{
	struct cred *user = kpkeys_test_user(test);
	const struct cred *own = current_cred();
	struct task_struct *fake;

	KPKEYS_TEST_REQUIRES(test, num_online_cpus() > 1);
	expect_wait(test, "override", current, change_to, user);
	expect_wait(test, "revert", current, change_back, (void *)own);
	kpkeys_test_override(user);
	expect_wait(test, "end", current, change_by_end, (void *)own);
	put_cred(user);
	put_cred(user);
	fake = fake_task(test, (void *)THREAD_SIZE);
	expect_wait(test, "exit", fake, change_by_exit, fake);
	expect_wait(test, "fork", current, fork_fake, test);
	expect_wait(test, "other name", current, take_by_other_name,
		    (void *)current + KPKEYS_CHANGES);
	expect_wait(test, "setting", current, write_it, NULL);
	expect_wait(test, "namespace", current, make_ns, test);
	expect_wait(test, "commit", current, change_for_good, prepare_creds());
	kpkeys_test_expect_clean(test);
}

static struct kunit_case tasks_cases[] = {
	KUNIT_CASE(test_overrides_end_before_user_space),
	KUNIT_CASE(test_overrides_that_end_are_no_matter),
	KUNIT_CASE(test_root_for_a_while_writes_no_setting),
	KUNIT_CASE(test_stack_is_of_who_got_it_last),
	KUNIT_CASE(test_chains_stay_whole),
	KUNIT_CASE(test_refused_task_is_out_of_reach),
	KUNIT_CASE(test_put_aside_is_freed_by_who_reverts),
	KUNIT_CASE(test_put_aside_is_freed_by_who_ends),
	KUNIT_CASE(test_put_aside_is_freed_on_the_way_to_user_space),
	KUNIT_CASE(test_who_counts_himself_is_counted),
	KUNIT_CASE(test_records_are_changed_by_one_cpu),
	{}
};

static struct kunit_suite tasks_suite = {
	.name = "kpkeys-cred-tasks",
	.init = kpkeys_test_creds_init,
	.exit = kpkeys_test_exit,
	.test_cases = tasks_cases,
};

kunit_test_suite(tasks_suite);
