// SPDX-License-Identifier: GPL-2.0-only
/* Hardened page tables: the start, and the proof that keys do something. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_patching.h>
#include <linux/kpkeys_taken.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/uaccess.h>

#include "depot.h"
#include "internal.h"

DEFINE_PER_CPU_PAGE_ALIGNED(struct kpkeys_taken, kpkeys_taken);

static void __init key_as_state(void *addr, size_t size)
{
	kpkeys_key_static(addr, size, KPKEYS_PKEY_STATE,
			  &kpkeys_state.state_pages);
}

static void __init key_cpu_pages(unsigned int cpu)
{
	unsigned int i;
	void *page;

	for (i = 0; i < ARCH_KPKEYS_CPU_PAGES; i++) {
		page = arch_kpkeys_cpu_page(cpu, i);
		key_as_state(page, page ? PAGE_SIZE : 0);
	}
}

static void __init key_state(void)
{
	unsigned int cpu;

	kpkeys_patching_init();
	key_as_state(lm_alias(&kpkeys_state), sizeof(kpkeys_state));
	for_each_possible_cpu(cpu) {
		key_as_state(per_cpu_ptr(&kpkeys_cpu, cpu), sizeof(kpkeys_cpu));
		key_as_state(per_cpu_ptr(&kpkeys_taken, cpu),
			     sizeof(kpkeys_taken));
		key_cpu_pages(cpu);
	}
}

static bool __init is_denied(void *addr)
{
	unsigned long value = READ_ONCE(*(unsigned long *)addr);

	return copy_to_kernel_nofault(addr, &value, sizeof(value));
}

/*
 * The checker sees that keys are there, not that they stop anybody. A kernel
 * that only believes to be protected is worse than one that does not start.
 */
static void __init prove_keys(void)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0,
					     NUMA_NO_NODE);
	bool denied;

	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_state.proving = true;
	/* Without this barrier, a lowering that waits for none may be yet to come. */
	kpkeys_flush_cpus();
	denied = page && is_denied(page_address(page)) &&
		 is_denied(&kpkeys_state.boot_pages);
	scoped_guard(kpkeys_hardened_pgtables)
		kpkeys_state.proving = false;
	if (!denied)
		panic("kpkeys: keys do not stop accesses on this machine; kpkeys=off starts without them");
	kpkeys_ptp_free(page, 0);
}

/**
 * kpkeys_hardened_pgtables_init - protect the page tables of this machine
 *
 * Called once, on the boot CPU, when it is set up and no other runs. The
 * order matters: the pool must be able to serve the splits that keying the
 * boot tables causes, and the guards must work before the first live table is
 * keyed. Static keys are still patched in place here, so that no guard can be
 * met half enabled.
 */
void __init kpkeys_hardened_pgtables_init(void)
{
	const char *reason = kpkeys_wanted() ? arch_kpkeys_unsupported() :
					       "kpkeys=off";

	if (reason) {
		kpkeys_state.mode = KPKEYS_OFF;
		pr_info("off: %s\n", reason);
		return;
	}
	if (kpkeys_depot_bootstrap())
		panic("kpkeys: no memory for the page-table pool");

	static_branch_enable(&kpkeys_pgtables_key);
	kpkeys_depot_start();
	kpkeys_key_boot_tables();
	key_state();
	kpkeys_roots_init();
	kpkeys_frames_init();
	kpkeys_flush();
	/* This CPU has what is its own, and is waited for, from here on. */
	WARN_ON(!kpkeys_cpu_comes());
	kpkeys_ask_cpus();
	prove_keys();

	pr_info("page tables hardened: mode %s, backend %s, %lu boot tables, %lu pool pages, %ld mappings split\n",
		kpkeys_mode_names[kpkeys_state.mode], arch_kpkeys_backend(),
		kpkeys_state.boot_pages, kpkeys_state.region_pages,
		atomic_long_read(&kpkeys_events.direct_map_splits));
}
