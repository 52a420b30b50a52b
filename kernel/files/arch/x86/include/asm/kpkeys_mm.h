/* SPDX-License-Identifier: GPL-2.0-only */
/* For x86 code that sets up CPUs or takes memory for page tables itself. */
#ifndef _ASM_X86_KPKEYS_MM_H
#define _ASM_X86_KPKEYS_MM_H

#include <linux/gfp.h>
#include <linux/kpkeys.h>
#include <linux/mm.h>

#ifdef CONFIG_KPKEYS
bool kpkeys_uses_pks(void);
void kpkeys_setup_cpu(void);
void kpkeys_choose_backend(void);
int kpkeys_set_memory(unsigned long addr, int numpages, pgprot_t set,
		      pgprot_t clr, bool alias);
#else
static inline bool kpkeys_uses_pks(void) { return false; }
static inline void kpkeys_setup_cpu(void) { }
static inline void kpkeys_choose_backend(void) { }
#endif

/**
 * x86_ptp_alloc_node - page-table pages for callers without a ptdesc
 * @nid: preferred NUMA node or NUMA_NO_NODE
 * @gfp: as for __get_free_pages()
 * @order: 0 or 1
 *
 * Return: the address or NULL.
 */
static inline void *x86_ptp_alloc_node(int nid, gfp_t gfp, unsigned int order)
{
	struct page *page;

	if (kpkeys_pgtables_enabled())
		page = kpkeys_ptp_alloc(gfp, order, nid);
	else
		page = alloc_pages_node(nid, gfp, order);
	return page ? page_address(page) : NULL;
}

static inline void *x86_ptp_alloc(gfp_t gfp, unsigned int order)
{
	return x86_ptp_alloc_node(NUMA_NO_NODE, gfp, order);
}

/**
 * x86_ptp_free - give back what x86_ptp_alloc() returned
 * @addr: the address
 * @order: as given there
 */
static inline void x86_ptp_free(void *addr, unsigned int order)
{
	if (kpkeys_pgtables_enabled())
		kpkeys_ptp_free(virt_to_page(addr), order);
	else
		free_pages((unsigned long)addr, order);
}

#endif /* _ASM_X86_KPKEYS_MM_H */
