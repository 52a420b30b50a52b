/* SPDX-License-Identifier: GPL-2.0-only */
/* See arch/x86/entry/kpkeys_gs.S. */
#ifndef _ASM_X86_KPKEYS_GS_H
#define _ASM_X86_KPKEYS_GS_H

#include <linux/kpkeys.h>

struct pt_regs;

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
asmlinkage void kpkeys_note_user_gs(unsigned long frame);

/**
 * kpkeys_move_user_gs - an exception goes on with its frame at another place
 * @from: where paranoid_entry() had it
 * @to: where paranoid_exit() will have it
 */
static __always_inline void kpkeys_move_user_gs(const struct pt_regs *from,
						const struct pt_regs *to)
{
	if (raw_cpu_read(kpkeys_cpu.user_gs) == (unsigned long)from)
		kpkeys_note_user_gs((unsigned long)to);
}
#else
static __always_inline void kpkeys_move_user_gs(const struct pt_regs *from,
						const struct pt_regs *to) { }
#endif

#endif /* _ASM_X86_KPKEYS_GS_H */
