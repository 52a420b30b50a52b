// SPDX-License-Identifier: GPL-2.0-only
/* What the KUnit suites share: a page-table page of their own. */
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "check.h"
#include "internal.h"

struct page *kpkeys_test_ptp;

/**
 * kpkeys_test_store - store to the test's page-table page
 *
 * Return: 0 or -EFAULT.
 */
int kpkeys_test_store(void)
{
	unsigned long value = 0;

	return copy_to_kernel_nofault(page_address(kpkeys_test_ptp), &value,
				      sizeof(value));
}

/**
 * kpkeys_test_init - before each test; skips it where nothing is enforced
 * @test: the test
 */
int kpkeys_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	kpkeys_test_ptp = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0,
					   NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, kpkeys_test_ptp);
	return 0;
}

/**
 * kpkeys_test_exit - after each test
 * @test: the test
 */
void kpkeys_test_exit(struct kunit *test)
{
	if (kpkeys_test_ptp)
		kpkeys_ptp_free(kpkeys_test_ptp, 0);
	kpkeys_test_ptp = NULL;
}

/**
 * kpkeys_test_writes - register writes of this CPU so far
 *
 * Less the two of each exception whose access came too early.
 */
unsigned long kpkeys_test_writes(void)
{
	return raw_cpu_read(kpkeys_counters.reg_writes) -
	       2 * raw_cpu_read(kpkeys_counters.repeats);
}

/**
 * kpkeys_test_publishes - sections of this CPU that published entries so far
 */
unsigned long kpkeys_test_publishes(void)
{
	return raw_cpu_read(kpkeys_counters.publishes);
}

/**
 * kpkeys_test_expect_clean - run the checker; every table has its key
 * @test: the test
 */
void kpkeys_test_expect_clean(struct kunit *test)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, check);
	kpkeys_check(check);
	KUNIT_EXPECT_TRUE(test, check->ok);
	KUNIT_EXPECT_GT(test, check->ptp_total, 0);
	KUNIT_EXPECT_EQ(test, check->ptp_unkeyed, 0);
	KUNIT_EXPECT_EQ(test, check->foreign, 0);
	KUNIT_EXPECT_EQ(test, check->aliased, 0);
	KUNIT_EXPECT_EQ(test, check->keyed, kpkeys_check_expected(check));
}
