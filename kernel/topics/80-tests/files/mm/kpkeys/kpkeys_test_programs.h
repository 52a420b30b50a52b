/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread of a KUnit test is the kernel's own: here it is as if it had executed a program. */
#ifndef _MM_KPKEYS_TEST_PROGRAMS_H
#define _MM_KPKEYS_TEST_PROGRAMS_H

#if __has_include("cred_slots.h")
#include <linux/kpkeys_guarded.h>

#include "cred_slots.h"
#endif

/* Returns whether anybody asks. Not in line: the audit tells tests by their file. */
#ifdef CONFIG_KPKEYS_CREDS
static noinline __maybe_unused bool kpkeys_test_run_programs(bool runs)
{
	if (!kpkeys_creds_enabled())
		return false;
	guard(irq)();
	guard(kpkeys_guarded)();
	struct kpkeys_record *own __free(kpkeys_record) = kpkeys_take_own_record();

	if (own)
		own->runs_programs = runs;
	return own;
}
#else
static inline bool kpkeys_test_run_programs(bool runs) { return false; }
#endif

#endif /* _MM_KPKEYS_TEST_PROGRAMS_H */
