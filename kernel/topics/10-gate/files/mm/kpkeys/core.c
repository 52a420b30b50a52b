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

const char * const kpkeys_mode_names[] = {
	[KPKEYS_OFF]		= "off",
	[KPKEYS_AUDIT]		= "audit",
	[KPKEYS_ENFORCE]	= "enforce",
};

static void __init take_option(const char *word)
{
	int mode = match_string(kpkeys_mode_names,
				ARRAY_SIZE(kpkeys_mode_names), word);

	if (mode >= 0)
		kpkeys_state.mode = mode;
	else if (!arch_kpkeys_option(word))
		pr_warn("kpkeys=%s is not known and ignored; known are: off, audit, enforce, %s\n",
			word, arch_kpkeys_options);
}

/* A mode, a backend, or both with a comma between them. */
static int __init kpkeys_setup(char *arg)
{
	char *word;

	if (!arg)
		return -EINVAL;
	while ((word = strsep(&arg, ",")))
		take_option(word);
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
