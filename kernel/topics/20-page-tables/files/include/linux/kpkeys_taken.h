/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries that a section took out of a page table, until what they map is
 * accounted for with the gate shut. Some may go back, so nobody else shall
 * write here: it is keyed memory of the CPU, at an index that has a bound.
 *
 * For who holds a page-table lock, which keeps preemption off. Where it does
 * not, or where there are no keys, a few entries are on the stack instead.
 */
#ifndef _LINUX_KPKEYS_TAKEN_H
#define _LINUX_KPKEYS_TAKEN_H

#include <linux/kpkeys.h>
#include <linux/percpu-defs.h>
#include <linux/pgtable.h>
#include <linux/thread_info.h>

struct folio;
struct vm_fault;

static __always_inline void __clear_marked_ptes(struct vm_area_struct *vma,
						unsigned long base, pte_t *table,
						const unsigned long *marked,
						cydp_t flags)
{
	unsigned int i, end;

	for_each_set_bitrange(i, end, marked, PTRS_PER_PTE)
		clear_young_dirty_ptes(vma, base + i * PAGE_SIZE, table + i,
				       end - i, flags);
}

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES

#include <asm/kpkeys_taken.h>

#define KPKEYS_NR_TAKEN	512

/**
 * struct kpkeys_taken - what one CPU took; pages with KPKEYS_PKEY_STATE
 * @pte: the entries, as far apart as in a table
 */
struct kpkeys_taken {
	pte_t	pte[KPKEYS_NR_TAKEN];
} __aligned(PAGE_SIZE);

DECLARE_PER_CPU_PAGE_ALIGNED(struct kpkeys_taken, kpkeys_taken);

unsigned int __kpkeys_unlink_tables(pmd_t *pmd, pmd_t *unlinked, unsigned int nr,
				    pud_t *pud);

#else

static inline unsigned int __kpkeys_unlink_tables(pmd_t *pmd, pmd_t *unlinked,
						  unsigned int nr, pud_t *pud)
{
	return 0;
}

#define take_ptes		get_and_clear_full_ptes
#define write_swap_pte		set_pte_at

#endif

/* See __kpkeys_unlink_tables(). */
static __always_inline unsigned int kpkeys_unlink_tables(pmd_t *pmd, pmd_t *unlinked,
							 unsigned int nr, pud_t *pud)
{
	return kpkeys_pgtables_enabled() ?
	       __kpkeys_unlink_tables(pmd, unlinked, nr, pud) : 0;
}

static __always_inline unsigned int kpkeys_unlink_ptes(pmd_t *pmd, pmd_t *unlinked,
						       unsigned int nr)
{
	return kpkeys_unlink_tables(pmd, unlinked, nr, NULL);
}

#ifndef read_copied_ptes
/* Reads an entry, and returns how many belong together from there on. */
static __always_inline unsigned int read_copied_ptes(pte_t *ptep, pte_t *pte)
{
	*pte = ptep_get(ptep);
	return pte_batch_hint(ptep, *pte);
}
#endif

#ifndef nr_of_run
/* Nothing is contiguous but what helpers know. */
#define is_run(pte)				false
#define nr_of_run(ptep, pte, max)		1
#define unfold_edges(mm, ptep, addr, end)	do { } while (0)
#define fold_ptes(mm, ptep, addr, end)		do { (void)(ptep); (void)(addr); } while (0)
#endif

#ifndef set_plain_ptes
#define set_plain_ptes		set_ptes
#define wrprotect_plain_ptes	wrprotect_ptes
#define clear_plain_ptes	clear_full_ptes
#endif

#ifndef set_copied_ptes
static __always_inline bool protect_copied_ptes(struct mm_struct *mm,
						unsigned long addr, pte_t *ptep,
						pte_t pte, unsigned int nr)
{
	wrprotect_ptes(mm, addr, ptep, nr);
	return true;
}

/*
 * In a section, with entries of another table. Returns false if they must be
 * set with the gate shut.
 */
static __always_inline bool set_copied_ptes(struct mm_struct *mm,
					    unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned int nr)
{
	set_ptes(mm, addr, ptep, pte, nr);
	return true;
}
#endif

#ifndef sync_pte
#define needs_sync(vma)		false
#define sync_pte(pte)		do { } while (0)
#endif

#ifndef mkwrite_changed_pte
#define mkwrite_changed_pte	pte_mkwrite
#endif

#ifndef clear_marked_ptes
#define clear_marked_ptes	__clear_marked_ptes
#endif

#ifndef take_changed_pte
#define take_changed_pte(vma, addr, ptep, nr)				\
	ptep_modify_prot_start(vma, addr, ptep)
#define set_changed_pte(vma, addr, ptep, old, pte, nr)			\
	ptep_modify_prot_commit(vma, addr, ptep, old, pte)
#endif

#ifndef changes_are_single
#define changes_are_single()	false
#endif

/*
 * May an entry that is present be overwritten, and flushed behind that? Nobody
 * else uses the table, so nobody uses the old page once the new one is there.
 */
#ifndef overwrites_ptes
#define overwrites_ptes(vma)	false
#endif

#if defined(CONFIG_KPKEYS_HARDENED_PGTABLES) && !defined(CONFIG_PREEMPT_RT)

#define NR_TAKEN_PTES	KPKEYS_NR_TAKEN

struct taken_ptes { };

/* With the gate shut. */
static __always_inline pte_t *__taken_ptes(struct taken_ptes *taken)
{
	return raw_cpu_ptr(kpkeys_taken.pte);
}

/*
 * In a section: where they are, unless that is for the base register to say
 * each time, as its value in memory can be changed.
 */
#ifdef taken_base
#define begin_taken(taken)	taken_base(kpkeys_taken.pte)

static __always_inline pte_t __read_taken(const pte_t *base, unsigned long i)
{
	return READ_ONCE(base[i]);
}

static __always_inline void __write_taken(pte_t *base, unsigned long i, pte_t pte)
{
	WRITE_ONCE(base[i], pte);
}
#else
#define begin_taken(taken)	NULL

static __always_inline pte_t __read_taken(const pte_t *base, unsigned long i)
{
	return (pte_t) { .pte = raw_cpu_read(kpkeys_taken.pte[i].pte) };
}

static __always_inline void __write_taken(pte_t *base, unsigned long i, pte_t pte)
{
	raw_cpu_write(kpkeys_taken.pte[i].pte, pte.pte);
}
#endif

#else

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
#define NR_TAKEN_PTES	64

struct taken_ptes {
	pte_t	pte[NR_TAKEN_PTES] __aligned(NR_TAKEN_PTES * sizeof(pte_t));
};

static __always_inline pte_t *__taken_ptes(struct taken_ptes *taken)
{
	return taken->pte;
}

/* Where they are a stack says, so it is on this one; any other place faults. */
static __always_inline pte_t *begin_taken(struct taken_ptes *taken)
{
	unsigned long stack = current_stack_pointer & ~(THREAD_SIZE - 1);

	return (unsigned long)taken - stack <= THREAD_SIZE - sizeof(*taken) ? taken->pte : NULL;
}
#else
/* None are taken, so that those of a table are looked at together. */
#define NR_TAKEN_PTES	PTRS_PER_PTE

struct taken_ptes { };

static __always_inline pte_t *__taken_ptes(struct taken_ptes *taken)
{
	return NULL;
}

#define begin_taken	__taken_ptes
#endif

static __always_inline pte_t __read_taken(const pte_t *base, unsigned long i)
{
	return base[i];
}

static __always_inline void __write_taken(pte_t *base, unsigned long i, pte_t pte)
{
	base[i] = pte;
}

#endif

/* Entries from @addr on that can be taken at once end here. */
static __always_inline unsigned long taken_end(unsigned long addr)
{
	return ALIGN(addr + 1, NR_TAKEN_PTES * PAGE_SIZE);
}

static __always_inline unsigned long taken_index(unsigned long addr)
{
	return (addr >> PAGE_SHIFT) % NR_TAKEN_PTES;
}

/* With the gate shut: what was taken, side by side as in the table. */
static __always_inline pte_t *taken_ptep(struct taken_ptes *taken,
					 unsigned long addr)
{
	return __taken_ptes(taken) + taken_index(addr);
}

/* @base is what begin_taken() returned, in the same section. */
static __always_inline pte_t read_taken(const pte_t *base, unsigned long addr)
{
	return __read_taken(base, taken_index(addr));
}

/* In a section only. */
static __always_inline void write_taken(pte_t *base, unsigned long addr, pte_t pte)
{
	__write_taken(base, taken_index(addr), pte);
}

static __always_inline void write_taken_run(pte_t *base, unsigned long addr,
					    pte_t pte, unsigned int nr)
{
	for (; nr; nr--, addr += PAGE_SIZE, pte = pte_advance_pfn(pte, 1))
		write_taken(base, addr, pte);
}

/**
 * struct ptes_change - what mprotect() makes of the entries of a table
 * @vma: theirs
 * @prot: their new permissions
 * @flags: MM_CP_*
 * @noted: by pte_index(): which stay, if these are NUMA hints; else which may
 *	be written from now on
 * @pages: how many were changed
 * @flush_start: what has to be flushed, if that is less than @flush_end
 * @flush_end: its end
 */
struct ptes_change {
	struct vm_area_struct	*vma;
	pgprot_t		prot;
	unsigned long		flags;
	long			pages;
	unsigned long		flush_start;
	unsigned long		flush_end;
	DECLARE_BITMAP(noted, PTRS_PER_PTE);
};

#define NR_QUEUED_PTES	16

/**
 * struct ptes_queue - entries that are accounted for, and are not set yet
 * @nr: how many
 * @addr: what they map, all by one table
 * @pte: what they are to be
 */
struct ptes_queue {
	unsigned int	nr;
	unsigned long	addr[NR_QUEUED_PTES];
	pte_t		pte[NR_QUEUED_PTES];
};

/* mm/kpkeys/changes.c */
void note_ptes(struct ptes_change *change, pte_t *pte, unsigned long addr,
	       unsigned long end, int target_node);
unsigned long change_ptes(struct ptes_change *change, pte_t *pte,
			  unsigned long addr, unsigned long end);
/* Of most, one by one. */
static __always_inline void mark_ptes(unsigned long *marked, unsigned long addr,
				      unsigned int nr)
{
	if (likely(nr == 1))
		__set_bit(pte_index(addr), marked);
	else
		bitmap_set(marked, pte_index(addr), nr);
}

void clear_marked(struct vm_area_struct *vma, unsigned long base, pte_t *pte,
		  unsigned long *marked, cydp_t flags);

/* mm/kpkeys/sections.c */
void zap_take_ptes(struct mm_struct *mm, pte_t *pte, unsigned long addr,
		   unsigned long end, const unsigned long *keep, bool full,
		   struct taken_ptes *taken);
void zap_put_back_ptes(struct mm_struct *mm, pte_t *pte, unsigned long addr,
		       unsigned long end, struct taken_ptes *taken);
void copy_ptes(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma,
	       pte_t *dst, pte_t *src, unsigned long addr, unsigned long end,
	       const unsigned long *skip);
unsigned int __move_ptes(struct mm_struct *mm, pte_t *old, unsigned long old_addr,
			 pte_t *new, unsigned long new_addr, unsigned long size,
			 bool clear_uffd_wp);
void queue_pte_range(struct vm_fault *vmf, struct folio *folio,
		     struct page *page, unsigned int nr, unsigned long addr,
		     struct ptes_queue *queue);
void __queue_pte(struct ptes_queue *queue, struct vm_fault *vmf,
		 unsigned long addr, pte_t pte);
void __set_queued_ptes(struct ptes_queue *queue, struct vm_fault *vmf);

/* Where no section is opened for an entry there is nothing to wait for. */
static inline bool queue_pte(struct ptes_queue *queue, struct vm_fault *vmf,
			     unsigned long addr, pte_t pte)
{
	if (!queue || !kpkeys_pgtables_enabled())
		return false;
	__queue_pte(queue, vmf, addr, pte);
	return true;
}

static inline void set_queued_ptes(struct ptes_queue *queue,
				   struct vm_fault *vmf)
{
	if (kpkeys_pgtables_enabled() && queue->nr)
		__set_queued_ptes(queue, vmf);
}

static inline unsigned int move_present_ptes(struct mm_struct *mm, pte_t *old,
					     unsigned long old_addr, pte_t *new,
					     unsigned long new_addr,
					     unsigned long size,
					     bool clear_uffd_wp)
{
	unsigned int nr;

	if (!pte_present(ptep_get(old)))
		return 0;
	nr = __move_ptes(mm, old, old_addr, new, new_addr, size, clear_uffd_wp);
	fold_ptes(mm, new, new_addr, new_addr + nr * PAGE_SIZE);
	return nr;
}

/* mm/kpkeys/chains.c */
void __kpkeys_make_tables(struct mm_struct *mm, unsigned long addr);
void __kpkeys_make_copies(struct mm_struct *mm, struct mm_struct *from,
			  unsigned long addr);

/* No page can be mapped there by an entry above the last level. */
static __always_inline bool maps_small_pages(unsigned long addr, unsigned long start,
					     unsigned long end)
{
	unsigned long block = addr & PMD_MASK;

	return block < start || end - block < PMD_SIZE;
}

/* Of @addr, where @start to @end is or will be mapped. */
static inline void kpkeys_make_tables(struct mm_struct *mm, unsigned long addr,
				      unsigned long start, unsigned long end)
{
	if (kpkeys_pgtables_enabled() && maps_small_pages(addr, start, end))
		__kpkeys_make_tables(mm, addr);
}

static inline void kpkeys_make_copies(struct mm_struct *mm, struct mm_struct *from,
				      unsigned long start, unsigned long end)
{
	if (kpkeys_pgtables_enabled() && maps_small_pages(start, start, end))
		__kpkeys_make_copies(mm, from, start);
}

/* mm/kpkeys/vmalloc.c */
unsigned int __vmap_ptes(pte_t *ptep, struct page **pages, unsigned int nr,
			 pgprot_t prot);
unsigned int __vmap_run(pte_t *ptep, unsigned long pfn, unsigned int nr,
			pgprot_t prot);
unsigned int __vunmap_ptes(pte_t *ptep, unsigned int nr);

static inline unsigned int vmap_ptes(pte_t *ptep, struct page **pages,
				     unsigned long size, pgprot_t prot)
{
	if (!kpkeys_pgtables_enabled())
		return 0;
	return __vmap_ptes(ptep, pages, size / PAGE_SIZE, prot);
}

static inline unsigned int vmap_run(pte_t *ptep, unsigned long pfn,
				    unsigned long size, pgprot_t prot)
{
	if (!kpkeys_pgtables_enabled())
		return 0;
	return __vmap_run(ptep, pfn, size / PAGE_SIZE, prot);
}

static inline unsigned int vunmap_ptes(pte_t *ptep, unsigned long size)
{
	return kpkeys_pgtables_enabled() ? __vunmap_ptes(ptep, size / PAGE_SIZE) : 0;
}

#endif /* _LINUX_KPKEYS_TAKEN_H */
