/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys of pointer authentication: who gets to see them. */
#ifndef _ASM_ARM64_KPKEYS_PAUTH_H
#define _ASM_ARM64_KPKEYS_PAUTH_H

#include <linux/kpkeys.h>
#include <linux/regset.h>

/**
 * kpkeys_pauth_active - do core dumps have this regset?
 * @target: the task
 * @regset: one with keys
 *
 * Core dumps alone ask. A tracer may have the keys; a file would outlive what
 * is signed with them, and anybody might read it.
 *
 * Return: how many entries, as for every regset.
 */
static inline int kpkeys_pauth_active(struct task_struct *target,
				      const struct user_regset *regset)
{
	return kpkeys_pgtables_enabled() ? 0 : regset->n;
}

#endif /* _ASM_ARM64_KPKEYS_PAUTH_H */
