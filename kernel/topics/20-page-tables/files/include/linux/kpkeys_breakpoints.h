/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breakpoints and watchpoints at addresses of the kernel. They stop it where they
 * like, with its registers on a stack. Where each one is, is ordinary memory, and
 * any process may have some.
 */
#ifndef _LINUX_KPKEYS_BREAKPOINTS_H
#define _LINUX_KPKEYS_BREAKPOINTS_H

#include <linux/kpkeys.h>
#include <linux/types.h>

/* Of x86: only where page tables are hardened. */
void arch_kpkeys_set_breakpoints(const unsigned long *address);

#ifdef KPKEYS_BUILT_IN

bool kpkeys_breaks_in_kernel(void);
int kpkeys_check_breakpoint(void);
bool __kpkeys_refuse_breakpoint(unsigned long address);

/**
 * kpkeys_refuse_breakpoint - may a breakpoint not be installed?
 * @address: where it is to be, an address of the kernel
 *
 * Reports it if so.
 *
 * Return: true if it must not be installed, in audit mode never.
 */
static inline bool kpkeys_refuse_breakpoint(unsigned long address)
{
	return kpkeys_pgtables_enabled() && __kpkeys_refuse_breakpoint(address);
}

#else

static inline int kpkeys_check_breakpoint(void)
{
	return 0;
}

static inline bool kpkeys_breaks_in_kernel(void)
{
	return true;
}

static inline bool kpkeys_refuse_breakpoint(unsigned long address)
{
	return false;
}

#endif /* KPKEYS_BUILT_IN */
#endif /* _LINUX_KPKEYS_BREAKPOINTS_H */
