// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: the GDT, and who may write which word of it. */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include <asm/cpu_entry_area.h>
#include <asm/desc.h>
#include <asm/kpkeys_gdt.h>
#include <asm/segment.h>
#include <asm/topology.h>

#include "kpkeys/internal.h"

/* Words of a descriptor */
#define LIMIT		(0xffffUL | 0xfUL << 48)
#define PRESENT		BIT_ULL(47)
#define TYPE(type)	((u64)(type) << 40)

#define gdt_word(entry)	(*(u64 __percpu *)&gdt_page.gdt[entry])

static __always_inline u64 limit_bits(u64 limit)
{
	return (limit & 0xffff) | (limit & 0xf0000) << 32;
}

static u64 base_bits(u64 base)
{
	return (base & 0xffffff) << 16 | (base & 0xff000000) << 32;
}

/* Of one that is no code or data; its other word is the rest of the base. */
static u64 system_segment(u64 base, u64 limit, unsigned int type)
{
	return base_bits(base) | limit_bits(limit) | TYPE(type) | PRESENT;
}

/**
 * kpkeys_fill_gdt - write what a CPU would write to its GDT when it starts
 * @cpu: any that there may be
 *
 * And where the GDT is, which LGDT takes from the same page.
 */
void __init kpkeys_fill_gdt(unsigned int cpu)
{
	struct gdt_page *page = &per_cpu(gdt_page, cpu);
	u64 tss = (u64)&get_cpu_entry_area(cpu)->tss.x86_tss, *word = (u64 *)page->gdt;
	u64 ldt = kpkeys_fill_ldt(cpu);

	word[GDT_ENTRY_CPUNODE] = raw_cpu_read(gdt_word(GDT_ENTRY_CPUNODE)) & ~LIMIT;
	word[GDT_ENTRY_CPUNODE] |=
		limit_bits(vdso_encode_cpunode(cpu, early_cpu_to_node(cpu)));
	word[GDT_ENTRY_TSS] = system_segment(tss, __KERNEL_TSS_LIMIT, DESC_TSS);
	word[GDT_ENTRY_TSS + 1] = tss >> 32;
	word[GDT_ENTRY_LDT] = system_segment(ldt, 0, DESC_LDT);
	word[GDT_ENTRY_LDT + 1] = ldt >> 32;
	page->direct = (struct desc_ptr){ GDT_SIZE - 1, (u64)page->gdt };
	page->fixed = (struct desc_ptr){ GDT_SIZE - 1, (u64)get_cpu_gdt_ro(cpu) };
}

/**
 * kpkeys_load_gdt - have this CPU use its GDT by the address that is read-only
 */
void kpkeys_load_gdt(void)
{
	asm volatile("lgdt " __percpu_arg([at])
		     : : [at] "m" (__my_cpu_var(gdt_page.fixed)));
}

/**
 * kpkeys_load_tr - have this CPU load its TSS
 *
 * With preemption off. LTR wants a TSS that is not busy, and writes that it is.
 */
void kpkeys_load_tr(void)
{
	u64 tss;

	guard(kpkeys_hardened_pgtables)();
	/* Read ahead of the section it would be on the stack of an interrupt. */
	barrier();
	tss = raw_cpu_read(gdt_word(GDT_ENTRY_TSS)) & ~TYPE(0xf);
	raw_cpu_write(gdt_word(GDT_ENTRY_TSS), tss | TYPE(DESC_TSS));
	asm volatile("lgdt " __percpu_arg([direct]) "\n\t"
		     "ltr %w[tss]\n\t"
		     "lgdt " __percpu_arg([fixed])
		     : : [direct] "m" (__my_cpu_var(gdt_page.direct)),
			 [fixed] "m" (__my_cpu_var(gdt_page.fixed)),
			 [tss] "r" (GDT_ENTRY_TSS * 8) : "memory");
}
EXPORT_SYMBOL_GPL(kpkeys_load_tr);

static bool refuse_tls(const struct thread_struct *t)
{
	return kpkeys_refuse("loading", "a segment of the kernel", t,
			     container_of(t, struct task_struct, thread));
}

static __always_inline void load_one(const struct thread_struct *t, const int i)
{
	u64 word = READ_ONCE(*(const u64 *)&t->tls_array[i]);

	if (word == raw_cpu_read(gdt_word(GDT_ENTRY_TLS_MIN + i)))
		return;
	if (unlikely(!kpkeys_is_users(word)) && refuse_tls(t))
		word = 0;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(word);
	if (likely(kpkeys_is_users(word) || kpkeys_state.mode == KPKEYS_AUDIT))
		raw_cpu_write(gdt_word(GDT_ENTRY_TLS_MIN + i), word);
}

/**
 * kpkeys_load_tls - give this CPU the segments of a task
 * @t: the task's
 *
 * With preemption off. What the CPU has already is not written again.
 */
void kpkeys_load_tls(const struct thread_struct *t)
{
	BUILD_BUG_ON(GDT_ENTRY_TLS_ENTRIES != 3);
	load_one(t, 0);
	load_one(t, 1);
	load_one(t, 2);
}

/**
 * kpkeys_set_ldt_size - say how much there is of this CPU's LDT
 * @size: bytes, at least one
 *
 * With preemption off. Where it is and what it is stays.
 */
void kpkeys_set_ldt_size(unsigned int size)
{
	u64 old = raw_cpu_read(gdt_word(GDT_ENTRY_LDT));

	if ((old & LIMIT) == limit_bits((size - 1) & 0xffff))
		return;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(size);
	old = raw_cpu_read(gdt_word(GDT_ENTRY_LDT)) & ~LIMIT;
	raw_cpu_write(gdt_word(GDT_ENTRY_LDT), old | limit_bits((size - 1) & 0xffff));
}

static __always_inline u64 with_node(u64 word, unsigned long cpudata)
{
	return (word & ~limit_bits(~VDSO_CPUNODE_MASK)) |
	       limit_bits(cpudata & ~VDSO_CPUNODE_MASK);
}

/**
 * kpkeys_set_node - say which node this CPU is on
 * @cpudata: what vdso_encode_cpunode() gives
 *
 * The number of the CPU stays.
 */
void kpkeys_set_node(unsigned long cpudata)
{
	u64 old = raw_cpu_read(gdt_word(GDT_ENTRY_CPUNODE));

	if (with_node(old, cpudata) == old)
		return;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(cpudata);
	old = raw_cpu_read(gdt_word(GDT_ENTRY_CPUNODE));
	raw_cpu_write(gdt_word(GDT_ENTRY_CPUNODE), with_node(old, cpudata));
}
