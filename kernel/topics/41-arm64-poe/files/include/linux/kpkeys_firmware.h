/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the firmware that have a CPU start, for drivers that 32-bit kernels have, too. */
#ifndef _LINUX_KPKEYS_FIRMWARE_H
#define _LINUX_KPKEYS_FIRMWARE_H

#include <linux/types.h>

#if defined(CONFIG_ARM64) && defined(CONFIG_KPKEYS_HARDENED_PGTABLES)
bool kpkeys_calls_start(unsigned long number);
unsigned long kpkeys_call_start(unsigned long number, unsigned long what, bool hvc);
bool kpkeys_refuse_number(unsigned long number);
#else
static inline bool kpkeys_calls_start(unsigned long number) { return false; }
static inline bool kpkeys_refuse_number(unsigned long number) { return false; }

static inline unsigned long kpkeys_call_start(unsigned long number, unsigned long what,
					      bool hvc)
{
	return 0;
}
#endif

#endif /* _LINUX_KPKEYS_FIRMWARE_H */
