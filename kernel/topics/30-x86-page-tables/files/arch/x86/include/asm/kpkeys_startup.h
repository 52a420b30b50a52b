/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KPKEYS_STARTUP_H
#define _ASM_X86_KPKEYS_STARTUP_H

#include <linux/types.h>

#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
u32 kpkeys_checked_icr(u32 low, u32 id);
#else
static inline u32 kpkeys_checked_icr(u32 low, u32 id) { return low; }
#endif

#endif /* _ASM_X86_KPKEYS_STARTUP_H */
