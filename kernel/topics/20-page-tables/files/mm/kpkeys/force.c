// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a key is in force. A CPU that still knows the mapping of before writes
 * past it, so nothing that was keyed is believed until every CPU has said that
 * it forgot.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/kpkeys_force.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <asm/kpkeys_mm.h>

#include "arrivals.h"
#include "internal.h"
#include "tables.h"

#define FLUSH_TRIES	50	/* a tick each; a CPU that starts needs some */

/**
 * kpkeys_nr_keyings - how often something was keyed
 */
s64 kpkeys_nr_keyings(void)
{
	return atomic64_read(&kpkeys_state.keyings);
}

/**
 * kpkeys_begin_flush - this CPU is about to forget its mappings
 *
 * With interrupts off, up to kpkeys_set_flushed(). What is keyed in between it
 * need not have forgotten. Up to where it has is in keyed memory meanwhile: what
 * is on its stack can be changed.
 */
void kpkeys_begin_flush(void)
{
	guard(kpkeys_hardened_pgtables)();
	raw_cpu_write(kpkeys_cpu.flushing, kpkeys_nr_keyings());
}

/**
 * kpkeys_set_flushed - this CPU uses mappings, and forgot those of before
 *
 * A section that was interrupted may have looked at the table of frames already,
 * and write its entry behind this: the CPU is asked again.
 */
__flatten void kpkeys_set_flushed(void)
{
	if (raw_cpu_read(kpkeys_cpu.nr_saved))
		return;
	guard(kpkeys_hardened_pgtables)();
	/* Read ahead of the section it would be on the stack of an interrupt. */
	kpkeys_root_in_use(arch_kpkeys_root_pfn());
	raw_cpu_write(kpkeys_cpu.flushed, raw_cpu_read(kpkeys_cpu.flushing));
	raw_cpu_write(kpkeys_cpu.in_use, true);
}

/**
 * kpkeys_in_force - may what was keyed be believed?
 *
 * Ask this inside the guard that first does. Somebody else may have keyed
 * something since the last flush.
 */
bool kpkeys_in_force(void)
{
	return are_in_force();
}

static void report_late(int cpu)
{
	raw_cpu_inc(kpkeys_counters.violations);
	add_taint(TAINT_WARN, LOCKDEP_STILL_OK);
	if (kpkeys_may_print())
		pr_err("violation: CPU %d keeps mappings of before pages were keyed (%s)\n",
		       cpu, kpkeys_mode_names[kpkeys_state.mode]);
	kpkeys_reported();
}

/**
 * kpkeys_flush_cpus - have each CPU forget mappings, and say so
 *
 * Where a flush can be broadcast it would do, but nobody could tell whether it was
 * behind what a CPU answers for.
 */
void kpkeys_flush_cpus(void)
{
	on_each_cpu(kpkeys_flush_cpu, NULL, 1);
}

static bool wait_for_cpus(void)
{
	unsigned int tries;
	int cpu;

	for (tries = 0; (cpu = late_for_keys()) >= 0; tries++) {
		if (tries == FLUSH_TRIES)
			break;
		if (tries)
			schedule_timeout_uninterruptible(1);
		kpkeys_flush_cpus();
	}
	if (cpu < 0)
		return true;
	report_late(cpu);
	return kpkeys_in_force();
}

/**
 * kpkeys_flush - put changed keys in force on every CPU
 *
 * May sleep, where other CPUs run.
 *
 * Return: false if a CPU did not say so in time; it was reported.
 */
bool kpkeys_flush(void)
{
	kpkeys_event(&kpkeys_events.key_tlb_flushes);
	kpkeys_flush_cpus();
	return wait_for_cpus();
}

/**
 * kpkeys_ask_cpus - wait for every section of before, and learn who uses which root
 *
 * May sleep. Whoever looked at the table of frames in a section has written his
 * entry then, on every CPU that runs, whatever masks and RCU say. Each has also
 * forgotten which tables it walked before that, upper levels included.
 *
 * Return: as kpkeys_flush().
 */
bool kpkeys_ask_cpus(void)
{
	scoped_guard(kpkeys_hardened_pgtables)
		atomic64_inc(&kpkeys_state.keyings);
	kpkeys_flush_cpus();
	return wait_for_cpus();
}
