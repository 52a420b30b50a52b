/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARCH_X86_MM_KPKEYS_H
#define _ARCH_X86_MM_KPKEYS_H

#include <linux/types.h>

/* What the command line asks for, and what is chosen. */
enum kpkeys_backend {
	KPKEYS_AUTO,
	KPKEYS_PKS,
	KPKEYS_WP,
};

/**
 * struct kpkeys_machine - what decides between the backends
 * @xen_pv: the kernel is a Xen PV guest
 * @pks: the CPU has protection keys for supervisor pages
 * @cet: control-flow enforcement is on
 */
struct kpkeys_machine {
	bool	xen_pv;
	bool	pks;
	bool	cet;
};

bool kpkeys_ask_backend(const char *word);
bool kpkeys_rules_out_pks(void);
const char *kpkeys_why_none(void);
enum kpkeys_backend kpkeys_decide(enum kpkeys_backend asked,
				  const struct kpkeys_machine *machine,
				  const char **why_none);

#endif /* _ARCH_X86_MM_KPKEYS_H */
