// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel protection keys: write protection, chosen once, before alternatives
 * are patched; and what it costs on this machine.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kpkeys.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/kpkeys_mm.h>
#include <asm/tlbflush.h>

#include "kpkeys.h"

/* What calibration measures, and from where on it is worth a warning. */
#define ROUNDS			10
#define SECTIONS		100
#define SLOW_SECTION_NS		1000

static enum kpkeys_backend asked __ro_after_init = KPKEYS_AUTO;
static const char *why_none __ro_after_init;

/**
 * kpkeys_ask_backend - take a word of kpkeys= that names a backend
 * @word: the word
 *
 * Return: false if it is not known.
 */
bool __init kpkeys_ask_backend(const char *word)
{
	static const char * const words[] __initconst = {
		[KPKEYS_AUTO] = "auto", [KPKEYS_PKS] = "pks", [KPKEYS_WP] = "wp",
	};
	int i = match_string(words, ARRAY_SIZE(words), word);

	if (i >= 0)
		asked = i;
	return i >= 0;
}

/**
 * kpkeys_rules_out_pks - does the command line ask for something else?
 *
 * Good before kpkeys_choose_backend(), too.
 */
bool kpkeys_rules_out_pks(void)
{
	return asked == KPKEYS_WP;
}

/**
 * kpkeys_why_none - why there is no backend
 *
 * Return: the reason, or NULL if there is one.
 */
const char *kpkeys_why_none(void)
{
	return why_none;
}

#define KEPT	"control-flow enforcement (CR4.CET) keeps CR0.WP set; "
#define KEPT_UNLESS	KEPT "it is off with ibt=off clearcpuid=shstk"

static const char *why_not_wp(enum kpkeys_backend asked,
			      const struct kpkeys_machine *machine)
{
	if (!machine->cet)
		return NULL;
	if (machine->pks)
		return KEPT "use kpkeys=pks";
	if (asked == KPKEYS_WP)
		return KEPT_UNLESS;
	return "this CPU has no PKS, and " KEPT_UNLESS;
}

/**
 * kpkeys_decide - choose a backend
 * @asked: what the command line says
 * @machine: what there is
 * @why_none: set if there is none
 *
 * Return: the backend, or KPKEYS_AUTO if there is none.
 */
enum kpkeys_backend kpkeys_decide(enum kpkeys_backend asked,
				  const struct kpkeys_machine *machine,
				  const char **why_none)
{
	*why_none = NULL;
	if (machine->xen_pv)
		*why_none = "a Xen PV guest does not own its page tables";
	else if (machine->pks && asked != KPKEYS_WP)
		return KPKEYS_PKS;
	else if (asked == KPKEYS_PKS)
		*why_none = "this CPU has no protection keys for supervisor pages (PKS)";
	else
		*why_none = why_not_wp(asked, machine);
	return *why_none ? KPKEYS_AUTO : KPKEYS_WP;
}

/**
 * kpkeys_choose_backend - choose for this machine
 *
 * When the boot CPU is set up, so that CR4 is, and before alternatives are
 * patched.
 */
void __init kpkeys_choose_backend(void)
{
	const struct kpkeys_machine machine = {
		.xen_pv	= cpu_feature_enabled(X86_FEATURE_XENPV),
		.pks	= boot_cpu_has(X86_FEATURE_PKS),
		.cet	= cr4_read_shadow() & X86_CR4_CET,
	};

	if (kpkeys_wanted() &&
	    kpkeys_decide(asked, &machine, &why_none) == KPKEYS_WP)
		setup_force_cpu_cap(X86_FEATURE_KPKEYS_WP);
}

static u64 __init time_sections(void)
{
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < SECTIONS; i++)
		scoped_guard(kpkeys_hardened_pgtables)
			barrier();
	return ktime_get_ns() - start;
}

/* A write to CR0 may be an exit to a hypervisor, some hundred times as dear. */
static int __init calibrate(void)
{
	u64 least = U64_MAX;
	unsigned long flags;
	int i;

	if (!cpu_feature_enabled(X86_FEATURE_KPKEYS_WP))
		return 0;
	for (i = 0; i < ROUNDS; i++) {
		local_irq_save(flags);
		least = min(least, time_sections());
		local_irq_restore(flags);
	}
	least = div_u64(least, SECTIONS);
	pr_info("one section takes %llu ns\n", least);
	if (least > SLOW_SECTION_NS)
		pr_warn("that is slow: each write to CR0 may exit to a hypervisor; kpkeys=off avoids it\n");
	return 0;
}
late_initcall(calibrate);
