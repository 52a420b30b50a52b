// SPDX-License-Identifier: GPL-2.0-only
/* Shared data and the boot parameter. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/export.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_pgtables_key);
EXPORT_SYMBOL_GPL(kpkeys_pgtables_key);

/* Modules inline the guards. */
DEFINE_PER_CPU_PAGE_ALIGNED(struct kpkeys_cpu, kpkeys_cpu);
EXPORT_PER_CPU_SYMBOL_GPL(kpkeys_cpu);
DEFINE_PER_CPU(struct kpkeys_counters, kpkeys_counters);
EXPORT_PER_CPU_SYMBOL_GPL(kpkeys_counters);

struct kpkeys_state kpkeys_state __page_aligned_data = {
	.mode = KPKEYS_ENFORCE,
};
struct kpkeys_events kpkeys_events;

static int __init kpkeys_setup(char *arg)
{
	if (!arg)
		return -EINVAL;
	if (!strcmp(arg, "off"))
		kpkeys_state.mode = KPKEYS_OFF;
	else if (!strcmp(arg, "audit"))
		kpkeys_state.mode = KPKEYS_AUDIT;
	else if (!strcmp(arg, "enforce"))
		kpkeys_state.mode = KPKEYS_ENFORCE;
	else
		pr_warn("kpkeys=%s: not enforce, audit or off; enforcing\n",
			arg);
	return 0;
}
early_param("kpkeys", kpkeys_setup);

/**
 * kpkeys_wanted - did the command line leave kernel protection keys on?
 */
bool kpkeys_wanted(void)
{
	return kpkeys_state.mode != KPKEYS_OFF;
}
