// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: entries that map secrets. */
#include <linux/bitops.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "check.h"
#include "internal.h"
#include "secrets.h"

static unsigned long static_secret __kpkeys_secret;

#ifdef CONFIG_X86
#define KEY_BITS	_PAGE_PKEY_MASK
#else
#define KEY_BITS	PTE_PO_IDX_MASK
#endif

static void test_checker_sees_bare_secret(struct kunit *test)
{
	struct kpkeys_check *check;
	void *page = lm_alias(PTR_ALIGN_DOWN(&static_secret, PAGE_SIZE));

	kpkeys_test_expect_clean(test);
	KUNIT_EXPECT_EQ(test, -EBUSY, kpkeys_set_pkey(page, 1, KPKEYS_PKEY_DEFAULT,
						      true));
	check = kpkeys_test_check_bare(test, page, KPKEYS_PKEY_SECRET);
	KUNIT_EXPECT_EQ(test, check->secret_unkeyed, 1);
	KUNIT_EXPECT_EQ(test, check->secret_keyed, check->secret - 1);
}

/* Not even one that is nobody's, and stops nobody. */
static void test_secret_keeps_its_key(struct kunit *test)
{
	u64 *entry = kpkeys_test_entry(lm_alias(PTR_ALIGN_DOWN(&static_secret, PAGE_SIZE)));
	u64 with_key = READ_ONCE(*entry), key, other;

	for (key = 0; key <= KEY_BITS >> __ffs64(KEY_BITS); key++) {
		other = (with_key & ~KEY_BITS) | KPKEYS_TEST_PKEY(key);
		set_pte((pte_t *)entry, __pte(other));
		KUNIT_EXPECT_EQ_MSG(test, READ_ONCE(*entry), with_key, "key %llu", key);
		kpkeys_test_plant(entry, with_key);
	}
}

static int entries_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_secrets_enabled());
	return kpkeys_test_init(test);
}

static struct kunit_case entries_cases[] = {
	KUNIT_CASE(test_checker_sees_bare_secret),
	KUNIT_CASE(test_secret_keeps_its_key),
	{}
};

static struct kunit_suite entries_suite = {
	.name = "kpkeys-secrets-entries",
	.init = entries_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = entries_cases,
};

kunit_test_suite(entries_suite);
