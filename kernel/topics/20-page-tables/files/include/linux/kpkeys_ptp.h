/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of page tables, for code that takes it without a ptdesc: from the
 * pool where page tables are protected, else from the page allocator, called
 * as it would be without this header.
 */
#ifndef _LINUX_KPKEYS_PTP_H
#define _LINUX_KPKEYS_PTP_H

#include <linux/gfp.h>
#include <linux/kpkeys.h>
#include <linux/mm.h>
#include <linux/numa.h>

/**
 * ptp_alloc_node - take page-table pages near a node
 * @nid: the node, or NUMA_NO_NODE: then the task's memory policy decides
 * @gfp: as for alloc_pages(), without __GFP_COMP
 * @order: 0 or 1
 *
 * Return: the address, aligned to its size, or NULL.
 */
static inline void *ptp_alloc_node(int nid, gfp_t gfp, unsigned int order)
{
	struct page *page;

	if (kpkeys_pgtables_enabled())
		page = kpkeys_ptp_alloc(gfp, order, nid);
	else if (nid == NUMA_NO_NODE)
		page = alloc_pages(gfp, order);
	else
		page = alloc_pages_node(nid, gfp, order);
	return page ? page_address(page) : NULL;
}

/**
 * ptp_alloc - take page-table pages
 * @gfp: as for ptp_alloc_node()
 * @order: 0 or 1
 *
 * Return: the address, aligned to its size, or NULL.
 */
static inline void *ptp_alloc(gfp_t gfp, unsigned int order)
{
	return ptp_alloc_node(NUMA_NO_NODE, gfp, order);
}

/**
 * ptp_free - give page-table pages back
 * @addr: as returned by ptp_alloc() or ptp_alloc_node(), or a boot table
 * @order: as given there
 */
static inline void ptp_free(void *addr, unsigned int order)
{
	if (kpkeys_pgtables_enabled())
		kpkeys_ptp_free(virt_to_page(addr), order);
	else
		free_pages((unsigned long)addr, order);
}

#endif /* _LINUX_KPKEYS_PTP_H */
