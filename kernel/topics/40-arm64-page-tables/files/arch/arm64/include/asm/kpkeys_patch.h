/* SPDX-License-Identifier: GPL-2.0-only */
/* Where text is written. */
#ifndef _ASM_ARM64_KPKEYS_PATCH_H
#define _ASM_ARM64_KPKEYS_PATCH_H

#include <linux/kpkeys_patching.h>
#include <linux/types.h>

#include <asm/barrier.h>
#include <asm/fixmap.h>
#include <asm/kpkeys_mm.h>
#include <asm/pgtable.h>
#include <asm/tlbflush.h>

struct jump_entry;

typedef u32 kpkeys_insn_t;

/* Where the guards are being enabled they are met half enabled. */
static inline bool kpkeys_writes_text(void)
{
	return !kpkeys_patches_alias() && kpkeys_pgtables_enabled();
}

#ifdef KPKEYS_BUILT_IN

/**
 * struct kpkeys_patch_slot - where text is mapped for as long as it is written
 * @entry: of the slot
 * @prot: what it has besides a page
 */
struct kpkeys_patch_slot {
	pte_t		*entry;
	pteval_t	prot;
};

extern struct kpkeys_patch_slot kpkeys_patch_slot;

#define ARCH_KPKEYS_PATCH_SLOT	fix_to_virt(FIX_TEXT_POKE0)

static __always_inline void arch_kpkeys_map_text(unsigned long pfn)
{
	WRITE_ONCE(*kpkeys_patch_slot.entry,
		   __pte(__phys_to_pte_val(PFN_PHYS(pfn)) | kpkeys_patch_slot.prot));
	dsb(ishst);
	isb();
}

/* In all TLBs: another CPU may know what was there. */
static __always_inline void arch_kpkeys_unmap_text(void)
{
	WRITE_ONCE(*kpkeys_patch_slot.entry, __pte(0));
	dsb(ishst);
	__tlbi(vaale1is, ARCH_KPKEYS_PATCH_SLOT >> 12 & GENMASK_ULL(43, 0));
	__tlbi_sync_s1ish_kernel();
	isb();
}

void arch_kpkeys_patch_init(void);
bool kpkeys_write_jump(const struct jump_entry *entry, bool jump);

#else

static inline bool kpkeys_write_jump(const struct jump_entry *entry, bool jump)
{
	return false;
}

#endif /* KPKEYS_BUILT_IN */

#endif /* _ASM_ARM64_KPKEYS_PATCH_H */
