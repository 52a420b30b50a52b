/* SPDX-License-Identifier: GPL-2.0-only */
/* Only <linux/kpkeys_taken.h> includes this file. */
#ifndef _ASM_ARM64_KPKEYS_TAKEN_H
#define _ASM_ARM64_KPKEYS_TAKEN_H

/* Both know about contiguous entries. */
#define take_ptes	get_and_clear_full_ptes
#define put_back_pte	set_pte_at
#define write_swap_pte	set_pte_at

#endif /* _ASM_ARM64_KPKEYS_TAKEN_H */
