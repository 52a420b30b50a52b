// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: PKS, where it is used and how it is switched on. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/string.h>
#include <linux/tboot.h>

#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/kpkeys_mm.h>
#include <asm/tlbflush.h>

/**
 * arch_kpkeys_option - a word of kpkeys= that is not a mode
 * @word: the word
 *
 * Return: false if it is not known.
 */
bool __init arch_kpkeys_option(const char *word)
{
	return !strcmp(word, "auto") || !strcmp(word, "pks");
}

const char arch_kpkeys_options[] __initconst = "auto, pks";

static bool wants_pks(void)
{
	return boot_cpu_has(X86_FEATURE_PKS) && kpkeys_wanted();
}

/* What a CPU that starts writes to IA32_PKRS, or 0 if it has no use for that. */
u32 kpkeys_start_pkrs __ro_after_init;

/**
 * kpkeys_keep_pkrs - let no memory that can be written decide it from now on
 */
void __init kpkeys_keep_pkrs(void)
{
	if (kpkeys_pgtables_enabled() && wants_pks())
		kpkeys_start_pkrs = ARCH_KPKEYS_REG_DEFAULT;
}

/**
 * kpkeys_uses_pks - is this CPU to have CR4.PKS?
 */
bool kpkeys_uses_pks(void)
{
	return kpkeys_pgtables_enabled() ? kpkeys_start_pkrs : wants_pks();
}

/* A CPU that is started without page tables obeys no key. */
static int __init look_at_apic(void)
{
	if (kpkeys_pgtables_enabled() && !x2apic_enabled())
		pr_info("any store can reach the local APIC and start a CPU; not in x2APIC mode\n");
	return 0;
}
late_initcall(look_at_apic);

/**
 * kpkeys_setup_cpu - shut this CPU's gate
 *
 * Before CR4.PKS is set, on every CPU and after every sleep: IA32_PKRS is zero
 * then, and zero allows everything.
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
	if (tboot_enabled())
		return "tboot_late_init() makes page tables of its own";
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return "a Xen PV guest does not own its page tables";
	if (!boot_cpu_has(X86_FEATURE_PKS))
		return "this CPU has no protection keys for supervisor pages (PKS)";
	if (!(cr4_read_shadow() & X86_CR4_PKS))
		return "CR4.PKS is not set";
	return NULL;
}

/**
 * arch_kpkeys_backend - name of what keeps page tables read-only
 */
const char *arch_kpkeys_backend(void)
{
	return "pks";
}

/**
 * arch_kpkeys_has_keys - does a level open the pages of certain keys only?
 */
bool arch_kpkeys_has_keys(void)
{
	return true;
}
