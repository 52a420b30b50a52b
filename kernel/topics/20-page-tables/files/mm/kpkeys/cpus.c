// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPU has which per-CPU memory. All that the gate remembers is there, and
 * a CPU that starts is told by ordinary memory where.
 */
#include <linux/cpumask.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/percpu.h>

#include "internal.h"

/* Whoever asks for less than all, asks nr_cpu_ids, which is ordinary memory. */
static __always_inline bool is_area(unsigned long offset)
{
	unsigned int cpu;

	for (cpu = 0; cpu < ARRAY_SIZE(__per_cpu_offset); cpu++)
		if (per_cpu_offset(cpu) == offset &&
		    test_bit(cpu, cpumask_bits(cpu_possible_mask)))
			return true;
	return false;
}

/* Another CPU may change a stack at any time, so it is asked again. */
static noinline __flatten bool take_area(unsigned long offset, u64 id)
{
	u64 old;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(offset);
	if (!is_area(offset))
		return false;
	old = cmpxchg(SHIFT_PERCPU_PTR(&kpkeys_cpu.owner, offset), 0, id);
	return !old || old == id;
}

/**
 * kpkeys_area_is - may a CPU have this per-CPU memory?
 * @offset: from a per-CPU variable to the CPU's own
 * @id: what tells the CPU from others; not zero
 *
 * Return: false if it is no CPU's, or that of another one which runs.
 */
bool kpkeys_area_is(unsigned long offset, u64 id)
{
	return is_area(offset) && take_area(offset, id);
}

/**
 * kpkeys_cpu_comes - take the per-CPU memory that this CPU was given
 *
 * First thing when a CPU starts or wakes, before an exception can come. A CPU
 * that has no right to its memory cannot report it: printing would use it.
 *
 * Return: false if the CPU must stop. It does not in audit mode.
 */
notrace bool kpkeys_cpu_comes(void)
{
	if (!kpkeys_pgtables_enabled() ||
	    kpkeys_area_is(arch_kpkeys_offset(), arch_kpkeys_cpu_id()))
		return true;
	per_cpu(kpkeys_counters, 0).violations++;
	return kpkeys_state.mode == KPKEYS_AUDIT;
}

/**
 * kpkeys_cpu_leaves - this CPU goes, and forgets all before it comes back
 */
void kpkeys_cpu_leaves(void)
{
	if (!kpkeys_pgtables_enabled())
		return;
	guard(kpkeys_hardened_pgtables)();
	raw_cpu_write(kpkeys_cpu.in_use, false);
	/* It may be started again before this section ends, with the gate shut. */
	raw_cpu_write(kpkeys_cpu.level, KPKEYS_LVL_DEFAULT);
	raw_cpu_write(kpkeys_cpu.owner, 0);
}

/**
 * kpkeys_cpu_is_gone - has this CPU left, so that nobody waits for it?
 *
 * Masks of CPUs are ordinary memory. It shall do nothing but wait to be started.
 * The boot CPU counts as gone for a moment while the protection starts.
 */
noinstr bool kpkeys_cpu_is_gone(void)
{
	return kpkeys_pgtables_enabled() && !raw_cpu_read(kpkeys_cpu.in_use);
}
