// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other designs of the same protection, chosen by kpkeys_design=, so that what
 * each costs can be counted on one kernel. For measuring only.
 *
 * per-write: each write of an entry is a section.
 * rfc:       lazy-MMU mode is a section, as is a table that vmalloc writes,
 *            where later kernels have that mode. Nothing else is.
 *
 * With both of them a page-table page comes from the page allocator, gets its
 * key by a change of the linear map and a TLB flush, and loses it the same
 * way; barriers behind entries of the kernel are those of the stock kernel; and
 * there are no secrets.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <asm/tlbflush.h>

#include "depot.h"
#include "designs.h"

enum design {
	PORTCULLIS,
	RFC,
	PER_WRITE,
};

static const char * const design_names[] = {
	[PORTCULLIS]	= "portcullis",
	[RFC]		= "rfc",
	[PER_WRITE]	= "per-write",
};

static enum design design __ro_after_init;
static atomic_long_t nr_single;

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_no_sections_key);
EXPORT_SYMBOL_GPL(kpkeys_no_sections_key);
DEFINE_STATIC_KEY_FALSE_RO(kpkeys_no_runs_key);
EXPORT_SYMBOL_GPL(kpkeys_no_runs_key);

DEFINE_PER_CPU(u8, kpkeys_lazy_depth);
EXPORT_PER_CPU_SYMBOL_GPL(kpkeys_lazy_depth);

static int __init choose_design(char *arg)
{
	int found = arg ? match_string(design_names, ARRAY_SIZE(design_names),
				       arg) : -EINVAL;

	if (found < 0)
		pr_warn("kpkeys_design=%s is not known and ignored; known are: portcullis, rfc, per-write\n",
			arg ?: "");
	else
		design = found;
	return 0;
}
early_param("kpkeys_design", choose_design);

/**
 * kpkeys_design_init - put the design in force, before any guard is
 */
void __init kpkeys_design_init(void)
{
	pr_warn("this kernel is for measuring only: design %s\n",
		kpkeys_design_name());
	add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	if (design != PORTCULLIS)
		static_branch_enable(&kpkeys_no_runs_key);
	if (design == PER_WRITE)
		static_branch_enable(&kpkeys_no_sections_key);
}

/**
 * kpkeys_design_name - as the boot parameter has it
 */
const char *kpkeys_design_name(void)
{
	return design_names[design];
}

/**
 * kpkeys_design_hides - does the design know of secrets?
 */
bool kpkeys_design_hides(void)
{
	return design == PORTCULLIS;
}

/**
 * kpkeys_keys_singly - is a page-table page to have a key of its own making?
 * @gfp: of its allocation
 *
 * Who cannot wait cannot flush the TLBs of other CPUs either. The tables of
 * splits that this causes come from the pool as well.
 */
bool kpkeys_keys_singly(gfp_t gfp)
{
	return !kpkeys_has_runs() && gfpflags_allow_blocking(gfp);
}

/* The table of frames knows them as tables, as it does those of the pool. */
static void become_tables(void *addr, unsigned int nr)
{
	guard(kpkeys_hardened_pgtables)();
	for (; nr--; addr += PAGE_SIZE)
		kpkeys_table_take(addr);
}

/* Of a root: not before no CPU runs on it. */
static bool is_no_table(void *addr)
{
	enum kpkeys_put put;

	guard(kpkeys_hardened_pgtables)();
	if (kpkeys_table_is_free(addr))
		return true;
	put = kpkeys_table_put(addr);
	return put == KPKEYS_PUT_FREE ||
	       (put == KPKEYS_PUT_RESTS && kpkeys_table_bury(addr));
}

static void flush_pages(void *addr, unsigned int nr)
{
	unsigned long start = (unsigned long)addr;

	flush_tlb_kernel_range(start, start + nr * PAGE_SIZE);
	kpkeys_event(&kpkeys_events.key_tlb_flushes);
}

/* The checker sees both or neither. */
static int set_key(void *addr, unsigned int order, int pkey)
{
	long nr = 1L << order;
	int ret;

	guard(preempt)();
	ret = kpkeys_set_pkey_noflush(addr, nr, pkey, false);
	if (!ret)
		atomic_long_add(pkey == KPKEYS_PKEY_DEFAULT ? -nr : nr,
				&nr_single);
	return ret;
}

/**
 * kpkeys_single_alloc - take page-table pages from the page allocator
 * @nid: preferred node
 * @gfp: may sleep
 * @order: as for kpkeys_ptp_alloc()
 *
 * Return: the address or NULL.
 */
void *kpkeys_single_alloc(int nid, gfp_t gfp, unsigned int order)
{
	void *addr = kpkeys_block_alloc(nid, gfp, order);
	unsigned int i;

	if (!addr)
		return NULL;
	if (set_key(addr, order, KPKEYS_PKEY_PGTABLES)) {
		kpkeys_block_free(addr, 1U << order);
		return NULL;
	}
	flush_pages(addr, 1U << order);
	become_tables(addr, 1U << order);
	for (i = 0; i < 1U << order; i++)
		SetPagePrivate(virt_to_page(addr + i * PAGE_SIZE));
	return addr;
}

static bool take_key(struct page *page)
{
	void *addr = page_address(page);

	if (arch_kpkeys_addr_pkey((unsigned long)addr) == KPKEYS_PKEY_DEFAULT)
		return true;
	if (!is_no_table(addr))
		return false;
	if (set_key(addr, 0, KPKEYS_PKEY_DEFAULT)) {
		kpkeys_event(&kpkeys_events.unkeyed_fallbacks);
		pr_err("page at %p stays keyed and is lost\n", addr);
		return false;
	}
	flush_pages(addr, 1);
	return true;
}

static void free_single(struct page *page)
{
	if (!take_key(page))
		return;
	ClearPagePrivate(page);
	__free_page(page);
}

static LIST_HEAD(freed);
static DEFINE_RAW_SPINLOCK(freed_lock);

static void free_freed(struct work_struct *work)
{
	struct page *page, *next;
	LIST_HEAD(list);

	scoped_guard(raw_spinlock_irq, &freed_lock)
		list_splice_init(&freed, &list);
	list_for_each_entry_safe(page, next, &list, lru)
		free_single(page);
}

static DECLARE_WORK(free_work, free_freed);

static void free_later(struct page *page)
{
	scoped_guard(raw_spinlock_irqsave, &freed_lock)
		list_add(&page->lru, &freed);
	queue_work(system_unbound_wq, &free_work);
}

/**
 * kpkeys_single_free - give page-table pages back to the page allocator
 * @page: the first one
 * @order: as given to kpkeys_single_alloc()
 *
 * Any context but NMI. TLBs of other CPUs cannot be flushed in all of them.
 *
 * Return: false if these are not from kpkeys_single_alloc().
 */
bool kpkeys_single_free(struct page *page, unsigned int order)
{
	unsigned int i;

	if (!PagePrivate(page))
		return false;
	for (i = 0; i < 1U << order; i++) {
		if (preemptible())
			free_single(page + i);
		else
			free_later(page + i);
	}
	return true;
}

/**
 * kpkeys_single_bury - no CPU runs on a root any more
 * @addr: a page of it
 *
 * Return: false if it is of the pool.
 */
bool kpkeys_single_bury(void *addr)
{
	if (!PagePrivate(virt_to_page(addr)))
		return false;
	free_later(virt_to_page(addr));
	return true;
}

void __kpkeys_table_unlinked(struct page *page)
{
	if (PagePrivate(page) && preemptible())
		take_key(page);
}

/**
 * kpkeys_nr_single - page-table pages that have a key of their own making
 */
unsigned long kpkeys_nr_single(void)
{
	return atomic_long_read(&nr_single);
}
