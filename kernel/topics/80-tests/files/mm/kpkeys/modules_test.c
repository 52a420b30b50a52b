// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: text that comes and goes is written by nobody. */
#include <linux/delay.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_patching.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/set_memory.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/kpkeys_leaf.h>

#include "arrivals.h"
#include "internal.h"
#include "tables.h"

static void *text;
static struct page *page;

static void new_text(void)
{
	text = vmalloc(PAGE_SIZE);
	if (!text)
		return;
	set_vm_flush_reset_perms(text);
	page = vmalloc_to_page(text);
}

static enum kpkeys_frame frame(void)
{
	return kpkeys_frame(page_to_pfn(page));
}

static int text_comes(void)
{
	return kpkeys_make_text((unsigned long)text, 1);
}

static bool is_run(void *at)
{
	unsigned long addr = (unsigned long)at;
	pte_t pte = ptep_get(pte_offset_kernel(pmd_off_k(addr), addr));

	return arch_kpkeys_leaf_runs(pte_val(pte));
}

static void test_text_is_run(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, is_run(text));
	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	KUNIT_EXPECT_TRUE(test, is_run(text));
}

static void test_ordinary_page_is_not_run(struct kunit *test)
{
	set_memory_x((unsigned long)text, 1);
	KUNIT_EXPECT_FALSE(test, is_run(text));
	set_memory_rox((unsigned long)text, 1);
	KUNIT_EXPECT_FALSE(test, is_run(text));
}

static void test_page_table_is_not_run(struct kunit *test)
{
	void *table = page_address(kpkeys_test_ptp);

	set_memory_x((unsigned long)table, 1);
	KUNIT_EXPECT_FALSE(test, is_run(table));
}

#ifdef CONFIG_X86
/* Hibernation's restore, behind which nothing is as it was. */
static void test_ordinary_page_is_run_for_a_restore(struct kunit *test)
{
	kpkeys_restore_runs();
	set_memory_x((unsigned long)text, 1);
	KUNIT_EXPECT_TRUE(test, is_run(text));
	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_state.only_text_runs = true;
}
#endif

static void test_text_is_not_made_writable(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_MODULE);
	set_memory_rw((unsigned long)text, 1);
	set_direct_map_default_noflush(page);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(text, "", 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(page_address(page), "", 1),
			-EFAULT);
}

static void test_text_is_not_mapped_writable(struct kunit *test)
{
	void *alias;
	u8 copy;

	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, alias);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(alias, "", 1), -EFAULT);
	vunmap(alias);
	alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL_RO);
	KUNIT_ASSERT_NOT_NULL(test, alias);
	/* A section would write past that, were it for write protection. */
	if (arch_kpkeys_has_keys())
		KUNIT_EXPECT_MEMEQ(test, alias, text, PAGE_SIZE);
	else
		KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&copy, alias, 1), -EFAULT);
	vunmap(alias);
}

static void test_writable_page_is_no_text(struct kunit *test)
{
	void *alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, alias);
	KUNIT_EXPECT_EQ(test, text_comes(), -EPERM);
	KUNIT_EXPECT_FALSE(test, is_run(text));
	/* Whoever was told that, and whatever his stack says by then. */
	set_memory_rox((unsigned long)text, 1);
	KUNIT_EXPECT_FALSE(test, is_run(text));
	vunmap(alias);
}

static void turn_back(void)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_change_frame_now(page_to_pfn(page), KPKEYS_FRAME_COMING,
				KPKEYS_FRAME_ORDINARY);
}

/* It is not written any more, and who can is still looked for. */
static void test_text_that_comes_is_not_run(struct kunit *test)
{
	set_memory_ro((unsigned long)text, 1);
	kpkeys_arrivals_begin();
	KUNIT_EXPECT_TRUE(test, kpkeys_arrivals_come(page_to_pfn(page)));
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_MODULE);
	set_memory_rox((unsigned long)text, 1);
	KUNIT_EXPECT_FALSE(test, is_run(text));
	set_memory_rw((unsigned long)text, 1);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(text, "", 1), -EFAULT);
	kpkeys_arrivals_end();
	turn_back();
}

static void test_pages_of_other_kinds_are_no_text(struct kunit *test)
{
	unsigned long table = (unsigned long)page_address(kpkeys_test_ptp);

	KUNIT_EXPECT_EQ(test, kpkeys_text_came(table, 1), -EPERM);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(page_to_pfn(kpkeys_test_ptp)),
			KPKEYS_FRAME_TABLE);
}

static void test_mapped_text_stays(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	KUNIT_EXPECT_FALSE(test, kpkeys_text_leaves(&page, 1));
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_MODULE);
	KUNIT_EXPECT_EQ(test, kpkeys_state.arrivals.leaving, 0);
}

static void test_text_leaves(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	get_page(page);
	vfree(text);
	text = NULL;
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_ORDINARY);
	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(page_address(page), "", 1), 0);
	put_page(page);
}

/* For some time, so that a slow machine comes to an end. */
static int key_something(void *unused)
{
	unsigned int i;

	for (i = 0; !kthread_should_stop(); i++) {
		if (i < 300) {
			guard(kpkeys_hardened_pgtables)();
			atomic64_inc(&kpkeys_state.keyings);
		}
		udelay(100);
		cond_resched();
	}
	return 0;
}

static void test_text_leaves_while_others_key(struct kunit *test)
{
	struct task_struct *other = kthread_run(key_something, NULL, "kpkeys-test");
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	for (i = 0; i < 20 && text; i++) {
		KUNIT_EXPECT_EQ(test, text_comes(), 0);
		get_page(page);
		vfree(text);
		KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_ORDINARY);
		put_page(page);
		new_text();
	}
	kthread_stop(other);
}

/* As where the lock that keeps searches apart is forged. */
static void test_search_that_began_finds_no_text(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, text_comes(), 0);
	kpkeys_arrivals_begin();
	kpkeys_arrivals_search();
	KUNIT_EXPECT_FALSE(test, kpkeys_modules_are_sound());
	KUNIT_EXPECT_FALSE(test, kpkeys_modules_may_leave());
	KUNIT_EXPECT_FALSE(test, kpkeys_arrivals_leave(page_to_pfn(page)));
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_MODULE);
	kpkeys_arrivals_end();
}

static void test_search_that_began_is_for_no_text(struct kunit *test)
{
	kpkeys_arrivals_begin();
	kpkeys_arrivals_search();
	KUNIT_EXPECT_FALSE(test, kpkeys_arrivals_come(page_to_pfn(page)));
	KUNIT_EXPECT_EQ(test, frame(), KPKEYS_FRAME_ORDINARY);
	kpkeys_arrivals_end();
}

/* All holes share a page of the table of frames. */
static void test_hole_is_no_text(struct kunit *test)
{
	unsigned long index = 0;

	while (index < kpkeys_frames.nr && kpkeys_frames.page[index] != kpkeys_no_frames)
		index++;
	KPKEYS_TEST_REQUIRES(test, index < kpkeys_frames.nr);
	kpkeys_arrivals_begin();
	KUNIT_EXPECT_FALSE(test, kpkeys_arrivals_come(index * KPKEYS_FRAMES_PER_PAGE + 1));
	KUNIT_EXPECT_EQ(test, kpkeys_no_frames[1], KPKEYS_FRAME_ORDINARY);
	kpkeys_arrivals_end();
}

/* A CPU may know how to write it by a mapping that is gone. */
static void test_text_is_sound_behind_a_flush(struct kunit *test)
{
	set_memory_ro((unsigned long)text, 1);
	kpkeys_arrivals_begin();
	KUNIT_EXPECT_TRUE(test, kpkeys_arrivals_come(page_to_pfn(page)));
	kpkeys_arrivals_search();
	KUNIT_EXPECT_TRUE(test, kpkeys_modules_are_sound());
	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_state.arrivals.keyed = kpkeys_nr_keyings() + 1;
	KUNIT_EXPECT_FALSE(test, kpkeys_modules_are_sound());
	kpkeys_arrivals_end();
	turn_back();
}

#ifdef CONFIG_KPROBES
/* Where ftrace calls there is no slot. */
static noinline notrace int probed(int value)
{
	return value + 1;
}

static int handler(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void *slot_of(struct kprobe *p)
{
#ifdef CONFIG_ARM64
	return kpkeys_test_arm64_slot(p);
#else
	return p->ainsn.insn;
#endif
}

static void test_slots_of_probes_are_text(struct kunit *test)
{
	struct kprobe p = { .addr = (void *)probed, .pre_handler = handler };
	unsigned long slot;

	KPKEYS_TEST_REQUIRES(test, kpkeys_kernel_probes);
	KUNIT_ASSERT_EQ(test, register_kprobe(&p), 0);
	slot = (unsigned long)slot_of(&p);
	KUNIT_EXPECT_NE(test, slot, 0);
	KUNIT_EXPECT_EQ(test, kpkeys_frame(PHYS_PFN(arch_kpkeys_phys(slot))),
			KPKEYS_FRAME_MODULE);
	KUNIT_EXPECT_EQ(test, probed(1), 2);
	unregister_kprobe(&p);
}
#endif

static int modules_test_init(struct kunit *test)
{
	int err;

	KPKEYS_TEST_REQUIRES(test, kpkeys_modules_are_entered());
	err = kpkeys_test_init(test);
	new_text();
	return err ?: (text ? 0 : -ENOMEM);
}

static void modules_test_exit(struct kunit *test)
{
	vfree(text);
	kpkeys_test_exit(test);
}

static struct kunit_case modules_cases[] = {
	KUNIT_CASE(test_text_is_sound_behind_a_flush),
	KUNIT_CASE(test_text_is_run),
	KUNIT_CASE(test_ordinary_page_is_not_run),
	KUNIT_CASE(test_page_table_is_not_run),
#ifdef CONFIG_X86
	KUNIT_CASE(test_ordinary_page_is_run_for_a_restore),
#endif
	KUNIT_CASE(test_text_is_not_made_writable),
	KUNIT_CASE(test_text_is_not_mapped_writable),
	KUNIT_CASE(test_writable_page_is_no_text),
	KUNIT_CASE(test_text_that_comes_is_not_run),
	KUNIT_CASE(test_pages_of_other_kinds_are_no_text),
	KUNIT_CASE(test_mapped_text_stays),
	KUNIT_CASE(test_text_leaves),
	KUNIT_CASE(test_text_leaves_while_others_key),
	KUNIT_CASE(test_search_that_began_finds_no_text),
	KUNIT_CASE(test_search_that_began_is_for_no_text),
	KUNIT_CASE(test_hole_is_no_text),
#ifdef CONFIG_KPROBES
	KUNIT_CASE(test_slots_of_probes_are_text),
#endif
	{}
};

static struct kunit_suite modules_suite = {
	.name = "kpkeys-modules",
	.init = modules_test_init,
	.exit = modules_test_exit,
	.test_cases = modules_cases,
};

kunit_test_suite(modules_suite);
