// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same module as it should be, and code that only looks like it: nothing is
 * to be found here.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

struct window {
	struct page **pages;
	unsigned int nr;
	void *addr;
	unsigned long flags;
};

static int window_map(struct window *window)
{
	window->addr = vmap(window->pages, window->nr, VM_MAP, PAGE_KERNEL);
	return window->addr ? 0 : -ENOMEM;
}

static vm_fault_t window_fault(struct vm_fault *vmf)
{
	struct window *window = vmf->vma->vm_private_data;

	if (vmf->pgoff >= window->nr)
		return VM_FAULT_SIGBUS;
	return vmf_insert_page(vmf->vma, vmf->address, window->pages[vmf->pgoff]);
}

/* Reads entries; writes copies of them, and by the kernel's helpers. */
static int window_make_read_only(pte_t *ptep, unsigned long addr, void *data)
{
	struct window *window = data;
	pte_t copies[4], pte = ptep_get(ptep);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(copies); i++)
		copies[i] = pte;
	copies[0].pte |= _PAGE_NX;
	pte.pte &= ~_PAGE_RW;
	if (pte_none(copies[0]))
		clear_bit(0, &window->flags);
	set_pte_at(&init_mm, addr, ptep, pte_wrprotect(pte));
	return 0;
}

static int window_protect(struct window *window)
{
	unsigned long addr = (unsigned long)window->addr;

	return apply_to_page_range(&init_mm, addr, window->nr * PAGE_SIZE,
				   window_make_read_only, window);
}

/* Tables that the kernel hands out, links and takes back. */
static int window_tables(pmd_t *pmd)
{
	pte_t *ptes = pte_alloc_one_kernel(&init_mm);
	struct page *page = alloc_page(GFP_KERNEL);
	pmd_t *none = NULL;

	if (!ptes || !page)
		return -ENOMEM;
	pmd_populate_kernel(&init_mm, pmd, ptes);
	pmd_clear(pmd);
	pte_free_kernel(&init_mm, ptes);
	memset(page_address(page), 0, PAGE_SIZE);
	__free_page(page);
	return pmd == none;
}

static bool window_is_mapped(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);

	return pgd_present(*pgd) && (read_cr0() & X86_CR0_WP);
}

/* In a section: entries, and variables. */
static void window_clear(struct window *window, pte_t *ptep, unsigned int nr)
{
	unsigned int cleared = 0;

	scoped_guard(kpkeys_pgtables_section, nr) {
		for (; nr; nr--, ptep++) {
			if (pte_none(READ_ONCE(*ptep)))
				continue;
			set_pte(ptep, __pte(0));
			cleared++;
		}
	}
	window->nr -= cleared;
	pr_debug("%u cleared\n", cleared);
}

/* A helper of the kernel's own kind. */
static void window_set_entry(pte_t *ptep, pte_t pte)
{
	if (kpkeys_must_raise())
		return kpkeys_set_pte(ptep, pte);
	WRITE_ONCE(*ptep, pte);
}

static void window_set_guarded(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	*ptep = pte;
}

MODULE_LICENSE("GPL");
