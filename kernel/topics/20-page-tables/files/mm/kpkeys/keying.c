// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardened page tables: which pages carry the key, and how the tables that
 * exist when the kernel starts get theirs.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/uaccess.h>

#include "depot.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/kpkeys.h>

/**
 * kpkeys_set_pkey_noflush - change the key of kernel mappings, and count it
 * @addr: page-aligned address in a kernel mapping
 * @nr: number of pages
 * @pkey: KPKEYS_PKEY_*
 * @alias: change the other mappings of these pages as well
 *
 * May sleep. The new key is not in force before kpkeys_flush().
 *
 * Return: 0 or -errno; then some of the pages may have changed.
 */
int kpkeys_set_pkey_noflush(void *addr, unsigned int nr, int pkey,
			    bool alias)
{
	unsigned long size = arch_kpkeys_mapping_size((unsigned long)addr);
	int ret;

	if (size > PAGE_SIZE * (unsigned long)nr)
		kpkeys_event(&kpkeys_events.direct_map_splits);
	ret = arch_kpkeys_set_pkey((unsigned long)addr, nr, pkey, alias);
	if (!ret && pkey != KPKEYS_PKEY_DEFAULT)
		atomic_long_add(nr, &kpkeys_events.pages_keyed);
	trace_kpkeys_key(addr, nr, pkey, ret);
	return ret;
}

/**
 * kpkeys_flush - put changed keys in force on every CPU
 */
void kpkeys_flush(void)
{
	arch_kpkeys_flush();
	kpkeys_event(&kpkeys_events.key_tlb_flushes);
}

/**
 * kpkeys_set_pkey - change the key of kernel mappings, in force on return
 * @addr: as for kpkeys_set_pkey_noflush()
 * @nr: number of pages
 * @pkey: KPKEYS_PKEY_*
 * @alias: change the other mappings of these pages as well
 *
 * Return: 0 or -errno; then some of the pages may have changed.
 */
int kpkeys_set_pkey(void *addr, unsigned int nr, int pkey, bool alias)
{
	int ret = kpkeys_set_pkey_noflush(addr, nr, pkey, alias);

	kpkeys_flush();
	return ret;
}

static bool __init key_boot_table(void *ptp, int level, const char *name, void *arg)
{
	/* Always by the direct map; the kernel image is its alias. */
	void *addr = __va(__pa(ptp));

	if (arch_kpkeys_addr_pkey((unsigned long)addr) == KPKEYS_PKEY_PGTABLES)
		return true;
	if (kpkeys_set_pkey_noflush(addr, 1, KPKEYS_PKEY_PGTABLES, true)) {
		pr_err("cannot key a %s table of %s\n",
		       kpkeys_level_name(level), name);
		kpkeys_event(&kpkeys_events.unkeyed_fallbacks);
		return true;
	}
	/* The pool frees a pair of top-level tables page by page. */
	if (!page_count(virt_to_page(addr)))
		init_page_count(virt_to_page(addr));
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.boot_pages++;
	return true;
}

/**
 * kpkeys_key_late_table - key a table that is built after the others
 * @pgd: its top level, in the direct map
 * @name: for messages
 *
 * The checker finds it by arch_kpkeys_walk_extra().
 */
void __init kpkeys_key_late_table(void *pgd, const char *name)
{
	if (!kpkeys_pgtables_enabled())
		return;
	kpkeys_walk_pgd(pgd, KPKEYS_WALK_ALL, name, key_boot_table, NULL);
	kpkeys_flush();
}

/**
 * kpkeys_key_static - key whole pages of the kernel's own data, and count them
 * @addr: in the direct map, page-aligned
 * @size: multiple of PAGE_SIZE
 * @pkey: KPKEYS_PKEY_STATE or KPKEYS_PKEY_SECRET
 */
void __init kpkeys_key_static(void *addr, size_t size, int pkey)
{
	unsigned int nr = size / PAGE_SIZE;

	if (nr && kpkeys_set_pkey_noflush(addr, nr, pkey, true))
		panic("kpkeys: cannot key %u pages at %px", nr, addr);
	guard(kpkeys_hardened_pgtables)();
	if (pkey == KPKEYS_PKEY_SECRET)
		kpkeys_state.secret_pages += nr;
	else
		kpkeys_state.state_pages += nr;
}

static void __init key_state(void)
{
	unsigned int cpu;

	kpkeys_key_static(lm_alias(&kpkeys_state), sizeof(kpkeys_state),
			  KPKEYS_PKEY_STATE);
	for_each_possible_cpu(cpu)
		kpkeys_key_static(per_cpu_ptr(&kpkeys_cpu, cpu),
				  sizeof(kpkeys_cpu), KPKEYS_PKEY_STATE);
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
	arch_kpkeys_flush();
	denied = page && is_denied(page_address(page)) &&
		 is_denied(&kpkeys_state.boot_pages) &&
		 kpkeys_secrets_denied();
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

	kpkeys_design_init();
	static_branch_enable(&kpkeys_pgtables_key);
	if (arch_kpkeys_has_keys() && kpkeys_design_hides())
		static_branch_enable(&kpkeys_secrets_key);
	kpkeys_depot_start();
	kpkeys_walk_kernel(key_boot_table, NULL);
	key_state();
	kpkeys_key_secrets();
	kpkeys_flush();
	prove_keys();

	pr_info("page tables hardened: mode %s, backend %s, %lu boot tables, %lu pool pages, %ld mappings split\n",
		kpkeys_mode_names[kpkeys_state.mode], arch_kpkeys_backend(),
		kpkeys_state.boot_pages, kpkeys_state.region_pages,
		atomic_long_read(&kpkeys_events.direct_map_splits));
}
