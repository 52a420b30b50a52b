/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the newest kernel that this is for has, under the names it has there.
 */
#ifndef _LINUX_KPKEYS_COMPAT_H
#define _LINUX_KPKEYS_COMPAT_H

#include <linux/gfp.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)

#include <linux/leafops.h>

#define kpkeys_check_pte_clear(mm, addr, pte) \
	page_table_check_pte_clear(mm, addr, pte)
#define kpkeys_check_ptes_set(mm, addr, ptep, pte, nr) \
	page_table_check_ptes_set(mm, addr, ptep, pte, nr)

/* Its header is in mm/, and 0 is ALLOC_DEFAULT. */
struct page *__alloc_pages_noprof(gfp_t gfp, unsigned int order, int preferred_nid,
				  nodemask_t *nodemask, unsigned int alloc_flags);
#define kpkeys_alloc_pages(gfp, order, nid, nodes) \
	alloc_hooks(__alloc_pages_noprof(gfp, order, nid, nodes, 0))

/* Of flags that were read once. */
#define is_cow_mapping(flags)	(((flags) & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)

#else

#define kpkeys_alloc_pages(gfp, order, nid, nodes) \
	__alloc_pages(gfp, order, nid, nodes)
#define pte_mkuffd(pte)			pte_mkuffd_wp(pte)
#define pte_clear_uffd(pte)		pte_clear_uffd_wp(pte)
#define pte_swp_clear_uffd(pte)		pte_swp_clear_uffd_wp(pte)
#define softleaf_from_pte(pte)		pte_to_swp_entry(pte)
#define softleaf_is_swap(entry)		(!non_swap_entry(entry))
#define folio_maybe_mapped_shared(folio) folio_likely_mapped_shared(folio)
#define kpkeys_check_pte_clear(mm, addr, pte) \
	page_table_check_pte_clear(mm, pte)
#define kpkeys_check_ptes_set(mm, addr, ptep, pte, nr) \
	page_table_check_ptes_set(mm, ptep, pte, nr)

#endif

#endif /* _LINUX_KPKEYS_COMPAT_H */
