// SPDX-License-Identifier: GPL-2.0-only
/* Where the firmware starts CPUs: without page tables. */
#include <linux/compiler_types.h>
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_firmware.h>
#include <linux/linkage.h>

#include <uapi/linux/psci.h>

asmlinkage bool kpkeys_refuse_call(void);

/**
 * kpkeys_calls_start - does kpkeys_call_start() make a call?
 * @number: of the call
 *
 * Also for a CPU that is about to sleep, when RCU does not watch it.
 */
noinstr bool kpkeys_calls_start(unsigned long number)
{
	return kpkeys_pgtables_enabled() &&
	       (number == PSCI_0_2_FN64_CPU_ON || number == PSCI_0_2_FN64_CPU_SUSPEND ||
		number == PSCI_1_0_FN64_SYSTEM_SUSPEND);
}

/* For kpkeys_ask_call, of all others that have a CPU start. */
asmlinkage bool kpkeys_refuse_call(void)
{
	return kpkeys_pgtables_enabled() &&
	       kpkeys_refuse("call", "the firmware's start of a CPU", NULL, NULL);
}

/**
 * kpkeys_refuse_number - may a call not be made whose number is data?
 * @number: of the call
 *
 * For whoever calls in line. All of PSCI is its driver's, and all of SDEI.
 */
bool kpkeys_refuse_number(unsigned long number)
{
	u32 index = (number & ~PSCI_0_2_64BIT) - PSCI_0_2_FN_BASE;

	return index <= 0x3f && kpkeys_refuse_call();
}
EXPORT_SYMBOL_GPL(kpkeys_refuse_number);
