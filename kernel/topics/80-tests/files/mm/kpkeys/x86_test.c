// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what x86-64 must not believe ordinary memory about, and that the
 * checker finds registers that do not protect.
 */
#include <linux/delay.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_roots.h>
#include <linux/mem_encrypt.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/cpu_entry_area.h>
#include <asm/desc.h>
#include <asm/kpkeys_compat.h>
#include <asm/kpkeys_mm.h>
#include <asm/mmu_context.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/pgtable.h>
#include <asm/realmode.h>
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
		wrmsrq(number, 0);
		rdmsrq(MSR_IA32_PKRS, after);
	}
	KUNIT_EXPECT_EQ(test, after, (u64)ARCH_KPKEYS_REG_DEFAULT);
	KUNIT_EXPECT_NE(test, wrmsrq_safe(number, 0), 0);
}

/* The CPU would write there. The emulator has no such register, and takes whatever is written. */
static void test_no_address_for_the_cpu(struct kunit *test)
{
	unsigned int number = MSR_IA32_HW_FEEDBACK_PTR;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	OPTIMIZER_HIDE_VAR(number);
	KUNIT_EXPECT_NE(test, wrmsrq_safe(number, __pa(&kpkeys_state) | 1), 0);
}

/* This CPU has no such register: what is refused is counted. */
static unsigned long refused_by_number(u32 number, u64 value)
{
	unsigned long before = kpkeys_test_violations();

	OPTIMIZER_HIDE_VAR(number);
	wrmsrq_safe(number, value);
	return kpkeys_test_violations() - before;
}

/* Of x2APIC, and of Hyper-V. */
static void test_no_start_by_number(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	KUNIT_EXPECT_EQ(test, refused_by_number(0x830, 0), 1);
	KUNIT_EXPECT_EQ(test, refused_by_number(0x40000071, 0), 1);
}

/* A hypervisor writes there, past all keys. */
static void test_no_address_for_the_host(struct kunit *test)
{
	static const u32 numbers[] = { 0x11, 0x12, 0x4b564d00, 0x4b564d04, 0x40000000, 0x40000001,
				       0x40000021, 0x40000073, 0x40000083, 0x40001082 };
	u64 keyed = __pa_symbol(&kpkeys_state), ordinary = virt_to_phys(test);
	unsigned int i;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		KUNIT_EXPECT_EQ(test, refused_by_number(numbers[i], keyed | 1), 1);
		KUNIT_EXPECT_EQ(test, refused_by_number(numbers[i], keyed - 3), 1);
		KUNIT_EXPECT_EQ(test, refused_by_number(numbers[i], ordinary | 1), 0);
		KUNIT_EXPECT_EQ(test, refused_by_number(numbers[i], 0), 0);
	}
}

/* As root may by an ioctl(). */
static void test_register_by_registers(struct kunit *test)
{
	u32 regs[8] = { [1] = MSR_IA32_PKRS };
	u64 after;
	int err;

	KPKEYS_TEST_REQUIRES(test, kpkeys_uses_pks() &&
			     kpkeys_state.mode == KPKEYS_ENFORCE);
	preempt_disable();
	err = wrmsr_safe_regs_on_cpu(smp_processor_id(), regs);
	rdmsrq(MSR_IA32_PKRS, after);
	/* Whose end shuts it, whatever it was. */
	scoped_guard(kpkeys_hardened_pgtables)
		barrier();
	preempt_enable();
	KUNIT_EXPECT_NE(test, err, 0);
	KUNIT_EXPECT_EQ(test, after, (u64)ARCH_KPKEYS_REG_DEFAULT);
}

/* Where it is written the kernel dies. */
static void test_base_by_number(struct kunit *test)
{
	unsigned int number = MSR_GS_BASE;
	u64 base;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	OPTIMIZER_HIDE_VAR(number);
	scoped_guard(irqsave) {
		rdmsrq(MSR_GS_BASE, base);
		wrmsrq(number, base ^ PAGE_SIZE);
		wrmsrq(number, base);
	}
	KUNIT_EXPECT_EQ(test, wrmsrq_safe(number, base), 0);
	KUNIT_EXPECT_NE(test, wrmsrq_safe(number, base ^ PAGE_SIZE), 0);
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

#ifdef CONFIG_MODIFY_LDT_SYSCALL
#define LDT_SIZE	(LDT_ENTRIES * LDT_ENTRY_SIZE)

static bool can_write(void *addr)
{
	u64 word = READ_ONCE(*(u64 *)addr);

	return !copy_to_kernel_nofault(addr, &word, sizeof(word));
}

/* That of each CPU: by the address where it is written, and where it is read. */
static void test_ldt_is_state(struct kunit *test)
{
	void *ldt, *fixed;
	unsigned int cpu;
	size_t at;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr &&
			     kpkeys_state.mode == KPKEYS_ENFORCE);
	for_each_possible_cpu(cpu) {
		ldt = per_cpu(gdt_page, cpu).ldt;
		fixed = get_cpu_entry_area(cpu)->ldt;
		KUNIT_EXPECT_PTR_EQ(test, fixed, (void *)
			get_desc_base(get_cpu_gdt_rw(cpu) + GDT_ENTRY_LDT) +
			((u64)*(u32 *)(get_cpu_gdt_rw(cpu) + GDT_ENTRY_LDT + 1) << 32));
		for (at = 0; at < LDT_SIZE; at += PAGE_SIZE) {
			KUNIT_EXPECT_EQ(test, frame_of(ldt + at), KPKEYS_FRAME_STATE);
			KUNIT_EXPECT_EQ(test, __pa(ldt + at),
					arch_kpkeys_phys((unsigned long)fixed + at));
			KUNIT_EXPECT_FALSE(test, can_write(ldt + at));
			KUNIT_EXPECT_FALSE(test, can_write(fixed + at));
		}
	}
}

#define DATA_OF_USER	0x00cff3000000ffffUL
#define CALL_GATE	0x0000ec0000100000UL	/* for everybody */
#define CODE_OF_KERNEL	0x00af9b000000ffffUL
#define CODE_IN_64_BIT	0x00affb000000ffffUL	/* of user space, and no LDT has it */
#define UNUSED_DATA	0x00cff2000000ffffUL	/* the CPU would write to it */
#define FREE_TSS	0x0000890000000067UL

static bool has_segment(unsigned int entry)
{
	unsigned int limit = 0;

	asm volatile("lsl %1, %0" : "+r" (limit) : "r" (entry << 3 | 7) : "cc");
	return limit;
}

/* Returns which of the first entries and the last one the CPU has. */
static void load_words(const u64 *words, unsigned int nr, u64 *seen, bool *last, bool *next)
{
	guard(irqsave)();
	set_ldt(words, nr);
	memcpy(seen, raw_cpu_read(gdt_page.ldt), nr * sizeof(*words));
	*last = has_segment(nr - 1);
	*next = has_segment(nr);
	load_mm_ldt(this_cpu_read(cpu_tlbstate.loaded_mm));
}

#define NR_WORDS	(PAGE_SIZE / sizeof(u64) + 88)

/* Whatever leads to them, what a process is to have is ordinary memory. */
static void test_ldt_has_users_segments(struct kunit *test)
{
	static const u64 refused[] = { CALL_GATE, ~0U, CODE_OF_KERNEL,
				       CODE_IN_64_BIT, UNUSED_DATA, FREE_TSS };
	unsigned long before = kpkeys_test_violations();
	u64 *words, *seen;
	bool last, next;
	size_t i;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	words = kunit_kcalloc(test, NR_WORDS, sizeof(u64), GFP_KERNEL);
	seen = kunit_kcalloc(test, NR_WORDS, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, words);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	words[0] = words[NR_WORDS - 1] = DATA_OF_USER;
	memcpy(words + 1, refused, sizeof(refused));
	load_words(words, NR_WORDS, seen, &last, &next);
	memset(words + 1, 0, sizeof(refused));
	for (i = 0; i < NR_WORDS; i++)
		KUNIT_EXPECT_EQ(test, words[i], seen[i]);
	KUNIT_EXPECT_TRUE(test, last);
	KUNIT_EXPECT_FALSE(test, next);
	KUNIT_EXPECT_EQ(test, before + ARRAY_SIZE(refused), kpkeys_test_violations());
}

static const char *finding_with_gate(void)
{
	const char *finding;
	u64 *ldt, old;

	guard(irqsave)();
	ldt = raw_cpu_read(gdt_page.ldt);
	old = ldt[LDT_ENTRIES - 1];
	scoped_guard(kpkeys_hardened_pgtables)
		ldt[LDT_ENTRIES - 1] = CALL_GATE;
	finding = kpkeys_check_cpu();
	scoped_guard(kpkeys_hardened_pgtables)
		ldt[LDT_ENTRIES - 1] = old;
	return finding;
}

static void test_checker_sees_gate(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KUNIT_EXPECT_STREQ(test, "LDT", finding_with_gate());
	KUNIT_EXPECT_NULL(test, kpkeys_check_cpu());
}

/* More than a table has: what is behind it is other memory. */
static void test_ldt_has_an_end(struct kunit *test)
{
	u64 *words;
	u16 limit;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	words = kunit_kcalloc(test, LDT_ENTRIES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, words);
	scoped_guard(irqsave) {
		set_ldt(words, 2 * LDT_ENTRIES + 1);
		limit = get_desc_limit(get_current_gdt_rw() + GDT_ENTRY_LDT);
		load_mm_ldt(this_cpu_read(cpu_tlbstate.loaded_mm));
	}
	KUNIT_EXPECT_EQ(test, limit, LDT_SIZE - 1);
}

/* Isolation would map it for each process, in both halves of its tables. */
static void test_ldt_has_no_mapping(struct kunit *test)
{
#ifdef CONFIG_MITIGATION_PAGE_TABLE_ISOLATION
	struct desc_struct segment = {};
	struct ldt_struct ldt = { .entries = &segment, .nr_entries = 1, .slot = -1 };
	struct mm_struct *from, *to;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled() &&
			     boot_cpu_has(X86_FEATURE_PTI));
	from = mm_alloc();
	to = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, from);
	KUNIT_ASSERT_NOT_NULL(test, to);
	from->context.ldt = &ldt;
	KUNIT_EXPECT_EQ(test, 0, ldt_dup_context(from, to));
	from->context.ldt = NULL;
	KUNIT_EXPECT_EQ(test, pgd_val(*pgd_offset(to, LDT_BASE_ADDR)), 0);
	mmdrop(to);
	mmdrop(from);
#endif
}
#endif

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

static bool fill(struct page *table, unsigned long pfn)
{
	return kpkeys_fill_table(page_address(table),
				 pfn_pte(pfn, __pgprot(__PAGE_KERNEL)));
}

/* What it is to be, and what its entries map, lay on a stack: no page table, writable. */
static void test_split_asks_in_its_section(struct kunit *test)
{
	unsigned long nothing = 1UL << 33;
	struct page *table, *victim;
	pte_t *last;

	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr &&
			     kpkeys_state.mode == KPKEYS_ENFORCE);
	table = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0, NUMA_NO_NODE);
	victim = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_NOT_NULL(test, victim);
	last = (pte_t *)page_address(table) + PTRS_PER_PTE - 1;
	KUNIT_EXPECT_FALSE(test, fill(table, nothing));
	kpkeys_begin_table(page_address(table), KPKEYS_LEVEL_PTE);
	KUNIT_EXPECT_FALSE(test, fill(table, page_to_pfn(victim) + 1 - PTRS_PER_PTE));
	KUNIT_EXPECT_TRUE(test, pte_none(*last));
	KUNIT_EXPECT_TRUE(test, fill(table, nothing));
	KUNIT_EXPECT_EQ(test, pte_pfn(*last), nothing + PTRS_PER_PTE - 1);
	kpkeys_ptp_free(victim, 0);
	kpkeys_ptp_free(table, 0);
}

static atomic_t nmis;

static int count_nmi(unsigned int type, struct pt_regs *regs)
{
	atomic_inc(&nmis);
	return NMI_HANDLED;
}

static int nmis_here(bool in_use)
{
	atomic_set(&nmis, 0);
	scoped_guard(kpkeys_hardened_pgtables)
		raw_cpu_write(kpkeys_cpu.in_use, in_use);
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	mdelay(10);
	return atomic_read(&nmis);
}

/* Whether it is there a mask says as well, which anybody can write. */
static void test_gone_cpu_handles_no_nmi(struct kunit *test)
{
	int gone, here;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	KUNIT_ASSERT_EQ(test, 0, register_nmi_handler(NMI_LOCAL, count_nmi, 0, "kpkeys-test"));
	scoped_guard(irqsave) {
		gone = nmis_here(false);
		here = nmis_here(true);
	}
	unregister_nmi_handler(NMI_LOCAL, "kpkeys-test");
	KUNIT_EXPECT_EQ(test, gone, 0);
	KUNIT_EXPECT_EQ(test, here, 1);
}

/* In what an interrupt ahead of it changed. */
static void test_section_goes_forwards(struct kunit *test)
{
	unsigned long flags;

	KPKEYS_TEST_REQUIRES(test, kpkeys_pgtables_enabled());
	asm volatile("std" : : : "cc", "memory");
	scoped_guard(kpkeys_hardened_pgtables)
		flags = native_save_fl();
	asm volatile("cld" : : : "cc", "memory");
	KUNIT_EXPECT_EQ(test, flags & X86_EFLAGS_DF, 0);
}

#define ID_OF_NOBODY	0x1234

/* Whatever vector waited on a stack; all else is sent as it is. */
static void test_cpus_start_at_own_code(struct kunit *test)
{
	u32 own = APIC_DM_STARTUP | PHYS_PFN(real_mode_header->trampoline_start);
	u32 other = APIC_DM_STARTUP | 8;

	KUNIT_EXPECT_EQ(test, kpkeys_checked_icr(other, ID_OF_NOBODY),
			kpkeys_pgtables_enabled() ? own : other);
	KUNIT_EXPECT_EQ(test, kpkeys_checked_icr(APIC_DM_INIT | APIC_INT_ASSERT, ID_OF_NOBODY),
			APIC_DM_INIT | APIC_INT_ASSERT);
	KUNIT_EXPECT_EQ(test, kpkeys_checked_icr(APIC_DM_NMI, 0), APIC_DM_NMI);
	KUNIT_EXPECT_EQ(test, kpkeys_checked_icr(RESCHEDULE_VECTOR, 0), RESCHEDULE_VECTOR);
}

/* The boot CPU would start at the firmware's code. */
static void test_boot_cpu_is_not_reset(struct kunit *test)
{
	static const struct {
		u32 low, id;
	} resets[] = {
		{ APIC_DM_INIT | APIC_INT_ASSERT, 0 },
		{ APIC_DM_INIT | APIC_INT_ASSERT, U32_MAX },
		{ APIC_DM_INIT | APIC_DEST_LOGICAL, ID_OF_NOBODY },
		{ APIC_DM_INIT | APIC_DEST_ALLBUT, ID_OF_NOBODY },
		{ APIC_DM_INIT | APIC_DEST_SELF, ID_OF_NOBODY },
		{ APIC_DM_SMI, ID_OF_NOBODY },
	};
	unsigned int i;

	KPKEYS_TEST_REQUIRES(test, kpkeys_state.mode == KPKEYS_ENFORCE);
	KUNIT_ASSERT_EQ(test, boot_cpu_physical_apicid, 0);
	for (i = 0; i < ARRAY_SIZE(resets); i++)
		KUNIT_EXPECT_EQ(test, kpkeys_checked_icr(resets[i].low, resets[i].id),
				APIC_DM_FIXED | SPURIOUS_APIC_VECTOR);
}

static struct kunit_case x86_cases[] = {
	KUNIT_CASE(test_cpus_start_at_own_code),
	KUNIT_CASE(test_boot_cpu_is_not_reset),
	KUNIT_CASE(test_idt_is_readonly),
	KUNIT_CASE(test_root_is_not_computed),
	KUNIT_CASE(test_register_by_number),
	KUNIT_CASE(test_no_address_for_the_cpu),
	KUNIT_CASE(test_no_start_by_number),
	KUNIT_CASE(test_no_address_for_the_host),
	KUNIT_CASE(test_register_by_registers),
	KUNIT_CASE(test_base_by_number),
	KUNIT_CASE(test_copy_of_cr4),
	KUNIT_CASE(test_checker_sees_root),
	KUNIT_CASE(test_checker_sees_registers),
	KUNIT_CASE(test_refusal_is_not_lost),
	KUNIT_CASE(test_split_asks_in_its_section),
	KUNIT_CASE(test_bug_table_is_constant),
	KUNIT_CASE(test_gone_cpu_handles_no_nmi),
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	KUNIT_CASE(test_ldt_is_state),
	KUNIT_CASE(test_ldt_has_users_segments),
	KUNIT_CASE(test_ldt_has_an_end),
	KUNIT_CASE(test_ldt_has_no_mapping),
	KUNIT_CASE(test_checker_sees_gate),
#endif
	KUNIT_CASE(test_section_goes_forwards),
	{}
};

static struct kunit_suite x86_suite = {
	.name = "kpkeys-x86",
	.test_cases = x86_cases,
};

kunit_test_suite(x86_suite);
