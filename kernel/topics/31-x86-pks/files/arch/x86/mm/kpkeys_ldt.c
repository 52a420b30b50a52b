// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel protection keys: the LDT. What modify_ldt() keeps of a process is
 * ordinary memory, and so are all pointers to it. A call gate there would be a
 * way into any instruction of the kernel. So no CPU reads it: each has a table
 * of its own with KPKEYS_PKEY_STATE, to which it copies what is a segment of
 * user space, word by word. Where that table is says the CPU's GDT, for good.
 */
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/minmax.h>
#include <linux/panic.h>
#include <linux/percpu.h>

#include <asm/cpu_entry_area.h>
#include <asm/desc.h>
#include <asm/kpkeys_gdt.h>
#include <asm/ldt.h>

#define LDT_SIZE	(LDT_ENTRIES * LDT_ENTRY_SIZE)
#define PER_SECTION	(PAGE_SIZE / LDT_ENTRY_SIZE)

static_assert(ARCH_KPKEYS_CPU_PAGES == 2 + LDT_SIZE / PAGE_SIZE);

/**
 * kpkeys_fill_ldt - make the table of a CPU, which is empty
 * @cpu: any that there may be
 *
 * Return: where the CPU reads it: read-only, and for user space's half as well.
 */
u64 __init kpkeys_fill_ldt(unsigned int cpu)
{
	void *ldt = alloc_pages_exact(LDT_SIZE, GFP_KERNEL | __GFP_ZERO);
	char *fixed = get_cpu_entry_area(cpu)->ldt;
	unsigned int at;

	if (!ldt)
		panic("kpkeys: no memory for the LDT of a CPU");
	for (at = 0; at < LDT_SIZE; at += PAGE_SIZE)
		cea_set_pte(fixed + at, __pa(ldt) + at, PAGE_KERNEL_RO);
	per_cpu(gdt_page, cpu).ldt = ldt;
	return (u64)fixed;
}

/**
 * kpkeys_ldt_page - a page of a CPU's table
 * @cpu: any that there may be
 * @nr: which one
 */
void * __init kpkeys_ldt_page(unsigned int cpu, unsigned int nr)
{
	return (void *)per_cpu(gdt_page, cpu).ldt + nr * PAGE_SIZE;
}

/* What audit mode let through is to be looked at again. */
static bool is_there(const u64 *from, unsigned int next, unsigned int end)
{
	const u64 *to = raw_cpu_read(gdt_page.ldt);
	u64 word;

	for (; next < end; next++) {
		word = READ_ONCE(from[next]);
		if (word != READ_ONCE(to[next]) || !kpkeys_is_users(word))
			return false;
	}
	return true;
}

/* Returns false if one of them was another word, and is empty now. */
static noinline bool copy_to_ldt(const u64 *from, unsigned int next, unsigned int end)
{
	bool all = true;
	u64 *to, word;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(next);
	kpkeys_reread(end);
	end = min(end, LDT_ENTRIES);
	to = raw_cpu_read(gdt_page.ldt);
	for (; next < end; next++) {
		word = READ_ONCE(from[next]);
		if (unlikely(!kpkeys_is_users(word))) {
			all = false;
			word = 0;
		}
		WRITE_ONCE(to[next], word);
	}
	return all;
}

/* In audit mode. */
static noinline void let_through(u64 word, unsigned int entry)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	raw_cpu_read(gdt_page.ldt)[entry % LDT_ENTRIES] = word;
}

static void refuse_others(const u64 *from, unsigned int next, unsigned int end)
{
	u64 word;

	for (; next < end; next++) {
		word = READ_ONCE(from[next]);
		if (!kpkeys_is_users(word) &&
		    !kpkeys_refuse_quietly("loading", "a segment that is not user space's",
					   from + next))
			let_through(word, next);
	}
}

/**
 * kpkeys_load_ldt - give this CPU the segments of a process
 * @entries: what somebody says they are
 * @nr: how many
 *
 * With preemption off. What the CPU has already is not written again, and what
 * is there behind them is out of its reach.
 */
void kpkeys_load_ldt(const void *entries, unsigned int nr)
{
	unsigned int next, end;

	nr = min(nr, LDT_ENTRIES);
	for (next = 0; next < nr; next = end) {
		end = min(next + PER_SECTION, nr);
		if (!is_there(entries, next, end) &&
		    !copy_to_ldt(entries, next, end))
			refuse_others(entries, next, end);
	}
	kpkeys_set_ldt_size(nr * LDT_ENTRY_SIZE);
	asm volatile("lldt %w0" : : "q" (GDT_ENTRY_LDT * 8));
}

/**
 * kpkeys_ldt_is_users - has this CPU's table nothing but segments of user space?
 *
 * For the checker.
 */
bool kpkeys_ldt_is_users(void)
{
	const u64 *ldt = raw_cpu_read(gdt_page.ldt);
	unsigned int i;

	for (i = 0; i < LDT_ENTRIES; i++)
		if (!kpkeys_is_users(READ_ONCE(ldt[i])))
			return false;
	return true;
}
