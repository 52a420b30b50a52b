// SPDX-License-Identifier: GPL-2.0-only
/* Hardened page tables: pages get their keys. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/kpkeys_force.h>
#include <linux/mm.h>
#include <linux/printk.h>

#include "depot.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/kpkeys.h>

/* After the mapping has changed: whoever reads the new number forgets the old one. */
static noinline void count_keying(void)
{
	guard(kpkeys_hardened_pgtables)();
	atomic64_inc(&kpkeys_state.keyings);
}

static int change_key(void *addr, unsigned int nr, int pkey, bool alias, bool are_new)
{
	unsigned long size = arch_kpkeys_mapping_size((unsigned long)addr);
	int ret;

	/* Which pages it is, lists of the page allocator said. */
	if (pkey != KPKEYS_PKEY_DEFAULT && kpkeys_frames_refuse_key(addr, nr, pkey))
		return -EPERM;
	if (size > PAGE_SIZE * (unsigned long)nr)
		kpkeys_event(&kpkeys_events.direct_map_splits);
	/* What has a key is no ordinary page, and the other way round. */
	if (pkey == KPKEYS_PKEY_DEFAULT && !kpkeys_frames_leave(addr, nr))
		return -EBUSY;
	ret = arch_kpkeys_set_pkey((unsigned long)addr, nr, pkey, alias);
	if (ret || pkey != KPKEYS_PKEY_DEFAULT)
		kpkeys_frames_sync(addr, nr, are_new);
	if (pkey != KPKEYS_PKEY_DEFAULT)
		count_keying();
	if (!ret && pkey != KPKEYS_PKEY_DEFAULT)
		atomic_long_add(nr, &kpkeys_events.pages_keyed);
	trace_kpkeys_key(addr, nr, pkey, ret);
	return ret;
}

/**
 * kpkeys_set_pkey_noflush - change the key of kernel mappings, and count it
 * @addr: page-aligned address in a kernel mapping
 * @nr: number of pages
 * @pkey: KPKEYS_PKEY_*
 * @alias: change the other mappings of these pages as well
 *
 * May sleep. The new key is not in force before kpkeys_flush().
 *
 * Return: 0, -EPERM if these are not ordinary pages and keep what they have, or
 * -errno; then some of the pages may have changed.
 */
int kpkeys_set_pkey_noflush(void *addr, unsigned int nr, int pkey,
			    bool alias)
{
	return change_key(addr, nr, pkey, alias, false);
}

/**
 * kpkeys_key_new_noflush - the same of what nobody uses before it has arrived
 * @addr: page-aligned address in the direct map
 * @nr: number of pages
 * @pkey: KPKEYS_PKEY_*
 *
 * Return: as kpkeys_set_pkey_noflush()
 */
int kpkeys_key_new_noflush(void *addr, unsigned int nr, int pkey)
{
	return change_key(addr, nr, pkey, false, true);
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
 * kpkeys_key_boot_tables - key the tables that exist when the kernel starts
 */
void __init kpkeys_key_boot_tables(void)
{
	kpkeys_walk_kernel(key_boot_table, NULL);
}

/**
 * kpkeys_key_late_table_noflush - key a table while other CPUs are stopped
 * @pgd: as for kpkeys_key_late_table()
 * @name: for messages
 *
 * The keys are not in force before kpkeys_flush().
 */
void __init kpkeys_key_late_table_noflush(void *pgd, const char *name)
{
	if (!kpkeys_pgtables_enabled())
		return;
	kpkeys_walk_pgd(pgd, KPKEYS_WALK_ALL, name, key_boot_table, NULL);
	kpkeys_links_of(pgd);
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
	kpkeys_key_late_table_noflush(pgd, name);
	if (kpkeys_pgtables_enabled())
		kpkeys_flush();
}

/**
 * kpkeys_key_static - key whole pages of the kernel's own data, and count them
 * @addr: in the direct map, page-aligned
 * @size: multiple of PAGE_SIZE
 * @pkey: KPKEYS_PKEY_*
 * @count: in keyed memory, or NULL; incremented by the number of pages
 */
void __init kpkeys_key_static(void *addr, size_t size, int pkey,
			      unsigned long *count)
{
	unsigned int nr = size / PAGE_SIZE;

	if (nr && kpkeys_set_pkey_noflush(addr, nr, pkey, true))
		panic("kpkeys: cannot key %u pages at %p", nr, addr);
	if (!count)
		return;
	guard(kpkeys_hardened_pgtables)();
	*count += nr;
}
