// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel protection keys: which backend, chosen once, before alternatives are
 * patched; and what write protection costs on this machine.
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

#include "../../../mm/kpkeys/internal.h"
#include "kpkeys.h"

/* What calibration measures, and from where on it is worth a warning. */
#define ROUNDS			10
#define SECTIONS		100
#define SLOW_SECTION_NS		1000

static enum kpkeys_backend asked __ro_after_init = KPKEYS_AUTO;
static const char *why_none;

/**
 * arch_kpkeys_option - a word of kpkeys= that is not a mode
 * @word: the word
 *
 * Return: false if it is not known.
 */
bool __init arch_kpkeys_option(const char *word)
{
	static const char * const words[] __initconst = {
		[KPKEYS_AUTO] = "auto", [KPKEYS_PKS] = "pks", [KPKEYS_WP] = "wp",
	};
	int i = match_string(words, ARRAY_SIZE(words), word);

	if (i >= 0)
		asked = i;
	return i >= 0;
}

const char arch_kpkeys_options[] __initconst = "auto, pks, wp";

static const char *why_not_wp(enum kpkeys_backend asked,
			      const struct kpkeys_machine *machine)
{
	if (!machine->cet)
		return NULL;
	if (machine->pks)
		return "control-flow enforcement (CR4.CET) keeps CR0.WP set; use kpkeys=pks";
	if (asked == KPKEYS_WP)
		return "control-flow enforcement (CR4.CET) keeps CR0.WP set; it is off with ibt=off clearcpuid=shstk";
	return "this CPU has no PKS, and control-flow enforcement (CR4.CET) keeps CR0.WP set; it is off with ibt=off clearcpuid=shstk";
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

/**
 * kpkeys_uses_pks - is this CPU to have CR4.PKS?
 *
 * Good before kpkeys_choose_backend(), too.
 */
bool kpkeys_uses_pks(void)
{
	return boot_cpu_has(X86_FEATURE_PKS) && asked != KPKEYS_WP &&
	       kpkeys_wanted();
}

/**
 * kpkeys_setup_cpu - shut this CPU's gate
 *
 * Before CR4.PKS is set, on every CPU and after every sleep: IA32_PKRS is zero
 * then, and zero allows everything. CR0.WP is set whenever the kernel starts or
 * wakes a CPU.
 */
void kpkeys_setup_cpu(void)
{
	if (kpkeys_uses_pks())
		arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
}

/**
 * arch_kpkeys_unsupported - why this machine cannot do it
 *
 * Return: the reason, or NULL if it can.
 */
const char * __init arch_kpkeys_unsupported(void)
{
	if (!why_none && kpkeys_uses_pks() && !(cr4_read_shadow() & X86_CR4_PKS))
		return "CR4.PKS is not set";
	return why_none;
}

/**
 * arch_kpkeys_backend - name of what keeps page tables read-only
 */
const char *arch_kpkeys_backend(void)
{
	return cpu_feature_enabled(X86_FEATURE_KPKEYS_WP) ? "wp" : "pks";
}

/**
 * arch_kpkeys_has_keys - does a level open the pages of certain keys only?
 *
 * If not, a section opens all read-only memory, and nothing stops reads.
 */
bool arch_kpkeys_has_keys(void)
{
	return !cpu_feature_enabled(X86_FEATURE_KPKEYS_WP);
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
