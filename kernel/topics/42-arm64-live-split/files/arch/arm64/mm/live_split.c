// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live splitting: which CPUs can, and what follows for the linear map.
 *
 * A CPU with FEAT_BBM level 2 accepts that an entry in use becomes a table
 * that says the same. It may still raise a TLB conflict abort when it finds
 * the mapping in its TLB twice, and the kernel could not even take that abort
 * if its stack were concerned. So CPUs are trusted by name.
 *
 * The linear map is made when only the boot CPU is known. A CPU that comes up
 * with it and cannot holds back all splits until the map has been repainted;
 * one that comes later is turned away.
 */
#define pr_fmt(fmt) "live_split: " fmt

#include <linux/init.h>
#include <linux/kfence.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/cputype.h>
#include <asm/kpkeys_compat.h>
#include <asm/smp.h>
#include <asm/sysreg.h>

#include "live_split.h"

enum live_split_state live_split_state __ro_after_init;

static enum { TRUST_KNOWN, TRUST_NONE, TRUST_REGISTER } trust __ro_after_init;
static bool boot_finished __ro_after_init;

static int __init parse_trust(char *arg)
{
	if (!arg)
		return -EINVAL;
	if (!strcmp(arg, "off"))
		trust = TRUST_NONE;
	else if (!strcmp(arg, "force"))
		trust = TRUST_REGISTER;
	else if (strcmp(arg, "auto"))
		pr_warn("live_split=%s: not auto, off or force; auto\n", arg);
	return 0;
}
early_param("live_split", parse_trust);

#ifdef KPKEYS_LACKS_BBML3
/*
 * Their makers say that they never raise a TLB conflict abort after a change
 * of size: Arm and Ampere, in postings of 2025 to linux-arm-kernel.
 */
static const struct midr_range never_aborts[] = {
	MIDR_REV_RANGE(MIDR_CORTEX_X4, 0, 3, 0xf),
	MIDR_REV_RANGE(MIDR_NEOVERSE_V3, 0, 2, 0xf),
	MIDR_REV_RANGE(MIDR_NEOVERSE_V3AE, 0, 2, 0xf),
	MIDR_ALL_VERSIONS(MIDR_AMPERE1),
	MIDR_ALL_VERSIONS(MIDR_AMPERE1A),
	{}
};

static bool cpu_supports_bbml3(void)
{
	return is_midr_in_range_list(read_cpuid_id(), never_aborts);
}
#endif

static bool has_bbm_level_2(void)
{
	u64 mmfr2 = read_sysreg_s(SYS_ID_AA64MMFR2_EL1);

	return cpuid_feature_extract_unsigned_field(mmfr2,
					ID_AA64MMFR2_EL1_BBM_SHIFT) >= 2;
}

static bool this_cpu_can(void)
{
	if (trust == TRUST_KNOWN)
		return cpu_supports_bbml3();
	return trust == TRUST_REGISTER && has_bbm_level_2();
}

/**
 * live_split_init - what is the linear map to be made of?
 *
 * On the boot CPU, when the map is made. With debug_pagealloc pages change in
 * any context, so they must be pages already.
 *
 * Return: true for pages, false if blocks will do.
 */
bool __init live_split_init(void)
{
	if (!can_set_direct_map())
		return false;
	if (debug_pagealloc_enabled() || !this_cpu_can())
		return true;
	live_split_state = LIVE_SPLIT_ON;
	pr_info("linear map of blocks, split while in use%s\n",
		trust == TRUST_REGISTER ? " (forced)" : "");
	return false;
}

/**
 * live_split_needs_pages - the same for memory that is added later
 */
bool live_split_needs_pages(void)
{
	return can_set_direct_map() && live_split_state != LIVE_SPLIT_ON;
}

/**
 * live_split_is_used - are there blocks that are split here?
 *
 * Or that may not be, as a CPU came up that cannot bear it.
 */
bool live_split_is_used(void)
{
	return live_split_state != LIVE_SPLIT_UNUSED;
}

/**
 * live_split_check_cpu - a CPU comes up: can it bear a split?
 *
 * As early as C code runs there. What others split between its first access
 * and this call it has to bear.
 */
void live_split_check_cpu(void)
{
	if (live_split_state != LIVE_SPLIT_ON || this_cpu_can())
		return;
	if (boot_finished) {
		pr_crit("CPU%u cannot split mappings in use, and this kernel does: not brought up\n",
			smp_processor_id());
		cpu_die_early();
	}
	WRITE_ONCE(live_split_state, LIVE_SPLIT_HELD);
}

/**
 * live_split_finish_boot - all CPUs are there that the kernel starts with
 */
void __init live_split_finish_boot(void)
{
	boot_finished = true;
	if (live_split_state == LIVE_SPLIT_HELD && live_split_repaint())
		pr_err("no memory to repaint the linear map: its blocks stay as they are\n");
}

#ifdef CONFIG_KFENCE
/**
 * live_split_kfence_pool - have KFENCE's pool mapped by pages
 *
 * It protects them one by one, in any context.
 *
 * Return: whether it is.
 */
bool live_split_kfence_pool(void)
{
	unsigned long pool = (unsigned long)__kfence_pool;

	return !live_split_to_pages(pool, pool + KFENCE_POOL_SIZE);
}
#endif

#ifdef CONFIG_MEMORY_HOTREMOVE
/* Before some of the memory that one entry maps goes, the entry is split. */
static int split_for_removal(struct notifier_block *nb, unsigned long action,
			     void *data)
{
	struct memory_notify *notify = data;
	unsigned long start = (unsigned long)pfn_to_kaddr(notify->start_pfn);

	if (action != MEM_GOING_OFFLINE)
		return NOTIFY_OK;
	return notifier_from_errno(live_split_at_edges(start,
				start + notify->nr_pages * PAGE_SIZE,
				GFP_KERNEL));
}

static int __init removal_init(void)
{
	/* Ahead of who looks whether an entry would be split. */
	return hotplug_memory_notifier(split_for_removal, 1);
}
core_initcall(removal_init);
#endif
