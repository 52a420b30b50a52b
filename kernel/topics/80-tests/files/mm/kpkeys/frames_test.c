// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: what frames are, and which entries are refused for it. */
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/fixmap.h>

#include "check.h"
#include "internal.h"
#include "tables.h"

static unsigned long pfn_of(const void *addr)
{
	return PHYS_PFN(__pa(addr));
}

static void test_frames_are_what_keys_say(struct kunit *test)
{
	void *ordinary = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ordinary);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn_of(ordinary)),
			KPKEYS_FRAME_ORDINARY);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(page_to_pfn(kpkeys_test_ptp)),
			KPKEYS_FRAME_TABLE);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn_of(lm_alias(&kpkeys_state))),
			KPKEYS_FRAME_STATE);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(~0UL >> PAGE_SHIFT),
			KPKEYS_FRAME_ORDINARY);
}

/* One that goes back to the page allocator is anybody's again. */
static void test_frames_leave(struct kunit *test)
{
	unsigned long addr = __get_free_page(GFP_KERNEL);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_EQ(test, kpkeys_set_pkey((void *)addr, 1,
					      KPKEYS_PKEY_PGTABLES, false), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn_of((void *)addr)),
			KPKEYS_FRAME_TABLE);
	KUNIT_ASSERT_EQ(test, kpkeys_set_pkey((void *)addr, 1,
					      KPKEYS_PKEY_DEFAULT, false), 0);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn_of((void *)addr)),
			KPKEYS_FRAME_ORDINARY);
	free_page(addr);
}

static void test_checker_sees_frame(struct kunit *test)
{
	void *addr = page_address(kpkeys_test_ptp);
	struct kpkeys_check *check = kunit_kzalloc(test, sizeof(*check),
						   GFP_KERNEL);
	u8 frame;

	KUNIT_ASSERT_NOT_NULL(test, check);
	frame = kpkeys_test_set_frame(addr, KPKEYS_FRAME_ORDINARY);
	kpkeys_check(check);
	kpkeys_test_set_frame(addr, frame);
	KUNIT_EXPECT_FALSE(test, check->ok);
	KUNIT_EXPECT_EQ(test, check->misentered, 1);
	kpkeys_test_expect_clean(test);
}

/* A run is looked at from end to end. */
static void test_runs_are_looked_at(struct kunit *test)
{
	unsigned long pfn = page_to_pfn(kpkeys_test_ptp);

	while (pfn && kpkeys_frame(pfn - 1) != KPKEYS_FRAME_ORDINARY)
		pfn--;
	KUNIT_EXPECT_TRUE(test, kpkeys_are_ordinary(pfn - 1, 1));
	KUNIT_EXPECT_FALSE(test, kpkeys_are_ordinary(pfn - 1, 2));
}

#define ENTRY	page_address(kpkeys_test_ptp)

static bool is_written(void)
{
	bool written = READ_ONCE(*(u64 *)ENTRY);

	set_pte(ENTRY, __pte(0));
	return written;
}

static bool takes_pte(unsigned long pfn, pgprot_t prot)
{
	set_pte(ENTRY, pfn_pte(pfn, prot));
	return is_written();
}

static bool takes_ptes(unsigned long pfn, pgprot_t prot)
{
	set_ptes(&init_mm, 0, ENTRY, pfn_pte(pfn, prot), 1);
	return is_written();
}

static void test_tables_are_not_mapped(struct kunit *test)
{
	unsigned long pfn = pfn_of(current->active_mm->pgd);
	pgprot_t keyed = kpkeys_test_prot(PAGE_KERNEL, KPKEYS_PKEY_PGTABLES);

	KUNIT_EXPECT_FALSE(test, takes_pte(pfn, PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, takes_ptes(pfn, PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, takes_ptes(pfn, PAGE_READONLY));
	KUNIT_EXPECT_FALSE(test, takes_pte(pfn, keyed));
}

/* Somebody may have what the table says cleared. */
static void test_zero_is_not_mapped(struct kunit *test)
{
	void *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, takes_ptes(pfn_of(page), PAGE_KERNEL));
	kpkeys_test_set_frame(page, 0);
	KUNIT_EXPECT_FALSE(test, takes_pte(pfn_of(page), PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, takes_ptes(pfn_of(page), PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, kpkeys_page_is_free(page));
	kpkeys_test_set_frame(page, KPKEYS_FRAME_ORDINARY);
}

static void test_state_is_not_mapped(struct kunit *test)
{
	unsigned long pfn = pfn_of(lm_alias(&kpkeys_state));

	KUNIT_EXPECT_FALSE(test, takes_ptes(pfn, PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, takes_ptes(pfn, PAGE_READONLY));
}

static void test_text_is_mapped_readonly(struct kunit *test)
{
	unsigned long text = kpkeys_test_enter_text();

	KUNIT_EXPECT_EQ(test, kpkeys_frame(text), KPKEYS_FRAME_READONLY);
	KUNIT_EXPECT_FALSE(test, takes_ptes(text, PAGE_KERNEL));
	KUNIT_EXPECT_FALSE(test, takes_ptes(text, PAGE_SHARED));
	KUNIT_EXPECT_TRUE(test, takes_ptes(text, PAGE_READONLY));
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
}

static void test_ordinary_is_mapped(struct kunit *test)
{
	void *ordinary = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ordinary);
	KUNIT_EXPECT_TRUE(test, takes_pte(pfn_of(ordinary), PAGE_KERNEL));
	KUNIT_EXPECT_TRUE(test, takes_ptes(pfn_of(ordinary), PAGE_SHARED));
}

static void test_blocks_are_looked_at(struct kunit *test)
{
	unsigned long pfn = ALIGN_DOWN(kpkeys_test_enter_text(), PTRS_PER_PTE);

	set_pmd(ENTRY, pmd_mkhuge(pfn_pmd(pfn, PAGE_KERNEL)));
	KUNIT_EXPECT_FALSE(test, is_written());
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
}

/* As the section asks that writes it, whoever asked before. */
static void test_sections_look_at_blocks(struct kunit *test)
{
	unsigned long pfn = ALIGN_DOWN(kpkeys_test_enter_text(), PTRS_PER_PTE);

	kpkeys_set_entry(ENTRY, pmd_val(pmd_mkhuge(pfn_pmd(pfn, PAGE_KERNEL))),
			 KPKEYS_LEVEL_PTE);
	KUNIT_EXPECT_FALSE(test, is_written());
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
}

#ifdef CONFIG_X86_64
#define PUD_TABLE	(KPKEYS_FRAME_TABLE | KPKEYS_LEVEL_PUD << 3 | KPKEYS_LINK_ONE << 6)
#define PUD_BITS	(_PAGE_PRESENT | _PAGE_RW | _PAGE_PSE | _PAGE_NX | \
			 (u64)KPKEYS_PKEY_PGTABLES << _PAGE_BIT_PKEY_BIT0)

/* Its first 2 MiB have no state; what has is somewhere in the 1 GiB. */
static void test_all_of_a_block_is_looked_at(struct kunit *test)
{
	u64 block = ALIGN_DOWN((u64)pfn_of(lm_alias(&kpkeys_state)) << PAGE_SHIFT, PUD_SIZE);
	u8 frame = kpkeys_test_set_frame(ENTRY, PUD_TABLE);
	bool written;

	kpkeys_set_kernel_entry(ENTRY, block | PUD_BITS);
	written = is_written();
	kpkeys_test_set_frame(ENTRY, frame);
	KUNIT_EXPECT_FALSE(test, written);
}
#endif

static void test_tables_are_linked_only(struct kunit *test)
{
	void *ordinary = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ordinary);
	set_pmd(ENTRY, __pmd(TABLE_BITS | __pa(ordinary)));
	KUNIT_EXPECT_FALSE(test, is_written());
	set_pud(ENTRY, __pud(TABLE_BITS | __pa(ordinary)));
	KUNIT_EXPECT_FALSE(test, is_written());
}

/* What nobody runs on, as kexec builds it, is not looked at. */
static void test_other_tables_map_anything(struct kunit *test)
{
	pte_t *entry = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	set_pmd((pmd_t *)entry, __pmd(TABLE_BITS | __pa(entry)));
	KUNIT_EXPECT_NE(test, pte_val(*entry), 0);
}

static bool takes_key(void *addr, unsigned int nr, int pkey)
{
	return !kpkeys_set_pkey(addr, nr, pkey, false);
}

/* As part of a block that a list of the page allocator led to. */
static void test_state_gets_no_key(struct kunit *test)
{
	void *addr = lm_alias(&kpkeys_state);
	unsigned long pfn = pfn_of(addr);

	KUNIT_EXPECT_FALSE(test, takes_key(addr, 1, KPKEYS_PKEY_PGTABLES));
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn), KPKEYS_FRAME_STATE);
	KUNIT_EXPECT_FALSE(test, takes_key(addr, 1, KPKEYS_PKEY_DEFAULT));
	KUNIT_EXPECT_EQ(test, kpkeys_frame(pfn), KPKEYS_FRAME_STATE);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)addr),
			KPKEYS_PKEY_STATE);
}

static void test_text_gets_no_key(struct kunit *test)
{
	unsigned long text = kpkeys_test_enter_text();

	KUNIT_EXPECT_FALSE(test, takes_key(lm_alias(KPKEYS_TEST_TEXT), 1, KPKEYS_PKEY_PGTABLES));
	KUNIT_EXPECT_EQ(test, kpkeys_frame(text), KPKEYS_FRAME_READONLY);
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
}

#ifdef CONFIG_ARM64
/* The CPU finds the table, whatever number pte_pfn() gives. */
static void test_ignored_bits_are_no_address(struct kunit *test)
{
	pte_t pte = pfn_pte(pfn_of(current->active_mm->pgd), PAGE_KERNEL_RO);

	if (PHYS_MASK_SHIFT > 48)
		kunit_skip(test, "no bit of an address is ignored");
	pte = set_pte_bit(pte, __pgprot(BIT(48)));
	KUNIT_EXPECT_NE(test, pte_pfn(pte), pfn_of(current->active_mm->pgd));
	KUNIT_EXPECT_EQ(test, kpkeys_present_pfn(pte), pfn_of(current->active_mm->pgd));
	set_pte(ENTRY, pte);
	KUNIT_EXPECT_FALSE(test, is_written());
	set_ptes(&init_mm, 0, ENTRY, pte, 1);
	KUNIT_EXPECT_FALSE(test, is_written());
}

static bool slot_maps_text(enum fixed_addresses slot, unsigned long text)
{
	struct kpkeys_leaf leaf;
	bool maps;

	set_fixmap(slot, PFN_PHYS(text));
	maps = arch_kpkeys_leaf(__fix_to_virt(slot), &leaf);
	clear_fixmap(slot);
	return maps;
}

/* But for the one that patches it. */
static void test_fixmap_maps_no_text(struct kunit *test)
{
	unsigned long text = kpkeys_test_enter_text();

	KUNIT_EXPECT_FALSE(test, slot_maps_text(FIX_PTE, text));
	kpkeys_test_set_frame(KPKEYS_TEST_TEXT, KPKEYS_FRAME_ORDINARY);
	KUNIT_EXPECT_TRUE(test, slot_maps_text(FIX_PTE, text));
}
#endif

static int frames_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static struct kunit_case frames_cases[] = {
	KUNIT_CASE(test_frames_are_what_keys_say),
	KUNIT_CASE(test_frames_leave),
	KUNIT_CASE(test_checker_sees_frame),
	KUNIT_CASE(test_runs_are_looked_at),
	KUNIT_CASE(test_tables_are_not_mapped),
	KUNIT_CASE(test_zero_is_not_mapped),
	KUNIT_CASE(test_state_is_not_mapped),
	KUNIT_CASE(test_text_is_mapped_readonly),
	KUNIT_CASE(test_ordinary_is_mapped),
	KUNIT_CASE(test_blocks_are_looked_at),
	KUNIT_CASE(test_sections_look_at_blocks),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_all_of_a_block_is_looked_at),
#endif
	KUNIT_CASE(test_tables_are_linked_only),
	KUNIT_CASE(test_other_tables_map_anything),
	KUNIT_CASE(test_state_gets_no_key),
	KUNIT_CASE(test_text_gets_no_key),
#ifdef CONFIG_ARM64
	KUNIT_CASE(test_ignored_bits_are_no_address),
	KUNIT_CASE(test_fixmap_maps_no_text),
#endif
	{}
};

static struct kunit_suite frames_suite = {
	.name = "kpkeys-frames",
	.init = frames_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = frames_cases,
};

kunit_test_suite(frames_suite);
