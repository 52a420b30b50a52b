// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links between tables. Which page becomes a table, is put under an entry or
 * is freed, is said by ordinary data: struct page, lists, batches. So the table
 * of frames says of each table what level it is of and whether an entry leads
 * to it. A table is linked once, and freed when it is linked no more.
 */
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_ptp.h>
#include <linux/mm.h>
#include <linux/panic.h>

#include "addresses.h"
#include "brings.h"
#include "links.h"
#include "slots.h"
#include "tables.h"

/**
 * kpkeys_is_shadow - does an entry say what the other half of its table says?
 * @entry: in a page table
 */
bool kpkeys_is_shadow(const u64 *entry)
{
	u8 parent = kpkeys_frame_byte(kpkeys_entry_pfn(entry));

	return shadowed(entry, parent) &&
	       shadowed(entry, parent) == kpkeys_table_pfn(*entry);
}

/**
 * kpkeys_level_below_root - what level top-level entries lead to
 *
 * Folded ones are left out.
 */
unsigned int kpkeys_level_below_root(void)
{
	return level_below_root();
}

/* ---- the section, whose values are kept ---- */

static __always_inline unsigned long new_table(void)
{
	return kpkeys_table_pfn(kpkeys_kept(value));
}

static __always_inline unsigned long old_table(void)
{
	return kpkeys_table_pfn(kpkeys_kept(seen));
}

static __always_inline unsigned int entry_level(void)
{
	return level_above(kpkeys_kept(level));
}

/* What leads to the first frame has a table, and it is no table. */
static __always_inline bool maps_what_fits(void)
{
	return !kpkeys_leads_on(kpkeys_kept(value)) &&
	       kpkeys_block_is_fit(kpkeys_kept(entry), kpkeys_kept(value),
				   entry_level());
}

/* Once, however often the entry changes meanwhile. */
static __always_inline bool claim_new_table(void)
{
	if (kpkeys_kept(done) || old_table() == new_table())
		return true;
	if (!claim_below(kpkeys_kept(parent), new_table(), kpkeys_kept(level),
			 KPKEYS_LINK_ONE))
		return false;
	kpkeys_keep(done, true);
	return true;
}

/* Asked with what is linked known as the kernel's, so that nobody changes it. */
static __always_inline bool loses(void)
{
	unsigned long before = old_table();

	if (before && before != new_table() &&
	    is_shadowed(kpkeys_kept(entry), kpkeys_kept(parent), before))
		return true;
	if (!is_kernels(kpkeys_kept(parent)) &&
	    !(before && is_kernels(kpkeys_frame_byte(before))))
		return false;
	return kpkeys_loses(kpkeys_kept(seen), kpkeys_kept(value), entry_level());
}

/* Asked of a table that becomes the kernel's. */
static __always_inline bool comes_to_kernel(void)
{
	return is_kernels(kpkeys_kept(parent)) && kpkeys_processes_run &&
	       new_table() && new_table() != old_table() &&
	       kpkeys_state.mode != KPKEYS_AUDIT;
}

static __always_inline bool brings_keyed(void)
{
	return comes_to_kernel() &&
	       (kpkeys_leads_on(kpkeys_kept(seen)) ||
		!maps_needed(kpkeys_kept(seen), entry_level())) &&
	       any_entry(new_table(), is_keyed);
}

static __always_inline bool brings_no_kernels(void)
{
	return comes_to_kernel() && any_entry(new_table(), is_no_kernels);
}

/* A process's page is user space's if all entries above say so. */
static __always_inline bool hides_user(void)
{
	return !is_kernels(kpkeys_kept(parent)) && kpkeys_processes_run && new_table() &&
	       kpkeys_state.mode != KPKEYS_AUDIT &&
	       !arch_kpkeys_link_is_private(kpkeys_kept(value));
}

/* The kernel would run that: where it did, a table may say the same in smaller pieces. */
static __always_inline bool brings_text(void)
{
	u64 seen = kpkeys_kept(seen);

	return comes_to_kernel() &&
	       (kpkeys_leads_on(seen) || !arch_kpkeys_leaf_runs(seen)) &&
	       any_entry(new_table(), is_no_text);
}

static __always_inline void unlink_but(unsigned long pfn, unsigned long other)
{
	if (pfn && pfn != other && pfn != kpkeys_kept(table))
		unlink(pfn);
}

static __always_inline bool exchange_kept(void)
{
	u64 seen = READ_ONCE(*kpkeys_kept(entry));

	do {
		kpkeys_keep(seen, seen);
		if (!claim_new_table())
			return false;
		if (unlikely(loses() || brings_text() || brings_keyed() ||
			     brings_no_kernels())) {
			unlink_but(new_table(), old_table());
			return false;
		}
		seen = kpkeys_kept(seen);
	} while (!try_cmpxchg(kpkeys_kept(entry), &seen, kpkeys_kept(value)));
	kpkeys_entry_written(kpkeys_kept(value));
	unlink_but(old_table(), new_table());
	return true;
}

/* What was there is told when the gate is shut: where to, the stack says. */
static noinline __flatten bool exchange(u64 *entry, u64 value, unsigned int level,
					u64 *old)
{
	u64 seen;

	scoped_guard(kpkeys_hardened_pgtables) {
		kpkeys_reread(entry);
		kpkeys_reread(value);
		kpkeys_reread(level);
		kpkeys_keep(entry, entry);
		kpkeys_keep(value, value);
		kpkeys_keep(level, level);
		kpkeys_keep(parent, kpkeys_frame_byte(kpkeys_table_of(entry)));
		if (!kpkeys_has_links(kpkeys_kept(parent), kpkeys_kept(level)))
			return false;
		kpkeys_keep(table, shadowed(entry, kpkeys_kept(parent)));
		kpkeys_keep(done, !new_table() || new_table() == kpkeys_kept(table));
		if (is_in_copy(kpkeys_kept(entry), kpkeys_kept(parent)) || hides_user() ||
		    (!new_table() && !maps_what_fits()))
			return false;
		if (!exchange_kept())
			return false;
		seen = kpkeys_kept(seen);
	}
	*old = seen;
	return true;
}

static const char *why_not(unsigned long pfn)
{
	u8 frame = kpkeys_frame_byte(pfn);

	if (!is_table(frame))
		return kpkeys_frame_name(pfn);
	if (link_of(frame) >= KPKEYS_LINK_ONE)
		return "a page table in use";
	return "a page that is no such table";
}

static bool refuse_link(u64 value)
{
	unsigned long pfn = kpkeys_table_pfn(value);

	if (!kpkeys_leads_on(value))
		return kpkeys_refuse("change of a mapping", "protected memory",
				     NULL, NULL);
	return kpkeys_refuse("use as a page table", why_not(pfn),
			     pfn_to_kaddr(pfn), NULL);
}

/* A root is claimed where the kernel's half is copied to it, and not here. */
static noinline __flatten bool claim_one(unsigned long pfn, unsigned int level,
					 enum kpkeys_link link)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	kpkeys_reread(level);
	kpkeys_reread(link);
	return level >= KPKEYS_LEVEL_PTE && link <= KPKEYS_LINK_CLAIMED &&
	       level <= (link ? KPKEYS_LEVEL_P4D : KPKEYS_LEVEL_PGD) &&
	       claim(pfn, level, link);
}

/* From what to what is in the code: on a stack it could be changed. */
static noinline __flatten void drop_claim(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	change(pfn, KPKEYS_LINK_CLAIMED, KPKEYS_LINK_NONE);
}

/*
 * On a stack: it is filled by way of this entry before it is linked. Tables
 * that no CPU walks yet and that are ordinary memory, such as those that kexec
 * prepares, are not looked at.
 */
static void prepare(u64 *entry, u64 value, unsigned int level, u8 parent)
{
	unsigned long pfn = kpkeys_table_pfn(value);
	bool fits = !pfn || !kpkeys_frame_is_table(kpkeys_frame(pfn));

	if (!fits)
		fits = claim_one(pfn, level, KPKEYS_LINK_CLAIMED);
	else if (!value)
		drop_claim(kpkeys_table_pfn(*entry));
	if (!fits && refuse_link(value))
		value = kpkeys_with_table(value, __pa(no_table));
	kpkeys_write_outside(entry, value, parent);
}

static unsigned int level_below(u8 parent)
{
	unsigned int level = level_of(parent);

	return level > KPKEYS_LEVEL_PTE && level <= KPKEYS_LEVEL_PGD ?
	       level - 1 : KPKEYS_LEVEL_PTE;
}

/**
 * kpkeys_begin_level - say what level a table is of that has no entry yet
 * @pfn: its page frame
 * @level: KPKEYS_LEVEL_*
 *
 * Return: false if it is another page, or is of another level.
 */
bool kpkeys_begin_level(unsigned long pfn, unsigned int level)
{
	return claim_one(pfn, level, KPKEYS_LINK_NONE);
}

/**
 * kpkeys_begin_kernels - the same of a table of the kernel's
 * @pfn: its page frame; no entry leads to it
 * @level: KPKEYS_LEVEL_*
 *
 * Return: as kpkeys_begin_level().
 */
noinline __flatten bool kpkeys_begin_kernels(unsigned long pfn, unsigned int level)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	kpkeys_reread(level);
	return level >= KPKEYS_LEVEL_PTE && level <= KPKEYS_LEVEL_PGD &&
	       claim_below(KPKEYS_FRAME_KERNEL_TABLE, pfn, level, KPKEYS_LINK_NONE);
}

/**
 * kpkeys_begin_table - say what level a table of the kernel's is of before it is filled
 * @table: as it was allocated; no entry leads to it yet
 * @level: KPKEYS_LEVEL_*
 *
 * It may map what is keyed, as what it takes the place of did, and is linked to a
 * table of the kernel's only. One that is filled by set_pte() is of the last level
 * else, and is refused where another one is to be linked.
 */
void kpkeys_begin_table(const void *table, unsigned int level)
{
	if (no_table)
		kpkeys_begin_kernels(PHYS_PFN(__pa(table)), level);
}

/* One that is filled before it is linked has from its first entry on a level. */
static bool leads_to(u64 *entry, unsigned int level, u8 parent)
{
	unsigned int above = level_above(level);

	if (parent == TAKEN)
		return kpkeys_begin_level(kpkeys_entry_pfn(entry), above);
	return parent != GONE &&
	       min(level_of(parent), KPKEYS_LEVEL_PGD) == above;
}

/* Of what was asked about in audit mode only: the answer lay on a stack, maybe. */
static noinline __flatten u64 swap_entry(u64 *entry, u64 value)
{
	guard(kpkeys_hardened_pgtables)();
	if (no_table && kpkeys_state.mode != KPKEYS_AUDIT)
		return READ_ONCE(*entry);
	kpkeys_entry_written(value);
	return xchg(entry, value);
}

/*
 * Where the entry is may have been said by a stack, while its task slept: not in
 * a table of entries that map, nor in a page of the pool that holds no table.
 */
static bool write_in_table(u64 *entry, u64 value, unsigned int level, u8 parent,
			   u64 *old)
{
	if (likely(leads_to(entry, level, parent))) {
		if (unlikely(is_kernels(parent)))
			kpkeys_adopt_tables(kpkeys_table_pfn(value));
		if (likely(exchange(entry, value, level, old)))
			return true;
		if (refuse_link(value))
			return false;
	} else if (kpkeys_refuse("use as a page table", "what is no such table",
				 entry, NULL)) {
		return false;
	}
	*old = swap_entry(entry, value);
	return true;
}

static bool write_entry(u64 *entry, u64 value, unsigned int level, u64 *old)
{
	u8 parent = kpkeys_frame_byte(kpkeys_entry_pfn(entry));

	/* What is linked before links are entered is entered with them. */
	if (unlikely(!no_table)) {
		*old = swap_entry(entry, value);
		return true;
	}
	*old = READ_ONCE(*entry);
	if (is_table(parent))
		return write_in_table(entry, value, level ?: level_below(parent),
				      parent, old);
	prepare(entry, value, level, parent);
	return true;
}

/**
 * kpkeys_set_entry - write an entry that may lead to a table
 * @entry: where
 * @value: what; if it maps memory, that was looked at
 * @level: of the table that it leads to; 0: of the one below that of @entry
 *
 * Reports a link to what must not become a table there.
 *
 * Return: false if it was not written; in audit mode it is.
 */
bool kpkeys_set_entry(void *entry, u64 value, unsigned int level)
{
	u64 old;

	return write_entry(entry, value, level, &old);
}

/**
 * kpkeys_exchange_entry - write an entry that may lead to a table
 * @entry: where
 * @value: what; if it maps memory, that was looked at
 * @level: as for kpkeys_set_entry()
 *
 * Return: what was there, and still is if @value must not be written.
 */
u64 kpkeys_exchange_entry(void *entry, u64 value, unsigned int level)
{
	u64 old;

	write_entry(entry, value, level, &old);
	return old;
}

/**
 * kpkeys_share_table - one more entry is going to lead to a table of the kernel
 * @pfn: the table; it is never freed again
 */
__flatten void kpkeys_share_table(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	__kpkeys_share_table(pfn);
}

/* ---- what is linked already ---- */

static bool mark(void *ptp, int level, const char *name, void *arg)
{
	u8 *frame = frame_of(ptp);
	bool again;

	guard(kpkeys_hardened_pgtables)();
	again = link_of(*frame) >= KPKEYS_LINK_ONE;
	WRITE_ONCE(*frame, KPKEYS_KERNEL_TABLE(level, again ? KPKEYS_LINK_SHARED :
							      KPKEYS_LINK_ONE));
	return !again;
}

static bool mark_process(void *ptp, int level, const char *name, void *arg)
{
	u8 *frame = frame_of(ptp);

	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*frame, KPKEYS_TABLE(level_of(*frame), link_of(*frame)));
	return true;
}

/**
 * kpkeys_mark_process - what a top-level table maps for user space is not the kernel's
 * @pgd: entered as the kernel's; made while it starts
 */
void __init kpkeys_mark_process(pgd_t *pgd)
{
	kpkeys_walk_pgd(pgd, KPKEYS_WALK_USER, "", mark_process, NULL);
}

/**
 * kpkeys_mark_user_half - enter the second page of a top-level table
 * @pgd: the first one, made while the kernel starts
 */
void __init kpkeys_mark_user_half(const pgd_t *pgd)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*frame_at(PHYS_PFN(__pa(pgd)) + 1),
		   KPKEYS_TABLE(LEVEL_USER_PGD, KPKEYS_LINK_ONE));
}

/**
 * kpkeys_links_of - enter what a top-level table leads to
 * @pgd: made while the kernel starts
 */
void __init kpkeys_links_of(pgd_t *pgd)
{
	kpkeys_walk_pgd(pgd, KPKEYS_WALK_ALL, "", mark, NULL);
}

/**
 * kpkeys_links_init - enter the tables that are there when the kernel starts
 */
void __init kpkeys_links_init(void)
{
	void *table = ptp_alloc(GFP_KERNEL | __GFP_ZERO, 0);

	if (!table)
		panic("kpkeys: no memory for a page table that is none");
	kpkeys_walk_kernel(mark, NULL);
	arch_kpkeys_share_tables();
	no_table = table;
	kpkeys_table_keep(table);
}
