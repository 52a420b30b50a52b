// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: keys of pointer authentication. Registers are compared with
 * slots, and memory is asked itself, as in the other suites.
 */
#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/kpkeys_pauth.h>
#include <asm/sysreg.h>

#include <linux/kpkeys_test.h>

static int pauth_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_pauth_enabled());
	return kpkeys_test_init(test);
}

static struct kpkeys_pauth_keys *slot_of(struct task_struct *task)
{
	return (void *)kpkeys_slot_at(task->thread.pauth_slot)->data;
}

static int load(const void *addr)
{
	unsigned long value;

	return copy_from_kernel_nofault(&value, addr, sizeof(value));
}

/* For as long as this task is not switched away, they are its own. */
static bool registers_are_mine(void)
{
	struct kpkeys_pauth_keys *keys;

	guard(kpkeys_secret)();
	keys = kpkeys_secret_data(current->thread.pauth_slot, current);
	if (!keys)
		return false;
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	if (read_sysreg_s(SYS_APIAKEYLO_EL1) != keys->kernel.apia.lo ||
	    read_sysreg_s(SYS_APIAKEYHI_EL1) != keys->kernel.apia.hi ||
	    raw_cpu_read(kpkeys_pauth_key.lo) != keys->kernel.apia.lo ||
	    raw_cpu_read(kpkeys_pauth_key.hi) != keys->kernel.apia.hi)
		return false;
#endif
	if (!kpkeys_pauth_hides_all())
		return true;
	return read_sysreg_s(SYS_APIBKEYLO_EL1) == keys->user.apib.lo &&
	       read_sysreg_s(SYS_APDAKEYHI_EL1) == keys->user.apda.hi &&
	       read_sysreg_s(SYS_APDBKEYLO_EL1) == keys->user.apdb.lo &&
	       (!system_supports_generic_auth() ||
		read_sysreg_s(SYS_APGAKEYHI_EL1) == keys->user.apga.hi);
}

static void test_keys_are_secret(struct kunit *test)
{
	struct thread_struct *thread = &current->thread;

	KUNIT_EXPECT_NE(test, thread->pauth_slot, KPKEYS_NO_SLOT);
	KUNIT_EXPECT_EQ(test, load(&slot_of(current)->user), -EFAULT);
	if (kpkeys_pauth_hides_all())
		KUNIT_EXPECT_NULL(test, memchr_inv(&thread->keys_user, 0,
						   sizeof(thread->keys_user)));
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	KUNIT_EXPECT_EQ(test, load(&slot_of(current)->kernel), -EFAULT);
	KUNIT_EXPECT_EQ(test, load(raw_cpu_ptr(&kpkeys_pauth_key)), -EFAULT);
	KUNIT_EXPECT_NULL(test, memchr_inv(&thread->keys_kernel, 0,
					   sizeof(thread->keys_kernel)));
#endif
}

/* The one task that had a key before there were slots. */
static void test_first_task_has_none_left(struct kunit *test)
{
	struct thread_struct *thread = &init_task.thread;

	KUNIT_EXPECT_NE(test, thread->pauth_slot, KPKEYS_NO_SLOT);
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	KUNIT_EXPECT_NULL(test, memchr_inv(&thread->keys_kernel, 0,
					   sizeof(thread->keys_kernel)));
#endif
}

/* Kernel threads have no user keys before one gives itself some. */
static void set_user_keys(int byte)
{
	struct kpkeys_pauth_copy copy = { .task = current };

	kpkeys_pauth_get(&copy);
	memset(&copy.keys, byte, sizeof(copy.keys));
	kpkeys_pauth_put(&copy);
}

static void test_switch_installs(struct kunit *test)
{
	int i;

	if (kpkeys_pauth_hides_all())
		set_user_keys(0xa5);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_TRUE(test, registers_are_mine());
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_TRUE(test, registers_are_mine());
	if (kpkeys_pauth_hides_all())
		set_user_keys(0);
}

static void test_switch_shuts(struct kunit *test)
{
	kpkeys_reg_t reg;

	schedule_timeout_uninterruptible(1);
	scoped_guard(preempt)
		reg = arch_kpkeys_read_reg();
	KUNIT_EXPECT_EQ(test, (unsigned int)reg,
			(unsigned int)ARCH_KPKEYS_REG_DEFAULT);
}

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
static kpkeys_reg_t reg_in_handler;

static void look_at_reg(struct irq_work *work)
{
	reg_in_handler = arch_kpkeys_read_reg();
}

static DEFINE_IRQ_WORK(look, look_at_reg);

/* Nothing can be saved with it; it is raised, shut, and put back. */
static void test_user_reg_is_put_back(struct kunit *test)
{
	kpkeys_reg_t after;
	int i;

	reg_in_handler = 0;
	preempt_disable();
	arch_kpkeys_write_reg(ARCH_KPKEYS_REG_USER);
	irq_work_queue(&look);
	for (i = 0; i < 1000000 && !READ_ONCE(reg_in_handler); i++)
		cpu_relax();
	after = arch_kpkeys_read_reg();
	arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, (u64)reg_in_handler, (u64)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_EQ(test, (u64)after, (u64)ARCH_KPKEYS_REG_USER);
}
#else
static void test_user_reg_is_put_back(struct kunit *test)
{
	kunit_skip(test, "the kernel has no key of its own");
}
#endif

static int wait_for_test(void *ready)
{
	complete(ready);
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return 0;
}

/* Another task; it runs until kthread_stop(). */
static struct task_struct *start_other(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(ready);
	struct task_struct *task;

	task = kthread_run(wait_for_test, &ready, "kpkeys-pauth");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&ready);
	return task;
}

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
static bool kernel_keys_differ(struct task_struct *one,
			       struct task_struct *other)
{
	guard(kpkeys_secret)();
	return memcmp(&slot_of(one)->kernel, &slot_of(other)->kernel,
		      sizeof(slot_of(one)->kernel));
}
#else
static bool kernel_keys_differ(struct task_struct *one,
			       struct task_struct *other)
{
	return true;
}
#endif

static void test_slots_are_own(struct kunit *test)
{
	struct task_struct *task = start_other(test);
	unsigned int its, mine;
	void *stolen;
	bool differ;

	its = task->thread.pauth_slot;
	mine = current->thread.pauth_slot;
	scoped_guard(kpkeys_secret)
		stolen = kpkeys_secret_data(its, current);
	differ = kernel_keys_differ(task, current);
	kthread_stop(task);
	KUNIT_EXPECT_NE(test, its, KPKEYS_NO_SLOT);
	KUNIT_EXPECT_NE(test, its, mine);
	KUNIT_EXPECT_NULL(test, stolen);
	KUNIT_EXPECT_TRUE(test, differ);
}

/* An edit reaches the slot and the registers, and leaves no copy. */
static void test_edit(struct kunit *test)
{
	struct kpkeys_pauth_copy copy = { .task = current };
	struct ptrauth_keys_user *keys, old;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pauth_hides_all());
	keys = kpkeys_pauth_get(&copy);
	old = *keys;
	keys->apib.lo ^= 1;
	keys->apga.hi ^= 1;
	kpkeys_pauth_put(&copy);
	KUNIT_EXPECT_NULL(test, memchr_inv(&copy.keys, 0, sizeof(copy.keys)));
	KUNIT_EXPECT_TRUE(test, registers_are_mine());
	keys = kpkeys_pauth_get(&copy);
	KUNIT_EXPECT_EQ(test, keys->apib.lo, old.apib.lo ^ 1);
	KUNIT_EXPECT_EQ(test, keys->apga.hi, old.apga.hi ^ 1);
	copy.keys = old;
	kpkeys_pauth_put(&copy);
}

static struct kunit_case pauth_cases[] = {
	KUNIT_CASE(test_keys_are_secret),
	KUNIT_CASE(test_first_task_has_none_left),
	KUNIT_CASE(test_switch_installs),
	KUNIT_CASE(test_switch_shuts),
	KUNIT_CASE(test_user_reg_is_put_back),
	KUNIT_CASE(test_slots_are_own),
	KUNIT_CASE(test_edit),
	{}
};

static struct kunit_suite pauth_suite = {
	.name = "kpkeys-pauth",
	.init = pauth_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = pauth_cases,
};

kunit_test_suite(pauth_suite);
