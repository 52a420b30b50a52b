// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what x86-64 must not believe ordinary memory about, and that the
 * checker finds registers that do not protect.
 */
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_roots.h>
#include <linux/mem_encrypt.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include <asm/desc.h>
#include <asm/kpkeys_mm.h>
#include <asm/mmu_context.h>
#include <asm/msr.h>
#include <asm/pgtable.h>
#include <asm/sections.h>
#include <asm/tlbflush.h>

#include "check.h"
#include "internal.h"

extern struct bug_entry __start___bug_table[], __stop___bug_table[];

static enum kpkeys_frame frame_of(const void *addr)
{
	return kpkeys_frame(PHYS_PFN(arch_kpkeys_phys((unsigned long)addr)));
}

static void test_idt_is_readonly(struct kunit *test)
{
	struct desc_ptr idt;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	store_idt(&idt);
	KUNIT_EXPECT_EQ(test, frame_of((void *)idt.address),
			KPKEYS_FRAME_READONLY);
}

/* It will be, when the kernel is up. */
static bool is_constant(const void *addr)
{
	return addr >= (void *)__start_ro_after_init &&
	       addr < (void *)__end_ro_after_init;
}

static void test_root_is_not_computed(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_constant(&phys_base));
#ifdef CONFIG_AMD_MEM_ENCRYPT
	KUNIT_EXPECT_TRUE(test, is_constant(&sme_me_mask));
#endif
}

/* As perf does it: the number comes from memory. */
static void test_register_by_number(struct kunit *test)
{
	unsigned int number = MSR_IA32_PKRS;
	u64 after;

	KPKEYS_TEST_REQUIRES(test, kpkeys_uses_pks() &&
			     kpkeys_state.mode == KPKEYS_ENFORCE);
	OPTIMIZER_HIDE_VAR(number);
	scoped_guard(irqsave) {
		wrmsrl(number, 0);
		rdmsrl(MSR_IA32_PKRS, after);
	}
	KUNIT_EXPECT_EQ(test, after, (u64)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_NE(test, wrmsrl_safe(number, 0), 0);
}

static void test_copy_of_cr4(struct kunit *test)
{
	unsigned long cr4, forged;

	KPKEYS_TEST_REQUIRES(test, kpkeys_uses_pks());
	scoped_guard(irqsave) {
		cr4 = this_cpu_read(cpu_tlbstate.cr4);
		this_cpu_write(cpu_tlbstate.cr4, cr4 & ~X86_CR4_PKS);
		forged = cr4_read_shadow();
		this_cpu_write(cpu_tlbstate.cr4, cr4);
	}
	KUNIT_EXPECT_EQ(test, forged, cr4);
}

#define ROOT_ORDER	get_order(KPKEYS_ROOT_SIZE)

static void put_cr3(unsigned long cr3)
{
	asm volatile("mov %0, %%cr3" : : "r" (cr3) : "memory");
}

static void put_cr4(unsigned long cr4)
{
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

static const char *finding_on_root(unsigned long root)
{
	unsigned long cr3 = __native_read_cr3();
	const char *finding;

	guard(irqsave)();
	put_cr3(root | (cr3 & ~CR3_ADDR_MASK));
	finding = kpkeys_check_cpu();
	put_cr3(cr3);
	return finding;
}

static void test_checker_sees_root(struct kunit *test)
{
	unsigned long copy;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	copy = __get_free_pages(GFP_KERNEL, ROOT_ORDER);
	KUNIT_ASSERT_NE(test, copy, 0);
	memcpy((void *)copy, __va(read_cr3_pa()), KPKEYS_ROOT_SIZE);
	KUNIT_EXPECT_NULL(test, kpkeys_check_cpu());
	KUNIT_EXPECT_STREQ(test, "CR3", finding_on_root(__pa(copy)));
	KUNIT_EXPECT_NULL(test, kpkeys_check_cpu());
	free_pages(copy, ROOT_ORDER);
}

static const char *finding_without_pks(void)
{
	unsigned long cr4 = __read_cr4();
	const char *finding;

	guard(irqsave)();
	put_cr4(cr4 & ~X86_CR4_PKS);
	finding = kpkeys_check_cpu();
	put_cr4(cr4);
	return finding;
}

static const char *finding_when_open(void)
{
	guard(kpkeys_hardened_pgtables)();
	return kpkeys_check_cpu();
}

static void test_checker_sees_registers(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KUNIT_EXPECT_STREQ(test, "REGISTER", finding_when_open());
	KPKEYS_TEST_REQUIRES(test, kpkeys_uses_pks());
	KUNIT_EXPECT_STREQ(test, "CR4", finding_without_pks());
}

/* It says where an interrupted section may go on. */
static void test_bug_table_is_constant(struct kunit *test)
{
	KUNIT_EXPECT_GE(test, (u64)__start___bug_table, (u64)__start_rodata);
	KUNIT_EXPECT_LE(test, (u64)__stop___bug_table, (u64)__end_rodata);
}

/* As modify_ldt() maps it, and the end of a process frees it. */
static void test_ldt_of_user_half(struct kunit *test)
{
#if defined(CONFIG_MODIFY_LDT_SYSCALL) && \
	defined(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION)
	struct mm_struct *mm;
	pgd_t *pgd, *half;
	spinlock_t *ptl;
	pte_t *ptep;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_PTI));
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	ptep = get_locked_pte(mm, LDT_BASE_ADDR, &ptl);
	KUNIT_ASSERT_NOT_NULL(test, ptep);
	pte_unmap_unlock(ptep, ptl);
	pgd = pgd_offset(mm, LDT_BASE_ADDR);
	half = kernel_to_user_pgdp(pgd);
	set_pgd(half, *pgd);
	KUNIT_EXPECT_NE(test, pgd_val(*half), 0);
	ldt_arch_exit_mmap(mm);
	KUNIT_EXPECT_EQ(test, pgd_val(*pgd), 0);
	KUNIT_EXPECT_EQ(test, pgd_val(*half), 0);
	mmdrop(mm);
#endif
}

/* The work that reports it is ordinary memory, and says that it is under way. */
static void test_refusal_is_not_lost(struct kunit *test)
{
	struct irq_work *work;
	bool before, after;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	guard(irqsave)();
	work = this_cpu_ptr(&kpkeys_refusal_work);
	atomic_set(&work->node.a_flags, IRQ_WORK_CLAIMED);
	kpkeys_refuse_quietly("test", "a refusal", work);
	atomic_set(&work->node.a_flags, 0);
	before = raw_cpu_read(kpkeys_cpu.refused);
	kpkeys_task_switch();
	before = before && raw_cpu_read(kpkeys_cpu.refused);
	kpkeys_exit_to_user(false);
	after = raw_cpu_read(kpkeys_cpu.refused);
	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_FALSE(test, after);
}

static struct kunit_case x86_cases[] = {
	KUNIT_CASE(test_idt_is_readonly),
	KUNIT_CASE(test_root_is_not_computed),
	KUNIT_CASE(test_register_by_number),
	KUNIT_CASE(test_copy_of_cr4),
	KUNIT_CASE(test_checker_sees_root),
	KUNIT_CASE(test_checker_sees_registers),
	KUNIT_CASE(test_refusal_is_not_lost),
	KUNIT_CASE(test_bug_table_is_constant),
	KUNIT_CASE(test_ldt_of_user_half),
	{}
};

static struct kunit_suite x86_suite = {
	.name = "kpkeys-x86",
	.test_cases = x86_cases,
};

kunit_test_suite(x86_suite);
