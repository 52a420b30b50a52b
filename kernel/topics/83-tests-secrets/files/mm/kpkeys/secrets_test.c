// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: secrets. Each asks memory itself, as the other suites do. */
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/completion.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/sections.h>
#include <crypto/chacha.h>

#include "internal.h"
#include "secrets.h"

static unsigned long static_secret __kpkeys_secret;
static DEFINE_PER_CPU_SECRET(unsigned long, percpu_secret);

/* A slot of the running test's own; the test is its owner. */
static unsigned int slot;
static unsigned long *secret;

static int load_from(const void *addr)
{
	unsigned long value;

	return copy_from_kernel_nofault(&value, addr, sizeof(value));
}

static int load(void)
{
	return load_from(secret);
}

static int store(void)
{
	unsigned long value = 1;

	return copy_to_kernel_nofault(secret, &value, sizeof(value));
}

static int secrets_test_init(struct kunit *test)
{
	int err;

	KPKEYS_TEST_REQUIRES(test, kpkeys_secrets_enabled());
	err = kpkeys_test_init(test);
	if (err)
		return err;
	slot = kpkeys_secret_alloc(test, GFP_KERNEL);
	KUNIT_ASSERT_NE(test, slot, KPKEYS_NO_SLOT);
	scoped_guard(kpkeys_secret)
		secret = kpkeys_secret_data(slot, test);
	KUNIT_ASSERT_NOT_NULL(test, secret);
	return 0;
}

static void secrets_test_exit(struct kunit *test)
{
	kpkeys_secret_free(slot, test);
	slot = KPKEYS_NO_SLOT;
	kpkeys_test_exit(test);
}

/* ---- rights ---- */

static void test_default_denies_all(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, load(), -EFAULT);
	KUNIT_EXPECT_EQ(test, store(), -EFAULT);
}

static void test_pgtables_denies_all(struct kunit *test)
{
	int loaded, stored, ptp;

	scoped_guard(kpkeys_hardened_pgtables) {
		loaded = load();
		stored = store();
		ptp = kpkeys_test_store();
	}
	KUNIT_EXPECT_EQ(test, loaded, -EFAULT);
	KUNIT_EXPECT_EQ(test, stored, -EFAULT);
	KUNIT_EXPECT_EQ(test, ptp, 0);
}

static void test_secret_allows(struct kunit *test)
{
	int loaded, stored, ptp;

	scoped_guard(kpkeys_secret) {
		stored = store();
		loaded = load();
		ptp = kpkeys_test_store();
	}
	KUNIT_EXPECT_EQ(test, stored, 0);
	KUNIT_EXPECT_EQ(test, loaded, 0);
	KUNIT_EXPECT_EQ(test, ptp, -EFAULT);
	KUNIT_EXPECT_EQ(test, load(), -EFAULT);
}

static void test_denied_load_counts(struct kunit *test)
{
	unsigned long before, counted, flags;
	int err;

	local_irq_save(flags);
	before = raw_cpu_read(kpkeys_counters.violations);
	err = load();
	counted = raw_cpu_read(kpkeys_counters.violations) - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, err, -EFAULT);
	KUNIT_EXPECT_EQ(test, counted, 1);
}

static void test_section_is_two_writes(struct kunit *test)
{
	unsigned long before, flags;

	local_irq_save(flags);
	before = kpkeys_test_writes();
	scoped_guard(kpkeys_secret)
		WRITE_ONCE(*secret, 1);
	before = kpkeys_test_writes() - before;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, before, 2);
}

static void test_static_is_denied(struct kunit *test)
{
	unsigned int cpu;

	KUNIT_EXPECT_EQ(test, load_from(&static_secret), -EFAULT);
	KUNIT_EXPECT_EQ(test, load_from(lm_alias(&static_secret)), -EFAULT);
	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_EQ(test, -EFAULT,
				load_from(per_cpu_ptr(&percpu_secret, cpu)));
}

/* ---- nesting ---- */

static void test_nests_in_pgtables(struct kunit *test)
{
	int inner, inner_ptp, outer, outer_ptp;

	scoped_guard(kpkeys_hardened_pgtables) {
		scoped_guard(kpkeys_secret) {
			inner = load();
			inner_ptp = kpkeys_test_store();
		}
		outer = load();
		outer_ptp = kpkeys_test_store();
	}
	KUNIT_EXPECT_EQ(test, inner, 0);
	KUNIT_EXPECT_EQ(test, inner_ptp, -EFAULT);
	KUNIT_EXPECT_EQ(test, outer, -EFAULT);
	KUNIT_EXPECT_EQ(test, outer_ptp, 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_store(), -EFAULT);
}

static void test_nests_around_pgtables(struct kunit *test)
{
	int inner, inner_ptp, outer;

	scoped_guard(kpkeys_secret) {
		scoped_guard(kpkeys_hardened_pgtables) {
			inner = load();
			inner_ptp = kpkeys_test_store();
		}
		outer = load();
	}
	KUNIT_EXPECT_EQ(test, inner, -EFAULT);
	KUNIT_EXPECT_EQ(test, inner_ptp, 0);
	KUNIT_EXPECT_EQ(test, outer, 0);
	KUNIT_EXPECT_EQ(test, load(), -EFAULT);
}

static void test_nests_in_section(struct kunit *test)
{
	int inner, before, after;
	unsigned long flags;

	local_irq_save(flags);
	scoped_guard(kpkeys_pgtables_section, 2) {
		before = kpkeys_test_store();
		scoped_guard(kpkeys_secret)
			inner = load();
		after = kpkeys_test_store();
	}
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, before, 0);
	KUNIT_EXPECT_EQ(test, inner, 0);
	KUNIT_EXPECT_EQ(test, after, 0);
	KUNIT_EXPECT_EQ(test, kpkeys_test_store(), -EFAULT);
	KUNIT_EXPECT_EQ(test, load(), -EFAULT);
}

/* The first user, from inside a section of another domain. */
static void test_random_in_pgtables(struct kunit *test)
{
	u8 bytes[200] = {};
	int after;

	scoped_guard(kpkeys_hardened_pgtables) {
		get_random_bytes(bytes, sizeof(bytes));
		after = kpkeys_test_store();
	}
	KUNIT_EXPECT_NOT_NULL(test, memchr_inv(bytes, 0, 32));
	KUNIT_EXPECT_NOT_NULL(test, memchr_inv(bytes + 168, 0, 32));
	KUNIT_EXPECT_EQ(test, after, 0);
}

/* The block that random bytes must come from, and the bytes that do. */
static bool draw(u8 __percpu *keys, u8 *expected, u8 *bytes)
{
	struct chacha_state state = {};
	u8 block[CHACHA_BLOCK_SIZE];

	guard(irqsave)();
	/* This CPU's key is up to date then. */
	get_random_bytes(bytes, 1);
	chacha_init_consts(kpkeys_test_chacha(&state));
	scoped_guard(kpkeys_secret)
		memcpy(&state.x[4], raw_cpu_ptr(keys), CHACHA_KEY_SIZE);
	chacha20_block(kpkeys_test_chacha(&state), block);
	memcpy(&state.x[4], block + CHACHA_KEY_SIZE, CHACHA_KEY_SIZE);
	chacha20_block(kpkeys_test_chacha(&state), expected);
	get_random_bytes(bytes, CHACHA_BLOCK_SIZE);
	return !memcmp(bytes, expected, CHACHA_BLOCK_SIZE);
}

/*
 * A long draw goes on from a state on the stack. That must not hold the key,
 * which the next one follows from: its bytes come from another.
 */
static void test_random_leaves_no_key(struct kunit *test)
{
	u8 __percpu *keys = (void __percpu *)kallsyms_lookup_name("crng_keys");
	u8 expected[CHACHA_BLOCK_SIZE], bytes[CHACHA_BLOCK_SIZE];
	bool drawn = false;
	int i;

	KPKEYS_TEST_REQUIRES(test, keys && rng_is_initialized());
	/* Another CPU may have the base key replaced meanwhile. */
	for (i = 0; i < 3 && !drawn; i++)
		drawn = draw(keys, expected, bytes);
	KUNIT_EXPECT_TRUE(test, drawn);
}

#ifdef CONFIG_X86_64
static void draw_by_offset(void *percpu, u8 *bytes, size_t size)
{
	unsigned long forged = percpu - (void *)__per_cpu_start, offset;

	guard(irqsave)();
	offset = raw_cpu_read(this_cpu_off);
	raw_cpu_write(this_cpu_off, forged);
	get_random_bytes(bytes, size);
	raw_cpu_write(this_cpu_off, offset);
}

/* Ordinary memory says where this CPU's is. Keys must not be where it says. */
static void test_random_believes_no_offset(struct kunit *test)
{
	size_t secrets = __per_cpu_secrets_start - __per_cpu_start;
	size_t behind = __per_cpu_secrets_end - __per_cpu_start;
	void *real, *copy = vzalloc(__per_cpu_end - __per_cpu_start);
	u8 bytes[32] = {};

	KUNIT_ASSERT_NOT_NULL(test, copy);
	migrate_disable();
	real = raw_cpu_ptr(__per_cpu_start);
	memcpy(copy, real, secrets);
	memcpy(copy + behind, real + behind,
	       __per_cpu_end - __per_cpu_secrets_end);
	draw_by_offset(copy, bytes, sizeof(bytes));
	migrate_enable();
	KUNIT_EXPECT_NOT_NULL(test, memchr_inv(bytes, 0, sizeof(bytes)));
	KUNIT_EXPECT_NULL(test, memchr_inv(copy + secrets, 0, behind - secrets));
	vfree(copy);
}
#endif

/* ---- what comes between ---- */

static int seen;

static void irq_load(struct irq_work *work)
{
	seen = load();
}

static void test_interrupt_cannot_read(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(irq_load);
	int after;

	seen = 1;
	scoped_guard(kpkeys_secret) {
		irq_work_queue(&work);
		while (irq_work_is_busy(&work))
			cpu_relax();
		after = load();
	}
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static int leave_open(void *done)
{
	scoped_guard(preempt)
		__kpkeys_raise(KPKEYS_LVL_SECRET, KPKEYS_LVL_DEFAULT);
	schedule_timeout_uninterruptible(1);
	seen = load();
	complete(done);
	return 0;
}

static void test_switch_closes_secret(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;

	seen = 1;
	task = kthread_run(leave_open, &done, "kpkeys-secret");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&done);
	KUNIT_EXPECT_EQ(test, seen, -EFAULT);
}

/* ---- slots ---- */

static void test_slot_has_one_owner(struct kunit *test)
{
	void *stranger;

	scoped_guard(kpkeys_secret)
		stranger = kpkeys_secret_data(slot, &slot);
	KUNIT_EXPECT_NULL(test, stranger);
	scoped_guard(kpkeys_secret)
		stranger = kpkeys_secret_data(slot, NULL);
	KUNIT_EXPECT_NULL(test, stranger);
}

static void test_slot_number_is_checked(struct kunit *test)
{
	unsigned int numbers[] = {
		KPKEYS_NO_SLOT, ~0U, KPKEYS_MAX_CHUNKS * KPKEYS_CHUNK_SLOTS,
		kpkeys_slots.nr_chunks * KPKEYS_CHUNK_SLOTS,
		round_down(slot, KPKEYS_CHUNK_SLOTS),
	};
	void *data;
	int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		scoped_guard(kpkeys_secret)
			data = kpkeys_secret_data(numbers[i], test);
		KUNIT_EXPECT_NULL(test, data);
	}
}

static long errors(void)
{
	return atomic_long_read(&kpkeys_events.freelist_errors);
}

/* Not counted: tasks may have slots as well, and come and go. */
static bool is_owner(unsigned int number, const void *owner)
{
	guard(kpkeys_secret)();
	return kpkeys_secret_data(number, owner);
}

static void test_bad_free_is_refused(struct kunit *test)
{
	unsigned int other = kpkeys_secret_alloc(&other, GFP_KERNEL);
	long before = errors();

	KUNIT_ASSERT_NE(test, other, KPKEYS_NO_SLOT);
	kpkeys_secret_free(other, test);
	KUNIT_EXPECT_EQ(test, errors(), before + 1);
	kpkeys_secret_free(~0U, test);
	KUNIT_EXPECT_EQ(test, errors(), before + 2);
	KUNIT_EXPECT_TRUE(test, is_owner(other, &other));

	kpkeys_secret_free(other, &other);
	KUNIT_EXPECT_EQ(test, errors(), before + 2);
	KUNIT_EXPECT_FALSE(test, is_owner(other, &other));
	kpkeys_secret_free(other, &other);
	KUNIT_EXPECT_EQ(test, errors(), before + 3);
	KUNIT_EXPECT_FALSE(test, is_owner(other, &other));
}

static bool is_zero(const void *data)
{
	size_t size = sizeof_field(struct kpkeys_slot, data);

	guard(kpkeys_secret)();
	return !memchr_inv(data, 0, size);
}

static void test_free_erases(struct kunit *test)
{
	unsigned long *old = secret;

	scoped_guard(kpkeys_secret)
		memset(secret, 0xa5, sizeof_field(struct kpkeys_slot, data));
	KUNIT_EXPECT_FALSE(test, is_zero(old));
	kpkeys_secret_free(slot, test);
	KUNIT_EXPECT_TRUE(test, is_zero(old));
	slot = kpkeys_secret_alloc(test, GFP_KERNEL);
	scoped_guard(kpkeys_secret)
		secret = kpkeys_secret_data(slot, test);
	KUNIT_ASSERT_NOT_NULL(test, secret);
	KUNIT_EXPECT_TRUE(test, is_zero(secret));
}

/* Until none is left; whoever may sleep then gets more. */
static void test_slots_run_out(struct kunit *test)
{
	unsigned int total = kpkeys_slots.nr_chunks * KPKEYS_CHUNK_SLOTS;
	unsigned int *taken, n, i, more;
	unsigned long *once;

	/* Slots of tasks that have ended come back now, not while none is left. */
	rcu_barrier();
	taken = kunit_kcalloc(test, total, sizeof(*taken), GFP_KERNEL);
	once = kunit_kcalloc(test, BITS_TO_LONGS(total), sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, taken);
	KUNIT_ASSERT_NOT_NULL(test, once);
	for (n = 0; n < total; n++) {
		taken[n] = kpkeys_secret_alloc(test, GFP_NOWAIT);
		if (!taken[n])
			break;
		if (taken[n] >= total || __test_and_set_bit(taken[n], once))
			KUNIT_FAIL(test, "slot %u taken twice", taken[n]);
	}
	KUNIT_EXPECT_LT(test, n, total);
	KUNIT_EXPECT_EQ(test, kpkeys_secret_alloc(test, GFP_ATOMIC), KPKEYS_NO_SLOT);
	/* A task that has ended meanwhile leaves a slot. */
	while ((more = kpkeys_secret_alloc(test, GFP_KERNEL)) < total && n < total)
		taken[n++] = more;
	KUNIT_EXPECT_GE(test, more, total);
	kpkeys_secret_free(more, test);
	for (i = 0; i < n; i++)
		kpkeys_secret_free(taken[i], test);
	kpkeys_test_expect_clean(test);
}

/* ---- neighbours ---- */

static void test_no_hibernation(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, IS_ENABLED(CONFIG_HIBERNATION));
	KUNIT_EXPECT_FALSE(test, hibernation_available());
}

static int load_static(void)
{
	return load_from(&static_secret);
}

static void test_report_says_secret(struct kunit *test)
{
	kpkeys_test_expect_report(test, "read of secret", load_static);
}

static int guarded_store(void)
{
	guard(kpkeys_hardened_pgtables)();
	return kpkeys_test_store();
}

/* The level that opens secrets opens no page table. */
static void test_secret_holds_not(struct kunit *test)
{
	int inside, after;

	scoped_guard(kpkeys_pgtables_section, 2) {
		scoped_guard(kpkeys_secret)
			inside = guarded_store();
		after = guarded_store();
	}
	KUNIT_EXPECT_EQ(test, inside, 0);
	KUNIT_EXPECT_EQ(test, after, 0);
}

static struct kunit_case secrets_cases[] = {
	KUNIT_CASE(test_default_denies_all),
	KUNIT_CASE(test_pgtables_denies_all),
	KUNIT_CASE(test_secret_allows),
	KUNIT_CASE(test_denied_load_counts),
	KUNIT_CASE(test_section_is_two_writes),
	KUNIT_CASE(test_static_is_denied),
	KUNIT_CASE(test_nests_in_pgtables),
	KUNIT_CASE(test_nests_around_pgtables),
	KUNIT_CASE(test_nests_in_section),
	KUNIT_CASE(test_random_in_pgtables),
	KUNIT_CASE(test_random_leaves_no_key),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_random_believes_no_offset),
#endif
	KUNIT_CASE(test_interrupt_cannot_read),
	KUNIT_CASE(test_switch_closes_secret),
	KUNIT_CASE(test_slot_has_one_owner),
	KUNIT_CASE(test_slot_number_is_checked),
	KUNIT_CASE(test_bad_free_is_refused),
	KUNIT_CASE(test_free_erases),
	KUNIT_CASE(test_slots_run_out),
	KUNIT_CASE(test_no_hibernation),
	KUNIT_CASE(test_secret_holds_not),
	KUNIT_CASE(test_report_says_secret),
	{}
};

static struct kunit_suite secrets_suite = {
	.name = "kpkeys-secrets",
	.init = secrets_test_init,
	.exit = secrets_test_exit,
	.test_cases = secrets_cases,
};

kunit_test_suite(secrets_suite);
