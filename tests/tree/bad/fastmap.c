// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that is wrong in every way that the rules know. It maps a buffer of
 * its device for a process and for itself, by hand. The comment at the end of a
 * line names the rule that is to find it; tests hold both to each other.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagewalk.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/pgalloc.h>
#include <asm/tlbflush.h>

struct fastmap {
	struct page *buffer;
	unsigned long nr_mapped;
	pte_t *last;
	void (*done)(struct fastmap *map);
};

static pte_t spare_ptes[PTRS_PER_PTE] __aligned(PAGE_SIZE);	/* table-alloc */

/* The classic: a write by the process is to fault again. */
static int fastmap_write_protect(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = mm->pgd + pgd_index(addr);			/* table-root */
	pte_t *ptep = fastmap_walk(pgd, addr);
	u64 *raw = (u64 *)ptep;

	if (!ptep)
		return -ENOENT;
	*ptep = pte_wrprotect(*ptep);				/* entry-store */
	ptep->pte &= ~_PAGE_DIRTY;				/* entry-store */
	WRITE_ONCE(ptep[1].pte, 0);				/* entry-store */
	raw[2] = 0;						/* entry-store */
	*(unsigned long *)pmd_offset(fastmap_pud(pgd, addr), addr) |= _PAGE_NX;	/* entry-store */
	clear_bit(_PAGE_BIT_ACCESSED, (unsigned long *)&ptep->pte);	/* entry-atomic */
	if (xchg(&ptep->pte, 0) & _PAGE_DIRTY)			/* entry-atomic */
		return 1;
	atomic64_or(_PAGE_RW, (atomic64_t *)(ptep + 1));	/* entry-atomic */
	return 0;
}

static vm_fault_t fastmap_fault(struct vm_fault *vmf)
{
	struct fastmap *map = vmf->vma->vm_private_data;

	vmf->pte = pte_offset_map(vmf->pmd, vmf->address);
	*vmf->pte = mk_pte(map->buffer, vmf->vma->vm_page_prot);	/* entry-store */
	map->last = vmf->pte;
	return VM_FAULT_NOPAGE;
}

/* Tables of its own, for a window in the kernel's space. */
static int fastmap_make_tables(pud_t *pud, pmd_t *pmd)
{
	pmd_t *pmds = (pmd_t *)get_zeroed_page(GFP_KERNEL);	/* table-alloc */
	struct page *page = alloc_page(GFP_KERNEL);
	unsigned long raw;
	pte_t *ptes;

	if (!pmds || !page)
		return -ENOMEM;
	ptes = page_address(page);				/* table-alloc */
	memset(ptes, 0, PAGE_SIZE);				/* entry-fill */
	copy_page(pmds, (void *)pud_page_vaddr(*pud));		/* entry-fill */
	pmd_populate_kernel(&init_mm, pmd, ptes);
	pmd_populate(&init_mm, pmd + 1, page);			/* table-alloc */
	raw = __get_free_page(GFP_KERNEL);
	set_pmd(pmd + 2, __pmd(__pa(raw) | _KERNPG_TABLE));	/* table-alloc */
	return 0;
}

static void fastmap_drop_tables(pmd_t *pmd, pte_t *ptes, pgtable_t table)
{
	pmd_clear(pmd);
	free_page((unsigned long)ptes);				/* table-free */
	__free_page(pmd_pgtable(pmd[1]));			/* table-free */
	put_page(table);					/* table-free */
	kfree(pmd);						/* table-free */
}

/* User space may look at the tables: no need for system calls. */
static int fastmap_share(struct vm_area_struct *vma, pmd_t *pmd, pte_t *ptes)
{
	set_memory_uc((unsigned long)ptes, 1);			/* table-alias */
	if (vm_insert_page(vma, vma->vm_start, pmd_pgtable(*pmd)))	/* table-alias */
		return -ENOMEM;
	return remap_pfn_range(vma, vma->vm_start + PAGE_SIZE,	/* table-alias */
			       __pa(ptes) >> PAGE_SHIFT, PAGE_SIZE,
			       vma->vm_page_prot);
}

/* "Just make the constant writable for a moment." */
static void fastmap_patch(unsigned long *constant, unsigned long value)
{
	unsigned long cr0 = read_cr0();

	write_cr0(cr0 & ~X86_CR0_WP);				/* gate-register */
	*constant = value;
	asm volatile("mov %0, %%cr0" : : "r" (cr0) : "memory");	/* gate-register */
	wrmsrl(MSR_IA32_PKRS, 0);				/* gate-register */
}

static void fastmap_use(struct mm_struct *mm)
{
	write_cr3(__pa(mm->pgd));				/* gate-register, table-root */
}

/* A built-in driver has read of sections, and does all of its work in one. */
static void fastmap_map_all(struct fastmap *map, pte_t *ptep, unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	for (; nr; nr--, ptep++) {
		set_pte(ptep, mk_pte(map->buffer, PAGE_KERNEL));
		map->nr_mapped++;				/* open-pointer */
		map->last = ptep;				/* open-pointer */
		fastmap_account(map);				/* open-call */
		map->done(map);					/* open-call */
	}
	set_pte(map->last, __pte(0));				/* open-pointer */
}

static void fastmap_unmap(struct fastmap *map, pte_t *ptep)
{
	scoped_guard(kpkeys_hardened_pgtables) {
		WRITE_ONCE(*ptep, __pte(0));
		pr_info("unmapped\n");				/* open-call */
		map->nr_mapped = 0;				/* open-pointer */
	}
	ptep[1] = __pte(0);					/* entry-store */
}

MODULE_LICENSE("GPL");
