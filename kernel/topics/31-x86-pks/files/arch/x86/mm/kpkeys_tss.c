// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: the pages of a TSS, a GDT and an LDT that the CPU reads. */
#include <linux/cc_platform.h>
#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/percpu.h>

#include <asm/cpu_entry_area.h>
#include <asm/cpufeature.h>
#include <asm/desc.h>
#include <asm/kpkeys_gdt.h>
#include <asm/kpkeys_tss.h>
#include <asm/page_64_types.h>

static_assert(offsetof(struct tss_struct, entry_scratch) == PAGE_SIZE);

/* What cpu_init() and cpu_init_exception_handling() would write. */
static void __init fill(struct x86_hw_tss *tss, unsigned int cpu)
{
	struct cea_exception_stacks *stacks = per_cpu(cea_exception_stacks, cpu);

	tss->sp0 = (unsigned long)(cpu_entry_stack(cpu) + 1);
	if (cpu_feature_enabled(X86_FEATURE_FRED))
		return;
	tss->ist[IST_INDEX_DF] = CEA_ESTACK_TOP(stacks, DF);
	tss->ist[IST_INDEX_NMI] = CEA_ESTACK_TOP(stacks, NMI);
	tss->ist[IST_INDEX_DB] = CEA_ESTACK_TOP(stacks, DB);
	tss->ist[IST_INDEX_MCE] = CEA_ESTACK_TOP(stacks, MCE);
	tss->ist[IST_INDEX_VC] = CEA_ESTACK_TOP(stacks, VC);
}

/**
 * arch_kpkeys_cpu_page - the pages that the CPU reads of its own
 * @cpu: any that there may be
 * @nr: which one: of the TSS, the GDT, the LDT
 *
 * Nobody writes the stacks again: a CPU that starts later would take them from
 * ordinary memory.
 *
 * Return: the page, or NULL. In an SEV-ES guest NMIs change a stack.
 */
void * __init arch_kpkeys_cpu_page(unsigned int cpu, unsigned int nr)
{
	struct tss_struct *tss = &per_cpu(cpu_tss_rw, cpu);

	if (nr > 1)
		return kpkeys_ldt_page(cpu, nr - 2);
	if (nr) {
		kpkeys_fill_gdt(cpu);
		return &per_cpu(gdt_page, cpu);
	}
	fill(&tss->x86_tss, cpu);
	return cc_platform_has(CC_ATTR_GUEST_STATE_ENCRYPT) ? NULL : tss;
}
