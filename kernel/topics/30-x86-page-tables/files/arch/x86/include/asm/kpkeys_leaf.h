/* SPDX-License-Identifier: GPL-2.0-only */
/* What entries may map that is not ordinary: in line, for sections that ask. */
#ifndef _ASM_X86_KPKEYS_LEAF_H
#define _ASM_X86_KPKEYS_LEAF_H

#include <linux/kpkeys_frames.h>
#include <asm/cpufeature.h>
#include <asm/pgtable_types.h>

static __always_inline int kpkeys_pkey_of(u64 value)
{
	return (value & _PAGE_PKEY_MASK) >> _PAGE_BIT_PKEY_BIT0;
}

/**
 * struct kpkeys_privacy - how entries say that the host may not read; read-only after init
 * @mask: the bit, 0 if there is none
 * @private: what it is then
 */
extern struct kpkeys_privacy {
	u64 mask;
	u64 private;
} kpkeys_privacy;

/**
 * arch_kpkeys_leaf_fits - may an entry map a frame that is not ordinary?
 * @value: of the entry
 * @frame: what the frame is
 *
 * Text and read-only data may be mapped, as the vDSO is, but not written; a
 * dirty entry of user space that is not writable is a shadow stack. All else
 * has its key in each mapping and is the kernel's; but state that the CPU reads,
 * of a TSS, is mapped read-only as well. By another bit of encryption it would
 * read as something else.
 */
static __always_inline bool arch_kpkeys_leaf_fits(u64 value, enum kpkeys_frame frame)
{
	if (kpkeys_frame_is_constant(frame))
		return !(value & _PAGE_RW) &&
		       (value & (_PAGE_USER | _PAGE_DIRTY)) !=
		       (_PAGE_USER | _PAGE_DIRTY);
	if ((value & _PAGE_USER) || (value & kpkeys_privacy.mask) != kpkeys_privacy.private)
		return false;
	return kpkeys_frame_has_key(frame, kpkeys_pkey_of(value)) ||
	       (frame == KPKEYS_FRAME_STATE && !(value & _PAGE_RW));
}

/**
 * arch_kpkeys_leaf_is_data - does an entry map what the kernel alone uses, and does not run?
 * @value: of the entry
 */
static __always_inline bool arch_kpkeys_leaf_is_data(u64 value)
{
	return (value & (_PAGE_USER | _PAGE_NX)) == _PAGE_NX;
}

/**
 * arch_kpkeys_leaf_runs - does the kernel run what an entry of its own tables maps?
 * @value: of the entry
 *
 * Whoever has it besides.
 */
static __always_inline bool arch_kpkeys_leaf_runs(u64 value)
{
	return (value & (_PAGE_PRESENT | _PAGE_NX)) == _PAGE_PRESENT;
}

/**
 * arch_kpkeys_leaf_is_users - does an entry of the kernel's tables map what user space has?
 * @value: of the entry
 *
 * The entries above may say yes, though they are the kernel's. Each process would have it.
 */
static __always_inline bool arch_kpkeys_leaf_is_users(u64 value)
{
	return (value & (_PAGE_PRESENT | _PAGE_USER)) == (_PAGE_PRESENT | _PAGE_USER);
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
 * One that leads to a table has no key.
 */
static __always_inline bool arch_kpkeys_leaf_has_key(u64 value, int level)
{
	return (value & _PAGE_PRESENT) && kpkeys_pkey_of(value);
}

/**
 * arch_kpkeys_link_is_private - may a process have a table by this link?
 * @value: of the link
 */
static __always_inline bool arch_kpkeys_link_is_private(u64 value)
{
	return value & _PAGE_USER;
}

#define ARCH_KPKEYS_TABLE_SLOT	0UL	/* none */

/* Where in a root: from there on it has copies of the kernel's entries. */
#define ARCH_KPKEYS_COPY_BEGINS	(PAGE_SIZE / 2)

/* Entries are single. */
#define kpkeys_nr_contiguous(value, level)	1

/**
 * kpkeys_leads_on - does a CPU go on from an entry to a table?
 * @value: of an entry above the last level
 *
 * The first frame has the number by which kpkeys_table_pfn() says that there is none.
 */
static __always_inline bool kpkeys_leads_on(u64 value)
{
	return (value & (_PAGE_PRESENT | _PAGE_PSE)) == _PAGE_PRESENT;
}

#endif /* _ASM_X86_KPKEYS_LEAF_H */
