// SPDX-License-Identifier: GPL-2.0-only
/* The slot by which text is written, and jump labels, which find theirs by their entry. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitfield.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kpkeys_arch.h>
#include <linux/percpu.h>

#include <asm/cacheflush.h>
#include <asm/kpkeys_patch.h>

#include "kpkeys/text.h"

#define INSN_NOP	0xd503201fU
#define INSN_B		0x14000000U
#define INSN_B_DISP	GENMASK(25, 0)

struct kpkeys_patch_slot kpkeys_patch_slot __ro_after_init;

/**
 * arch_kpkeys_patch_init - find the slot by which text is written
 */
void __init arch_kpkeys_patch_init(void)
{
	unsigned long addr = ARCH_KPKEYS_PATCH_SLOT;

	kpkeys_patch_slot.entry = pte_offset_kernel(pmd_off_k(addr), addr);
	kpkeys_patch_slot.prot = pgprot_val(PAGE_KERNEL) |
				 FIELD_PREP(PTE_PO_IDX_MASK, KPKEYS_PKEY_PGTABLES);
}

/* Of what is kept. The kernel's own text is patched by its own table alone. */
static __always_inline bool write_insn(bool ask)
{
	const struct jump_entry *entry = (const void *)kpkeys_kept(source);
	u32 insn = INSN_NOP;

	if (is_builtin(entry) && is_for_ever(entry) &&
	    (ask || kpkeys_state.mode != KPKEYS_AUDIT))
		return false;
	kpkeys_keep(end, jump_entry_code(entry));
	if (kpkeys_kept(done))
		insn = INSN_B | FIELD_PREP(INSN_B_DISP,
					   ((jump_entry_target(entry) - kpkeys_kept(end)) >> 2) &
					   INSN_B_DISP);
	if (kpkeys_kept(end) % sizeof(insn))
		return false;
	/* Twice, so that it is there in either byte order. */
	kpkeys_keep(value, (__force u32)cpu_to_le32(insn) * 0x100000001ULL);
	aim_at(kpkeys_kept(end), raw_cpu_ptr(&kpkeys_cpu.kept.value), sizeof(insn), false);
	return write_text(is_builtin(entry), ask);
}

static noinline __flatten enum kpkeys_patched write_jump(const struct jump_entry *entry,
							 bool jump, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	kpkeys_reread(jump);
	kpkeys_reread(ask);
	kpkeys_keep(source, (const u64 *)entry);
	kpkeys_keep(done, jump);
	return take_slot() ? leave_slot(write_insn(ask)) : KPKEYS_PATCH_BUSY;
}

/**
 * kpkeys_write_jump - patch a jump label
 * @entry: says where it is, and where it leads
 * @jump: it is to jump, or to go on
 *
 * Return: false if the entry can be written and its text is the kernel's.
 */
bool kpkeys_write_jump(const struct jump_entry *entry, bool jump)
{
	unsigned long addr = jump_entry_code(entry);
	enum kpkeys_patched done;
	bool ask = true;

	scoped_guard(irqsave) {
		do {
			done = write_jump(entry, jump, ask);
		} while (is_to_repeat(done, &ask, entry));
	}
	caches_clean_inval_pou(addr, addr + sizeof(u32));
	return done == KPKEYS_PATCHED;
}
