/* SPDX-License-Identifier: GPL-2.0-only */
/* What entries may map that is not ordinary: in line, for sections that ask. */
#ifndef _ASM_ARM64_KPKEYS_LEAF_H
#define _ASM_ARM64_KPKEYS_LEAF_H

#include <linux/bitfield.h>
#include <linux/kpkeys_frames.h>
#include <asm/pgtable-hwdef.h>
#include <asm/pgtable-prot.h>

/* Nowhere in a root are copies of the kernel's entries: CPUs have another one for these. */
#define ARCH_KPKEYS_COPY_BEGINS	PAGE_SIZE

/* User space may execute a page that it may not read. */
static __always_inline bool kpkeys_is_for_user(u64 value)
{
	return (value & PTE_USER) || !(value & PTE_UXN);
}

/**
 * arch_kpkeys_leaf_fits - may an entry map a frame that is not ordinary?
 * @value: of the entry
 * @frame: what the frame is
 *
 * Text and read-only data may be mapped, as the vDSO is, but not written. All
 * else has its key in each mapping and is the kernel's; but for tables among
 * the image's read-only data, which it maps without keys.
 */
static __always_inline bool arch_kpkeys_leaf_fits(u64 value, enum kpkeys_frame frame)
{
	bool is_readonly = (value & PTE_RDONLY) && !(value & PTE_WRITE);

	if (kpkeys_frame_is_constant(frame))
		return is_readonly;
	if (kpkeys_is_for_user(value))
		return false;
	return (kpkeys_frame_is_table(frame) && is_readonly) ||
	       kpkeys_frame_has_key(frame, FIELD_GET(PTE_PO_IDX_MASK, value));
}

/**
 * arch_kpkeys_leaf_is_data - does an entry map what the kernel alone uses, and does not run?
 * @value: of the entry
 */
static __always_inline bool arch_kpkeys_leaf_is_data(u64 value)
{
	return (value & PTE_PXN) && !kpkeys_is_for_user(value);
}

/**
 * arch_kpkeys_leaf_runs - does the kernel run what an entry of its own tables maps?
 * @value: of the entry
 */
static __always_inline bool arch_kpkeys_leaf_runs(u64 value)
{
	return (value & (PTE_VALID | PTE_PXN)) == PTE_VALID;
}

/**
 * arch_kpkeys_leaf_is_users - does an entry of the kernel's tables map what user space has?
 * @value: of the entry
 *
 * Each process would have it.
 */
static __always_inline bool arch_kpkeys_leaf_is_users(u64 value)
{
	return (value & PTE_VALID) && kpkeys_is_for_user(value);
}

/**
 * arch_kpkeys_section_writes - does a section write past an entry that is read-only?
 * @value: of the entry
 */
static __always_inline bool arch_kpkeys_section_writes(u64 value)
{
	return false;
}

/**
 * arch_kpkeys_leaf_has_key - does an entry of the kernel's map what is keyed?
 * @value: of the entry
 * @level: KPKEYS_LEVEL_* of its table
 *
 * One that leads to a table has restrictions where others have the key.
 */
static __always_inline bool arch_kpkeys_leaf_has_key(u64 value, int level)
{
	if (level > KPKEYS_LEVEL_PTE && (value & PMD_TYPE_MASK) == PMD_TYPE_TABLE)
		return false;
	return (value & PTE_VALID) && FIELD_GET(PTE_PO_IDX_MASK, value);
}

/**
 * arch_kpkeys_link_is_private - may a process have a table by this link?
 * @value: of the link
 *
 * Each entry of the last level says by itself that the kernel does not run it.
 */
static __always_inline bool arch_kpkeys_link_is_private(u64 value)
{
	return true;
}

/* Slots of the fixmap are for tables, too: this one and those of other levels, beside it. */
#define ARCH_KPKEYS_TABLE_SLOT	fix_to_virt(FIX_PTE)

/**
 * kpkeys_nr_contiguous - how many entries a CPU may have in its TLB as one
 * @value: of one of them
 * @level: KPKEYS_LEVEL_* of its table
 */
static __always_inline unsigned int kpkeys_nr_contiguous(u64 value, int level)
{
	if (likely((value & (PTE_VALID | PTE_CONT)) != (PTE_VALID | PTE_CONT)))
		return 1;
	if (level == KPKEYS_LEVEL_PTE)
		return CONT_PTES;
	return (value & PMD_TYPE_MASK) == PMD_TYPE_TABLE ? 1 : CONT_PMDS;
}

/**
 * kpkeys_leads_on - does a CPU go on from an entry to a table?
 * @value: of an entry above the last level
 *
 * The first frame has the number by which kpkeys_table_pfn() says that there is none.
 */
static __always_inline bool kpkeys_leads_on(u64 value)
{
	return (value & PMD_TYPE_MASK) == PMD_TYPE_TABLE;
}

#endif /* _ASM_ARM64_KPKEYS_LEAF_H */
