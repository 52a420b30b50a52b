// SPDX-License-Identifier: GPL-2.0-only
/* Keys of the kernel's mappings, and the entries that have them. */
#include <linux/bitfield.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_mm.h>

#include "kpkeys/internal.h"

/* kpkeys_leaf(), in line for a section. */
static __always_inline pte_t *find_leaf(unsigned long addr, unsigned long *size)
{
	pgd_t *pgdp;
	p4d_t *p4dp;
	pud_t *pudp, pud;
	pmd_t *pmdp, pmd;
	pte_t *ptep;

	*size = PGDIR_SIZE;
	if (!is_ttbr1_addr(addr))
		return NULL;
	pgdp = pgd_offset_k(addr);
	if (pgd_none(READ_ONCE(*pgdp)))
		return NULL;
	p4dp = p4d_offset(pgdp, addr);
	if (p4d_none(READ_ONCE(*p4dp)))
		return NULL;

	pudp = pud_offset(p4dp, addr);
	pud = READ_ONCE(*pudp);
	*size = PUD_SIZE;
	if (pud_none(pud) || !pud_table(pud))
		return pud_valid(pud) ? (pte_t *)pudp : NULL;

	pmdp = pmd_offset(pudp, addr);
	pmd = READ_ONCE(*pmdp);
	*size = PMD_SIZE;
	if (!pmd_table(pmd))
		return pmd_valid(pmd) ? (pte_t *)pmdp : NULL;

	ptep = pte_offset_kernel(pmdp, addr);
	*size = PAGE_SIZE;
	return pte_valid(__ptep_get(ptep)) ? ptep : NULL;
}

/**
 * kpkeys_leaf - the entry that maps a kernel address
 * @addr: any address
 * @size: what that entry maps, or what an empty one could
 *
 * Return: the entry or NULL if nothing is mapped there.
 */
pte_t *kpkeys_leaf(unsigned long addr, unsigned long *size)
{
	return find_leaf(addr, size);
}

static bool range_has_pkey(unsigned long addr, unsigned long end, int pkey)
{
	unsigned long size;

	for (; addr < end; addr += size - (addr & (size - 1)))
		if (!kpkeys_leaf(addr, &size) ||
		    arch_kpkeys_addr_pkey(addr) != pkey)
			return false;
	return true;
}

/* What is protected has its key, and gets no other, whatever a stack said. */
static __always_inline bool may_have_pkey(unsigned long pfn, unsigned long nr, int pkey)
{
	enum kpkeys_frame frame;

	if (!kpkeys_processes_run || kpkeys_state.mode == KPKEYS_AUDIT)
		return true;
	for (; nr; nr--) {
		frame = kpkeys_frame(pfn++);
		if (frame != KPKEYS_FRAME_ORDINARY && !kpkeys_frame_has_key(frame, pkey))
			return false;
	}
	return true;
}

/* By a run a CPU may have what is beside it at the addresses of its other entries. */
static __always_inline bool is_beside_run(const pte_t *ptep, unsigned long size)
{
	unsigned int nr = size == PAGE_SIZE ? CONT_PTES : CONT_PMDS;
	const pte_t *run = PTR_ALIGN_DOWN(ptep, nr * sizeof(*ptep));

	for (; nr; nr--)
		if (pte_val(READ_ONCE(run[nr - 1])) & PTE_CONT)
			return true;
	return false;
}

static noinline __flatten int write_range_pkey(unsigned long addr, unsigned long end,
					       int pkey)
{
	unsigned long size;
	pteval_t val;
	pte_t *ptep;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(addr);
	kpkeys_reread(end);
	kpkeys_reread(pkey);
	for (; addr < end; addr += size) {
		ptep = find_leaf(addr, &size);
		if (!ptep || !IS_ALIGNED(addr, size) || size > end - addr)
			return -EINVAL;
		val = pte_val(__ptep_get(ptep));
		if (is_beside_run(ptep, size) ||
		    !may_have_pkey(kpkeys_present_pfn(__pte(val)), size >> PAGE_SHIFT, pkey))
			return -EINVAL;
		val &= ~PTE_PO_IDX_MASK;
		val |= FIELD_PREP(PTE_PO_IDX_MASK, pkey);
		WRITE_ONCE(*ptep, __pte(val));
	}
	/* A CPU that sees the count of keyings and flushes must find these. */
	kpkeys_defer_publish();
	return 0;
}

/*
 * An index may change in place: it is a permission. Parts of blocks and of
 * contiguous ranges may not.
 */
static int set_range_pkey(unsigned long addr, unsigned long end, int pkey)
{
	/* To undo what could not be done must not need what was missing. */
	if (range_has_pkey(addr, end, pkey))
		return 0;
	return write_range_pkey(addr, end, pkey);
}

static int set_alias_pkey(unsigned long addr, int pkey)
{
	void *alias = arch_kpkeys_alias((void *)addr);

	if (!alias)
		return 0;
	return set_range_pkey((unsigned long)alias,
			      (unsigned long)alias + PAGE_SIZE, pkey);
}

/**
 * arch_kpkeys_set_pkey - change the key of kernel mappings
 * @addr: page-aligned address
 * @nr: number of pages
 * @pkey: the key
 * @alias: change the other mappings of these pages as well
 */
int arch_kpkeys_set_pkey(unsigned long addr, unsigned int nr, int pkey,
			 bool alias)
{
	unsigned long end = addr + nr * PAGE_SIZE;
	int ret = set_range_pkey(addr, end, pkey);

	for (; alias && !ret && addr < end; addr += PAGE_SIZE)
		ret = set_alias_pkey(addr, pkey);
	return ret;
}

/**
 * arch_kpkeys_leaf - the entry that maps a kernel address
 * @addr: any address
 * @leaf: filled in
 *
 * Return: false if nothing is mapped there.
 */
bool arch_kpkeys_leaf(unsigned long addr, struct kpkeys_leaf *leaf)
{
	pte_t *ptep = kpkeys_leaf(addr, &leaf->size), pte;

	if (!ptep)
		return false;
	pte = __ptep_get(ptep);
	leaf->entry = __pa_nodebug(ptep);
	leaf->phys = kpkeys_leads_to_phys(pte) + (addr & (leaf->size - 1));
	leaf->pkey = FIELD_GET(PTE_PO_IDX_MASK, pte_val(pte));
	leaf->constant = (pte_val(pte) & (PTE_RDONLY | PTE_WRITE | PTE_PXN)) ==
			 (PTE_RDONLY | PTE_PXN);
	return true;
}
