// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what helpers of arm64 ask about in their sections. */
#include <linux/arm-smccc.h>
#include <linux/kpkeys_firmware.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <uapi/linux/psci.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_mm.h>
#include <asm/virt.h>

#include "tables.h"

#define TABLE	((pte_t *)page_address(table))
#define NOTHING	BIT(42 - PAGE_SHIFT)	/* a frame that there is not */
#define WRITING	(PTE_RDONLY | PTE_WRITE | PTE_DIRTY)

static struct page *table, *victim;

static int arm64_test_init(struct kunit *test)
{
	int ret;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr &&
			     kpkeys_state.mode == KPKEYS_ENFORCE);
	ret = kpkeys_test_init(test);
	if (ret)
		return ret;
	table = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, NUMA_NO_NODE);
	victim = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_NOT_NULL(test, victim);
	return 0;
}

static void arm64_test_exit(struct kunit *test)
{
	if (table)
		kpkeys_ptp_free(table, 0);
	if (victim)
		kpkeys_ptp_free(victim, 0);
	table = NULL;
	victim = NULL;
	kpkeys_test_exit(test);
}

static bool fill(unsigned long pfn, unsigned int level)
{
	return kpkeys_fill_table(TABLE, pfn_pte(pfn, PAGE_KERNEL), level);
}

static void test_split_fills_a_new_table(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kpkeys_fill_table(TABLE + 1, pfn_pte(NOTHING, PAGE_KERNEL),
						   KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_TRUE(test, pte_none(TABLE[1]));
	KUNIT_EXPECT_TRUE(test, fill(NOTHING, KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_EQ(test, pte_pfn(TABLE[PTRS_PER_PTE - 1]), NOTHING + PTRS_PER_PTE - 1);
	/* Nobody else links it, or fills it again. */
	KUNIT_EXPECT_EQ(test, kpkeys_frame_byte(page_to_pfn(table)),
			KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
	KUNIT_EXPECT_FALSE(test, fill(NOTHING, KPKEYS_LEVEL_PTE));
}

static void test_split_says_the_level(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, fill(NOTHING, KPKEYS_LEVEL_PMD));
	KUNIT_EXPECT_EQ(test, kpkeys_level_to_search(page_to_pfn(table)), KPKEYS_LEVEL_PMD);
	KUNIT_EXPECT_EQ(test, pte_pfn(TABLE[1]), NOTHING + PTRS_PER_PTE);
}

/* What is mapped lay on a stack: a page table, writable. */
static void test_split_maps_no_table(struct kunit *test)
{
	unsigned long pfn = page_to_pfn(victim), first = ALIGN_DOWN(pfn, PTRS_PER_PTE);

	KUNIT_EXPECT_FALSE(test, fill(first, KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_TRUE(test, pte_none(TABLE[pfn - first]));
}

/* Behind the last frame a CPU may find the first one. */
static void test_split_is_of_a_block(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, fill(NOTHING + 1, KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_FALSE(test, fill(NOTHING + PTRS_PER_PTE, KPKEYS_LEVEL_PMD));
	KUNIT_EXPECT_TRUE(test, pte_none(TABLE[0]));
}

/* Nor how: the kernel does not run what anybody may write. */
static void test_split_maps_no_code(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kpkeys_fill_table(TABLE, pfn_pte(NOTHING, PAGE_KERNEL_EXEC),
						   KPKEYS_LEVEL_PTE));
	KUNIT_EXPECT_TRUE(test, pte_none(TABLE[3]));
}

/* Nor does the section that writes keys take one away, whatever it was told. */
static void test_table_keeps_its_key(struct kunit *test)
{
	unsigned long addr = (unsigned long)TABLE;

	KUNIT_EXPECT_NE(test, 0, arch_kpkeys_set_pkey(addr, 1, KPKEYS_PKEY_DEFAULT, false));
	KUNIT_EXPECT_NE(test, 0, arch_kpkeys_set_pkey(addr, 1, KPKEYS_PKEY_STATE, false));
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey(addr), KPKEYS_PKEY_PGTABLES);
}

static void plant(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*TABLE, pfn_pte(pfn, PAGE_KERNEL_RO));
}

static void test_flags_make_no_table_writable(struct kunit *test)
{
	kpkeys_begin_table(TABLE, KPKEYS_LEVEL_PTE);
	plant(page_to_pfn(victim));
	KUNIT_EXPECT_FALSE(test, __kpkeys_add_flags(TABLE, 1, WRITING));
	KUNIT_EXPECT_TRUE(test, pte_rdonly(*TABLE));
	plant(NOTHING);
	KUNIT_EXPECT_TRUE(test, __kpkeys_add_flags(TABLE, 1, WRITING));
	KUNIT_EXPECT_FALSE(test, pte_rdonly(*TABLE));
	plant(0);
}

static void test_flags_are_those_of_an_access(struct kunit *test)
{
	kpkeys_begin_table(TABLE, KPKEYS_LEVEL_PTE);
	plant(NOTHING);
	KUNIT_EXPECT_TRUE(test, __kpkeys_add_flags(TABLE, 1, WRITING | PTE_USER));
	KUNIT_EXPECT_EQ(test, pte_val(*TABLE) & PTE_USER, 0);
}

static u8 data[PAGE_SIZE] __page_aligned_data = { 1 };

/* Data of the image do so when text becomes read-only. What is keyed is looked for there. */
static void test_what_is_keyed_stays_in_the_linear_map(struct kunit *test)
{
	unsigned long state = (unsigned long)lm_alias(&kpkeys_state), size;
	unsigned long ordinary = (unsigned long)lm_alias(data);

	KPKEYS_TEST_REQUIRES(test, KPKEYS_TEST_DATA_LEAVE);

	kpkeys_set_valid(state, sizeof(kpkeys_state) / PAGE_SIZE, false);
	kpkeys_set_valid(ordinary, 1, false);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey(state), KPKEYS_PKEY_STATE);
	KUNIT_EXPECT_NULL(test, kpkeys_leaf(ordinary, &size));
	kpkeys_set_valid(ordinary, 1, true);
	KUNIT_EXPECT_NOT_NULL(test, kpkeys_leaf(ordinary, &size));
}

/* The emulator's firmware is where the kernel does not begin. */
static s64 call(u32 number)
{
	struct arm_smccc_res res;

	if (is_hyp_mode_available())
		arm_smccc_smc(number, 0, 0, 0, 0, 0, 0, 0, &res);
	else
		arm_smccc_hvc(number, 0, 0, 0, 0, 0, 0, 0, &res);
	return res.a0;
}

static s64 call_by_struct(u32 number)
{
	struct arm_smccc_1_2_regs regs = { .a0 = number };

	if (is_hyp_mode_available())
		arm_smccc_1_2_smc(&regs, &regs);
	else
		arm_smccc_1_2_hvc(&regs, &regs);
	return regs.a0;
}

/* The first CPU is on, which the firmware would say. All else comes through. */
static void test_no_start_by_call(struct kunit *test)
{
	unsigned long before = kpkeys_test_violations();

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	KUNIT_EXPECT_EQ(test, call(PSCI_0_2_FN64_CPU_ON), SMCCC_RET_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, call(PSCI_0_2_FN_CPU_ON), SMCCC_RET_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, call(PSCI_1_0_FN64_SYSTEM_SUSPEND), SMCCC_RET_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, call_by_struct(PSCI_0_2_FN64_CPU_ON), SMCCC_RET_NOT_SUPPORTED);
	KUNIT_EXPECT_TRUE(test, kpkeys_refuse_number(PSCI_0_2_FN64_CPU_ON));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 5);
	KUNIT_EXPECT_EQ(test, (s64)kpkeys_call_start(PSCI_0_2_FN_CPU_ON, 0,
						     !is_hyp_mode_available()),
			PSCI_RET_NOT_SUPPORTED);
	KUNIT_EXPECT_GT(test, call(PSCI_0_2_FN_PSCI_VERSION), 0);
	KUNIT_EXPECT_GT(test, call_by_struct(PSCI_0_2_FN_PSCI_VERSION), 0);
	KUNIT_EXPECT_FALSE(test, kpkeys_refuse_number(ARM_SMCCC_VERSION_FUNC_ID));
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before + 5);
}

static struct kunit_case arm64_cases[] = {
	KUNIT_CASE(test_split_fills_a_new_table),
	KUNIT_CASE(test_split_says_the_level),
	KUNIT_CASE(test_split_maps_no_table),
	KUNIT_CASE(test_split_is_of_a_block),
	KUNIT_CASE(test_split_maps_no_code),
	KUNIT_CASE(test_table_keeps_its_key),
	KUNIT_CASE(test_flags_make_no_table_writable),
	KUNIT_CASE(test_flags_are_those_of_an_access),
	KUNIT_CASE(test_what_is_keyed_stays_in_the_linear_map),
	KUNIT_CASE(test_no_start_by_call),
	{}
};

static struct kunit_suite arm64_suite = {
	.name = "kpkeys-arm64",
	.init = arm64_test_init,
	.exit = arm64_test_exit,
	.test_cases = arm64_cases,
};

kunit_test_suite(arm64_suite);
