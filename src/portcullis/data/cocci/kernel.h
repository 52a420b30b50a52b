/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types for the rules: what kernel headers say of functions, macros and members
 * that lead to page tables. It stands for all headers, which are not read. It
 * is parsed, never compiled: a macro of the kernel may be a function here, and
 * a structure has no more members than the rules ask for.
 */
struct mm_struct { pgd_t *pgd; };
struct vm_area_struct { struct mm_struct *vm_mm; };
struct task_struct { struct mm_struct *mm; struct mm_struct *active_mm; };
struct vm_fault {
	struct vm_area_struct *vma;
	pte_t *pte;
	pmd_t *pmd;
	pud_t *pud;
	pgtable_t prealloc_pte;
};
struct page_vma_mapped_walk { pmd_t *pmd; pte_t *pte; };
struct mm_walk { struct mm_struct *mm; struct vm_area_struct *vma; };

extern struct task_struct *current;
extern struct mm_struct init_mm;
extern pgd_t *swapper_pg_dir;

pgd_t *pgd_offset(struct mm_struct *mm, unsigned long address);
pgd_t *pgd_offset_k(unsigned long address);
pgd_t *pgd_offset_pgd(pgd_t *pgd, unsigned long address);
p4d_t *p4d_offset(pgd_t *pgd, unsigned long address);
pud_t *pud_offset(p4d_t *p4d, unsigned long address);
pmd_t *pmd_offset(pud_t *pud, unsigned long address);
pmd_t *pmd_off(struct mm_struct *mm, unsigned long address);
pmd_t *pmd_off_k(unsigned long address);
pte_t *pte_offset_kernel(pmd_t *pmd, unsigned long address);
pte_t *pte_offset_map(pmd_t *pmd, unsigned long address);
pte_t *pte_offset_map_lock(struct mm_struct *mm, pmd_t *pmd, unsigned long address, spinlock_t **lock);
pte_t *pte_offset_map_nolock(struct mm_struct *mm, pmd_t *pmd, unsigned long address, spinlock_t **lock);
pte_t *virt_to_kpte(unsigned long address);
pte_t *lookup_address(unsigned long address, unsigned int *level);
pte_t *get_locked_pte(struct mm_struct *mm, unsigned long address, spinlock_t **lock);
pte_t *huge_pte_offset(struct mm_struct *mm, unsigned long address, unsigned long size);

p4d_t *p4d_alloc(struct mm_struct *mm, pgd_t *pgd, unsigned long address);
pud_t *pud_alloc(struct mm_struct *mm, p4d_t *p4d, unsigned long address);
pmd_t *pmd_alloc(struct mm_struct *mm, pud_t *pud, unsigned long address);
pte_t *pte_alloc_map(struct mm_struct *mm, pmd_t *pmd, unsigned long address);
pte_t *pte_alloc_kernel(pmd_t *pmd, unsigned long address);
pte_t *pte_alloc_one_kernel(struct mm_struct *mm);
pmd_t *pmd_alloc_one(struct mm_struct *mm, unsigned long address);
pud_t *pud_alloc_one(struct mm_struct *mm, unsigned long address);
p4d_t *p4d_alloc_one(struct mm_struct *mm, unsigned long address);
pgd_t *pgd_alloc(struct mm_struct *mm);
pgtable_t pte_alloc_one(struct mm_struct *mm);

pgtable_t pmd_pgtable(pmd_t pmd);
pgtable_t pgtable_trans_huge_withdraw(struct mm_struct *mm, pmd_t *pmd);
pmd_t *pud_pgtable(pud_t pud);
pud_t *p4d_pgtable(p4d_t p4d);
