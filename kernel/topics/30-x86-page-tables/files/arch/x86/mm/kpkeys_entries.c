// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers that write entries, for where no section is open, and where what an
 * entry maps is to be looked at.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_patching.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/kpkeys_leaf.h>
#include <asm/kpkeys_mm.h>
#include <asm/sections.h>

#include "kpkeys/addresses.h"
#include "kpkeys/links.h"
#include "kpkeys/slots.h"

static unsigned long mapped_pfn(pte_t pte)
{
	return pte_flags(pte) & _PAGE_PRESENT ? kpkeys_present_pfn(pte) : ULONG_MAX;
}

static bool is_refused(pte_t *ptep, pte_t pte)
{
	return kpkeys_refuse_leaf(ptep, pte_val(pte), mapped_pfn(pte), 1);
}

static __always_inline bool is_ordinary(pte_t *ptep, pte_t pte)
{
	if (kpkeys_is_typed(pte))
		return false;
	if (likely(kpkeys_is_pte_slot(ptep)))
		return kpkeys_is_private(pte.pte);
	return kpkeys_is_open_kernel_slot(ptep) &&
	       !arch_kpkeys_leaf_is_users(pte.pte) &&
	       !kpkeys_runs_anew(ptep, slot_pfn(ptep), pte.pte);
}

/*
 * What is looked at and then written in one section is written before its frame
 * becomes something else: see kpkeys_set_flushed().
 */
static __always_inline bool set_ordinary(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(pte.pte);
	if (!is_ordinary(ptep, pte))
		return false;
	WRITE_ONCE(*ptep, pte);
	return true;
}

/* Out of line, so that the way above saves no register for it. */
static noinline void set_other(pte_t *ptep, pte_t pte)
{
	u64 old;

	if (!kpkeys_is_pte_slot(ptep) && kpkeys_set_elsewhere(ptep, pte_val(pte)))
		return;
	if (!is_refused(ptep, pte))
		kpkeys_exchange_leaf(ptep, pte_val(pte), &old);
}

/**
 * kpkeys_set_pte - native_set_pte() where page tables are protected
 * @ptep: where
 * @pte: what
 */
void kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	if (unlikely(!set_ordinary(ptep, pte)))
		set_other(ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

#ifdef ptep_try_set
static __always_inline int try_set_ordinary(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	kpkeys_reread(pte.pte);
	if (!is_ordinary(ptep, pte))
		return -EPERM;
	return !cmpxchg(&ptep->pte, 0, pte.pte);
}

/**
 * kpkeys_try_set_pte - ptep_try_set() where page tables are protected
 * @ptep: where
 * @pte: what
 *
 * Return: false if another entry is there. Who tries again would try for ever what
 * must not be written, so that is true.
 */
bool kpkeys_try_set_pte(pte_t *ptep, pte_t pte)
{
	int done = try_set_ordinary(ptep, pte);

	if (done >= 0)
		return done;
	if (!pte_none(READ_ONCE(*ptep)))
		return false;
	set_other(ptep, pte);
	return true;
}
EXPORT_SYMBOL_GPL(kpkeys_try_set_pte);
#endif

/**
 * kpkeys_refuse_block - may an entry above the last level not be written?
 * @entry: where
 * @value: what; if it leads to a table, whoever writes it looks at that
 * @size: what an entry of this level spans
 */
bool kpkeys_refuse_block(const void *entry, u64 value, unsigned long size)
{
	unsigned long pfn = PHYS_PFN(value & PTE_PFN_MASK), nr = PHYS_PFN(size);

	if ((value & (_PAGE_PRESENT | _PAGE_PSE)) != (_PAGE_PRESENT | _PAGE_PSE))
		return false;
	return kpkeys_refuse_leaf(entry, value, ALIGN_DOWN(pfn, nr), nr);
}
EXPORT_SYMBOL_GPL(kpkeys_refuse_block);

/**
 * kpkeys_set_pmd - native_set_pmd() where page tables are protected
 * @pmdp: where
 * @pmd: what
 */
void kpkeys_set_pmd(pmd_t *pmdp, pmd_t pmd)
{
	guard(preempt)();
	if (kpkeys_refuse_block(pmdp, native_pmd_val(pmd), PMD_SIZE))
		return;
	/* Who waits for a huge page to be split would wait for ever. */
	if (!kpkeys_set_entry(pmdp, native_pmd_val(pmd), KPKEYS_LEVEL_PTE))
		kpkeys_set_entry(pmdp, 0, KPKEYS_LEVEL_PTE);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pmd);

/**
 * kpkeys_set_pud - native_set_pud() where page tables are protected
 * @pudp: where
 * @pud: what
 */
void kpkeys_set_pud(pud_t *pudp, pud_t pud)
{
	guard(preempt)();
	if (kpkeys_refuse_block(pudp, native_pud_val(pud), PUD_SIZE))
		return;
	if (!kpkeys_set_entry(pudp, native_pud_val(pud), KPKEYS_LEVEL_PMD))
		kpkeys_set_entry(pudp, 0, KPKEYS_LEVEL_PMD);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pud);

/**
 * kpkeys_exchange_pmd - xchg() of an entry where page tables are protected
 * @pmdp: where
 * @pmd: what
 *
 * Return: what was there, and still is if @pmd must not be written.
 */
pmd_t kpkeys_exchange_pmd(pmd_t *pmdp, pmd_t pmd)
{
	guard(preempt)();
	if (kpkeys_refuse_block(pmdp, native_pmd_val(pmd), PMD_SIZE))
		return READ_ONCE(*pmdp);
	return native_make_pmd(kpkeys_exchange_entry(pmdp, native_pmd_val(pmd),
						     KPKEYS_LEVEL_PTE));
}
EXPORT_SYMBOL_GPL(kpkeys_exchange_pmd);

/**
 * kpkeys_exchange_pud - xchg() of an entry where page tables are protected
 * @pudp: where
 * @pud: what
 *
 * Return: as kpkeys_exchange_pmd().
 */
pud_t kpkeys_exchange_pud(pud_t *pudp, pud_t pud)
{
	guard(preempt)();
	if (kpkeys_refuse_block(pudp, native_pud_val(pud), PUD_SIZE))
		return READ_ONCE(*pudp);
	return native_make_pud(kpkeys_exchange_entry(pudp, native_pud_val(pud),
						     KPKEYS_LEVEL_PMD));
}
EXPORT_SYMBOL_GPL(kpkeys_exchange_pud);

/* The kernel does not run what user space has there. */
static __always_inline u64 kernels_top(u64 value)
{
	if ((value & (_PAGE_USER | _PAGE_PRESENT)) == (_PAGE_USER | _PAGE_PRESENT) &&
	    (__supported_pte_mask & _PAGE_NX))
		return value | _PAGE_NX;
	return value;
}

/*
 * As __pti_set_user_pgtbl() does it, which does the same where nothing is protected.
 * But a table that was unlinked meanwhile stays so, in both halves: who waits until
 * CPUs forget it waits for this section, too.
 */
static noinline __flatten void set_user_top(u64 *entry, u64 value)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	kpkeys_reread(value);
	if (!kpkeys_has_user_half(entry) || READ_ONCE(*entry) != value ||
	    (value & _PAGE_NOPTISHADOW) || !pgdp_maps_userspace(entry))
		return;
	WRITE_ONCE(*(entry + PTRS_PER_PGD), value);
	if (cmpxchg(entry, value, kernels_top(value)) != value)
		WRITE_ONCE(*(entry + PTRS_PER_PGD), 0);
}

static noinline __flatten void clear_user_top(u64 *entry)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	if (kpkeys_has_user_half(entry) && pgdp_maps_userspace(entry))
		WRITE_ONCE(*(entry + PTRS_PER_PGD), 0);
}

static bool leads_elsewhere(const u64 *entry, u64 value)
{
	unsigned long table = kpkeys_table_pfn(READ_ONCE(*entry));

	return table && table != kpkeys_table_pfn(value);
}

/*
 * Not before the table is known to be one: isolation writes both halves. Nor does
 * user space go on with one that is free once it is unlinked.
 */
static void set_top(void *entry, u64 value, unsigned int level)
{
	if (cpu_feature_enabled(X86_FEATURE_PTI) && leads_elsewhere(entry, value))
		clear_user_top(entry);
	if (kpkeys_set_entry(entry, value, level) && cpu_feature_enabled(X86_FEATURE_PTI))
		set_user_top(entry, value);
}

/**
 * kpkeys_set_p4d - native_set_p4d() where page tables are protected
 * @p4dp: where; with four levels a top-level entry
 * @p4d: what
 */
void kpkeys_set_p4d(p4d_t *p4dp, p4d_t p4d)
{
	if (pgtable_l5_enabled())
		kpkeys_set_entry(p4dp, native_p4d_val(p4d), KPKEYS_LEVEL_PUD);
	else
		set_top(p4dp, native_p4d_val(p4d), KPKEYS_LEVEL_PUD);
}
EXPORT_SYMBOL_GPL(kpkeys_set_p4d);

/**
 * kpkeys_set_pgd - native_set_pgd() where page tables are protected
 * @pgdp: where
 * @pgd: what
 */
void kpkeys_set_pgd(pgd_t *pgdp, pgd_t pgd)
{
	set_top(pgdp, native_pgd_val(pgd), KPKEYS_LEVEL_P4D);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pgd);

static unsigned long entry_size(const void *entry)
{
	if (kpkeys_table_level(kpkeys_entry_pfn(entry)) == KPKEYS_LEVEL_PUD)
		return PUD_SIZE;
	return PMD_SIZE;
}

/**
 * kpkeys_set_kernel_entry - write an entry of the direct map
 * @entry: where, at any level but the last
 * @value: what
 */
void kpkeys_set_kernel_entry(void *entry, u64 value)
{
	if (!kpkeys_refuse_block(entry, value, entry_size(entry)))
		kpkeys_set_entry(entry, value, 0);
}

static __always_inline bool is_pte_run(const pte_t *ptep, unsigned int nr)
{
	return kpkeys_is_pte_slot(ptep) &&
	       offset_in_page(ptep) + nr * sizeof(*ptep) <= PAGE_SIZE;
}

/* Behind the last number that fits into an entry the first one follows. */
static __always_inline bool wraps(pte_t pte, unsigned int nr)
{
	unsigned long first = kpkeys_present_pfn(pte);

	pte.pte += (nr - 1) * PAGE_SIZE;
	return kpkeys_present_pfn(pte) < first;
}

static void set_one_by_one(pte_t *ptep, pte_t pte, unsigned int nr)
{
	for (; nr; nr--, ptep++, pte = pte_next_pfn(pte))
		kpkeys_set_pte(ptep, pte);
}

/* Asked in the section, whose registers nobody changes. */
static noinline __flatten bool set_run(pte_t *ptep, pte_t pte, unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	kpkeys_reread(ptep);
	kpkeys_reread(pte.pte);
	kpkeys_reread(nr);
	if (!is_pte_run(ptep, nr) || !(pte_flags(pte) & _PAGE_PRESENT) ||
	    !kpkeys_is_private(pte.pte) || wraps(pte, nr) ||
	    !kpkeys_are_ordinary(kpkeys_present_pfn(pte), nr))
		return false;
	for (; nr; nr--, ptep++, pte = pte_next_pfn(pte))
		WRITE_ONCE(*ptep, pte);
	return true;
}

/**
 * kpkeys_set_ptes - set_ptes() where page tables are protected
 * @ptep: where
 * @pte: the first entry
 * @nr: how many
 */
void kpkeys_set_ptes(pte_t *ptep, pte_t pte, unsigned int nr)
{
	if (nr == 1)
		kpkeys_set_pte(ptep, pte);
	else if (!set_run(ptep, pte, nr))
		set_one_by_one(ptep, pte, nr);
}
EXPORT_SYMBOL_GPL(kpkeys_set_ptes);

/* What was there is told when the gate is shut: where to, is on the stack. */
static bool clear_slot(pte_t *ptep, u64 *old)
{
	u64 seen;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_reread(ptep);
		if (!kpkeys_is_open_slot(ptep))
			return false;
		seen = xchg(&ptep->pte, 0);
	}
	*old = seen;
	return true;
}

/**
 * kpkeys_clear_pte - native_ptep_get_and_clear() where tables are protected
 * @ptep: where
 *
 * Return: what was there.
 */
pte_t kpkeys_clear_pte(pte_t *ptep)
{
	u64 old;

	if (likely(clear_slot(ptep, &old)) || kpkeys_clear_elsewhere(ptep, &old))
		return native_make_pte(old);
	if (is_refused(ptep, native_make_pte(0)) ||
	    !kpkeys_exchange_leaf(ptep, 0, &old))
		return native_make_pte(0);
	return native_make_pte(old);
}
EXPORT_SYMBOL_GPL(kpkeys_clear_pte);

static noinline __flatten void wrprotect_one(pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(ptep);
	if (kpkeys_is_pte_slot(ptep) || kpkeys_are_entries(ptep, 1))
		___ptep_set_wrprotect(ptep);
}

static noinline __flatten void wrprotect_run(pte_t *ptep, unsigned int nr)
{
	guard(kpkeys_pgtables_section)(nr);
	kpkeys_reread(ptep);
	kpkeys_reread(nr);
	if (!is_pte_run(ptep, nr) && !kpkeys_are_entries(ptep, nr))
		return;
	for (; nr; nr--, ptep++)
		___ptep_set_wrprotect(ptep);
}

/**
 * kpkeys_wrprotect_ptes - wrprotect_ptes() outside a section
 * @ptep: where
 * @nr: how many
 */
void kpkeys_wrprotect_ptes(pte_t *ptep, unsigned int nr)
{
	if (!is_pte_run(ptep, nr) && kpkeys_refuse_change(ptep, nr))
		return;
	if (nr == 1)
		wrprotect_one(ptep);
	else
		wrprotect_run(ptep, nr);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_ptes);

static noinline __flatten void wrprotect_pmd(pmd_t *pmdp)
{
	pmd_t old;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pmdp);
	if (!kpkeys_are_entries(pmdp, 1))
		return;
	old = READ_ONCE(*pmdp);
	while (!try_cmpxchg((long *)pmdp, (long *)&old, pmd_val(pmd_wrprotect(old))))
		;
}

/**
 * kpkeys_wrprotect_pmd - pmdp_set_wrprotect() where page tables are protected
 * @pmdp: where
 */
void kpkeys_wrprotect_pmd(pmd_t *pmdp)
{
	if (!kpkeys_refuse_change(pmdp, 1))
		wrprotect_pmd(pmdp);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_pmd);

static noinline __flatten bool clear_young(void *entry)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	return kpkeys_are_entries(entry, 1) &&
	       test_and_clear_bit(_PAGE_BIT_ACCESSED, entry);
}

/**
 * kpkeys_clear_young - have an entry no longer be accessed
 * @entry: where, at any level
 *
 * Return: whether it was.
 */
bool kpkeys_clear_young(void *entry)
{
	return (READ_ONCE(*(u64 *)entry) & _PAGE_ACCESSED) &&
	       !kpkeys_refuse_change(entry, 1) && clear_young(entry);
}

/* Before there is a table of frames any page may be one. */
static __always_inline bool is_new_pte_table(const void *table)
{
	return !offset_in_page(table) &&
	       (!no_table || kpkeys_frame_byte(slot_pfn(table)) ==
			     KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PTE, KPKEYS_LINK_NONE));
}

/**
 * kpkeys_fill_table - fill a table that takes the place of a block of the kernel's
 * @table: of the last level, as kpkeys_begin_table() said; no entry leads to it
 * @pte: the first entry; the others map what follows
 *
 * Return: false if entries are to be set one by one, as one of them may not be.
 */
noinline __flatten bool kpkeys_fill_table(pte_t *table, pte_t pte)
{
	unsigned int i;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(table);
	kpkeys_reread(pte.pte);
	if (!is_new_pte_table(table) || !(pte.pte & _PAGE_PRESENT))
		return false;
	for (i = 0; i < PTRS_PER_PTE; i++, table++, pte.pte += PAGE_SIZE) {
		if (!kpkeys_may_map(pte.pte, kpkeys_frame(kpkeys_present_pfn(pte))))
			return false;
		WRITE_ONCE(*table, pte);
	}
	return true;
}

/**
 * kpkeys_restore_runs - hibernation's restore, or kexec, has its last code in an ordinary page
 *
 * Nothing of this kernel is left if that succeeds, and one CPU runs.
 */
void kpkeys_restore_runs(void)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.only_text_runs = false;
}

struct kpkeys_privacy kpkeys_privacy __ro_after_init;

static int __init note_privacy(void)
{
	pgprot_t none = __pgprot(0);

	kpkeys_privacy.private = pgprot_val(pgprot_encrypted(none));
	kpkeys_privacy.mask = kpkeys_privacy.private | pgprot_val(pgprot_decrypted(none));
	return 0;
}
early_initcall(note_privacy);

/**
 * kpkeys_refuse_sharing - may the host not be told that pages become shared or private?
 * @addr: of the first page
 * @nr: how many
 *
 * It may clear them then, or they read as something else.
 */
bool kpkeys_refuse_sharing(unsigned long addr, unsigned int nr)
{
	if (!kpkeys_pgtables_enabled())
		return false;
	for (; nr; nr--, addr += PAGE_SIZE)
		if (kpkeys_frame(PHYS_PFN(slow_virt_to_phys((void *)addr))) !=
		    KPKEYS_FRAME_ORDINARY)
			return kpkeys_refuse("share", "a page with a key", (void *)addr, NULL);
	return false;
}
