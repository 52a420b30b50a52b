// SPDX-License-Identifier: GPL-2.0-only
/* What the KUnit suites share: a page-table page of their own. */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/pgalloc.h>

#include <trace/events/printk.h>

#include "check.h"
#include "depot.h"
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
 * kpkeys_test_enter_text - some text is known as such
 *
 * Suites run before text becomes read-only. Whoever calls this sets the frame back.
 *
 * Return: its page frame.
 */
unsigned long kpkeys_test_enter_text(void)
{
	kpkeys_frames_readonly(KPKEYS_TEST_TEXT, KPKEYS_TEST_TEXT + PAGE_SIZE);
	return PHYS_PFN(__pa_symbol(KPKEYS_TEST_TEXT));
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
 * kpkeys_test_remove_cpu - take a CPU off, and wait until it has gone
 * @test: fails if it does not go
 * @cpu: which
 *
 * That it has gone is the last thing that it says, behind that it is dead.
 */
void kpkeys_test_remove_cpu(struct kunit *test, int cpu)
{
	int tries = 1000;

	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	while (--tries && READ_ONCE(per_cpu_ptr(&kpkeys_cpu, cpu)->owner))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_NE(test, tries, 0);
}

/**
 * kpkeys_test_violations - what all CPUs reported so far
 */
unsigned long kpkeys_test_violations(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(kpkeys_counters.violations, cpu);
	return sum;
}

/**
 * kpkeys_test_publishes - sections of this CPU that published entries so far
 */
unsigned long kpkeys_test_publishes(void)
{
	return raw_cpu_read(kpkeys_counters.publishes);
}

/**
 * kpkeys_test_set_frame - forge what the table of frames says of a page
 * @page: in a kernel mapping
 * @value: what it is to say
 *
 * Return: what it said.
 */
u8 kpkeys_test_set_frame(void *page, u8 value)
{
	unsigned long pfn = PHYS_PFN(arch_kpkeys_phys((unsigned long)page));
	u8 *frame = &kpkeys_frames.page[pfn / KPKEYS_FRAMES_PER_PAGE]
				       [pfn % KPKEYS_FRAMES_PER_PAGE];

	guard(kpkeys_hardened_pgtables)();
	return xchg(frame, value);
}

/**
 * kpkeys_test_entry - the entry that maps an address of the kernel
 * @addr: the address
 *
 * Return: NULL if there is none.
 */
u64 *kpkeys_test_entry(const void *addr)
{
	struct kpkeys_leaf leaf;

	return arch_kpkeys_leaf((unsigned long)addr, &leaf) ? __va(leaf.entry) : NULL;
}

/**
 * kpkeys_test_plant - write an entry that no helper would
 * @entry: where
 * @value: what
 */
void kpkeys_test_plant(u64 *entry, u64 value)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*entry, value);
}

/**
 * kpkeys_test_new_pmds - a table of PMDs that no CPU walks
 * @test: the test
 * @pud: what leads to it, on a stack
 */
pmd_t *kpkeys_test_new_pmds(struct kunit *test, pud_t *pud)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	pud_populate(&init_mm, pud, page_address(page));
	return page_address(page);
}

/**
 * kpkeys_test_free_pmds - give one back
 * @table: which, empty
 * @pud: what leads to it
 */
void kpkeys_test_free_pmds(pmd_t *table, pud_t *pud)
{
	set_pud(pud, __pud(0));
	kpkeys_ptp_free(virt_to_page(table), 0);
}

/**
 * kpkeys_test_check_bare - run the checker while a page lacks its key
 * @test: the running test; what the checker says must be bad
 * @page: in the direct map; whatever else its entry maps lacks it, too
 * @pkey: the key
 *
 * Return: what the checker says.
 */
struct kpkeys_check *kpkeys_test_check_bare(struct kunit *test, void *page, int pkey)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check), GFP_KERNEL);
	u64 *entry = kpkeys_test_entry(page), with_key;

	KUNIT_ASSERT_NOT_NULL(test, check);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	with_key = *entry;
	kpkeys_test_plant(entry, with_key & ~KPKEYS_TEST_PKEY(pkey));
	kpkeys_check(check);
	kpkeys_test_plant(entry, with_key);
	KUNIT_EXPECT_FALSE(test, check->ok);
	return check;
}

struct awaited {
	const char	*text;
	bool		heard;
};

static void hear(void *data, const char *text, size_t len)
{
	struct awaited *awaited = data;

	if (strnstr(text, awaited->text, len))
		WRITE_ONCE(awaited->heard, true);
}

/**
 * kpkeys_test_expect_report - expect an access to be refused, and the console to say so
 * @test: the test
 * @text: what the console says
 * @access: the access
 *
 * Reports are rate-limited: others may have used the limit up.
 */
void kpkeys_test_expect_report(struct kunit *test, const char *text, int (*access)(void))
{
	struct awaited awaited = { .text = text };
	int tries;

	KUNIT_ASSERT_EQ(test, register_trace_console(hear, &awaited), 0);
	for (tries = 0; tries < 20 && !READ_ONCE(awaited.heard); tries++) {
		KUNIT_EXPECT_EQ(test, access(), -EFAULT);
		msleep(500);
	}
	unregister_trace_console(hear, &awaited);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_TRUE(test, awaited.heard);
}

/**
 * kpkeys_test_key - take the key from a table in use, or give it back
 * @page: in a kernel mapping
 * @pkey: KPKEYS_PKEY_*
 * @alias: that of its other mappings as well
 *
 * Return: 0 or -errno.
 */
int kpkeys_test_key(void *page, int pkey, bool alias)
{
	static u8 saved;
	int ret;

	if (pkey == KPKEYS_PKEY_DEFAULT)
		saved = kpkeys_test_set_frame(page, KPKEYS_FRAME_TABLE);
	ret = kpkeys_set_pkey(page, 1, pkey, alias);
	if (pkey != KPKEYS_PKEY_DEFAULT)
		kpkeys_test_set_frame(page, saved);
	return ret;
}

/**
 * kpkeys_test_retake - take a page that was just given back, and no other
 * @page: it is at the end of this CPU's magazine, behind those that are ready
 * @gfp: flags
 *
 * With interrupts off.
 *
 * Return: the page, or NULL if it does not come.
 */
struct page *kpkeys_test_retake(struct page *page, gfp_t gfp)
{
	struct page *others[2 * KPKEYS_NR_READY], *taken = NULL;
	unsigned int nr;

	for (nr = 0; nr < ARRAY_SIZE(others); nr++) {
		taken = kpkeys_ptp_alloc(gfp, 0, NUMA_NO_NODE);
		if (!taken || taken == page)
			break;
		others[nr] = taken;
	}
	while (nr--)
		kpkeys_ptp_free(others[nr], 0);
	return taken == page ? page : NULL;
}

/**
 * kpkeys_test_expect_clean - run the checker; every table has its key
 * @test: the test
 */
void kpkeys_test_expect_clean(struct kunit *test)
{
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, check);
	kpkeys_check(check);
	for (i = 0; i < check->nr_findings; i++)
		kunit_info(test, "%s pfn %lx level %s of %s\n",
			   check->finding[i].what, check->finding[i].pfn,
			   kpkeys_level_name(check->finding[i].level),
			   check->finding[i].name);
	KUNIT_EXPECT_TRUE(test, check->ok);
	KUNIT_EXPECT_GT(test, check->ptp_total, 0);
	KUNIT_EXPECT_EQ(test, check->ptp_unkeyed, 0);
	KUNIT_EXPECT_EQ(test, check->foreign, 0);
	KUNIT_EXPECT_EQ(test, check->aliased, 0);
	KUNIT_EXPECT_EQ(test, check->keyed, kpkeys_check_expected(check));
}

/**
 * kpkeys_test_watch - ask for a watchpoint for stores
 * @attr: what is asked for
 * @at: where, eight bytes
 */
void kpkeys_test_watch(struct perf_event_attr *attr, void *at)
{
	hw_breakpoint_init(attr);
	attr->bp_addr = (unsigned long)at;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
	attr->bp_type = HW_BREAKPOINT_W;
}
