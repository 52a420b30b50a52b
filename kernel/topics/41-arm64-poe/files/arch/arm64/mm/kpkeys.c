// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: the POE backend. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/efi.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_ptp.h>
#include <linux/kpkeys_roots.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/cputype.h>
#include <asm/debug-monitors.h>
#include <asm/efi.h>
#include <asm/kernel-pgtable.h>
#include <asm/kpkeys_mm.h>
#include <asm/ptrace.h>
#include <asm/sections.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

/**
 * kpkeys_setup_cpu - shut this CPU's gate and have it obeyed
 *
 * On every CPU that comes up or wakes, before it serves anybody. The register
 * is zero then, and zero allows nothing: it must be in force before overlays.
 */
void kpkeys_setup_cpu(void)
{
	/*
	 * Alternatives may not be there yet; what is asked instead is ordinary
	 * memory, and not asked again.
	 */
	if (!kpkeys_pgtables_enabled() &&
	    (!cpus_have_cap(ARM64_HAS_S1POE) || !kpkeys_wanted()))
		return;
	arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
	sysreg_clear_set(REG_TCR2_EL1, 0, TCR2_EL1_POE);
	isb();
}

/**
 * arch_kpkeys_offset - where this CPU finds its variables
 *
 * Return: what is added to their addresses, as the register says.
 */
notrace unsigned long arch_kpkeys_offset(void)
{
	return __my_cpu_offset;
}

/**
 * arch_kpkeys_cpu_id - what tells this CPU from others
 *
 * Return: its affinity, as the CPU itself says, plus one.
 */
notrace u64 arch_kpkeys_cpu_id(void)
{
	return (read_cpuid_mpidr() & MPIDR_HWID_BITMASK) + 1;
}

/**
 * kpkeys_suspend_enter - keep what this CPU's process may do to its memory
 *
 * POR_EL0 is not among what the kernel saves, and zero after sleep. The process that
 * sent the machine to sleep would come back to memory it cannot access.
 */
void kpkeys_suspend_enter(void)
{
	if (system_supports_poe())
		current->thread.por_el0 = read_sysreg_s(SYS_POR_EL0);
}

/**
 * kpkeys_suspend_exit - give it back
 */
void kpkeys_suspend_exit(void)
{
	if (system_supports_poe())
		write_sysreg_s(current->thread.por_el0, SYS_POR_EL0);
}

/**
 * kpkeys_wants_pages - must single pages of the linear map be able to change?
 *
 * The boot tables lie scattered in memory. So the map is made of pages, or of
 * blocks that can be split while in use. Asked before CPU features are known:
 * looks at the CPU itself.
 */
bool kpkeys_wants_pages(void)
{
	u64 mmfr3 = read_sysreg_s(SYS_ID_AA64MMFR3_EL1);

	return kpkeys_wanted() &&
	       cpuid_feature_extract_unsigned_field(mmfr3,
					ID_AA64MMFR3_EL1_S1POE_SHIFT);
}

/* What the boot CPU does a thousand times, and how often it may be late. */
#define RAISES		1000
#define MOST_LATE	(RAISES / 20)

enum late { LATE_OFF, LATE_ON, LATE_AUTO };

static bool enabling __ro_after_init;
static enum late late_raise __initdata = LATE_AUTO;
static bool late_lower __initdata;

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_late_raise_key);
EXPORT_SYMBOL_GPL(kpkeys_late_raise_key);
DEFINE_STATIC_KEY_FALSE_RO(kpkeys_late_lower_key);
EXPORT_SYMBOL_GPL(kpkeys_late_lower_key);

/**
 * kpkeys_patches_alias - is kernel text to be patched by its linear alias?
 *
 * While the guards are patched in, the fixmap cannot be used to do it: its own
 * guards would be met half enabled. The linear alias is still writable then.
 */
bool kpkeys_patches_alias(void)
{
	return enabling;
}

/* Whether a write of POR_EL1 is in force at once is the CPU's affair. */
static unsigned long __init count_late(unsigned long *keyed)
{
	unsigned long before = raw_cpu_read(kpkeys_counters.repeats), i;

	for (i = 0; i < RAISES; i++) {
		guard(kpkeys_hardened_pgtables)();
		WRITE_ONCE(*keyed, 0);
	}
	return raw_cpu_read(kpkeys_counters.repeats) - before;
}

/*
 * A repeated access costs as much as some barriers, by estimates less than
 * twenty. Before there is user space: nobody else has a hand in it, and the
 * answer is in text.
 */
static void __init calibrate(void)
{
	struct page *page = kpkeys_ptp_alloc(GFP_KERNEL, 0, NUMA_NO_NODE);
	unsigned long late;

	if (!page)
		return;
	late = count_late(page_address(page));
	kpkeys_ptp_free(page, 0);
	if (late_raise == LATE_AUTO && late > MOST_LATE)
		static_branch_disable(&kpkeys_late_raise_key);
	pr_info("%lu of %u raises of the gate come late: sections %s\n", late, RAISES,
		static_key_enabled(&kpkeys_late_raise_key) ?
		"begin without a barrier" : "wait for theirs");
}

/* All the room there is, until the kernel is up. */
struct kpkeys_stacks kpkeys_stacks __ro_after_init = { .room = ULONG_MAX };
EXPORT_SYMBOL_GPL(kpkeys_stacks);

/* An empty stack is where it ends. */
static int __init limit_stacks(void)
{
	kpkeys_stacks.room = VMALLOC_END - PAGE_END;
	kpkeys_stacks.image = (unsigned long)init_stack + THREAD_SIZE + 1;
	kpkeys_stacks.image_size = (unsigned long)_end - kpkeys_stacks.image;
	return 0;
}
core_initcall(limit_stacks);

/* Is a CPU that starts to shut its gate in assembly? */
u32 kpkeys_start_poe __ro_after_init;

void __init arch_cpu_finalize_init(void)
{
	enabling = true;
	if (late_raise)
		static_branch_enable(&kpkeys_late_raise_key);
	if (late_lower)
		static_branch_enable(&kpkeys_late_lower_key);
	kpkeys_hardened_pgtables_init();
	if (late_raise && kpkeys_pgtables_enabled())
		calibrate();
	if (kpkeys_pgtables_enabled())
		kpkeys_start_poe = 1;
	enabling = false;
}

static int __init late_raise_setup(char *arg)
{
	static const char * const names[] __initconst = {
		[LATE_OFF] = "off",
		[LATE_ON] = "on",
		[LATE_AUTO] = "auto",
	};
	int found = match_string(names, ARRAY_SIZE(names), arg ?: "");

	if (found >= 0)
		late_raise = found;
	else
		pr_warn("kpkeys_late_raise=%s: not auto, on or off; auto\n",
			arg ?: "");
	return 0;
}
early_param("kpkeys_late_raise", late_raise_setup);

/**
 * arch_kpkeys_option - a word of kpkeys= that is not a mode
 * @word: the word
 *
 * Return: false if it is not known.
 */
bool __init arch_kpkeys_option(const char *word)
{
	if (!strcmp(word, "late-lower"))
		return late_lower = true;
	return !strcmp(word, "auto") || !strcmp(word, "poe");
}

const char arch_kpkeys_options[] __initconst = "auto, poe, late-lower";

/**
 * arch_kpkeys_backend - name of what keeps page tables read-only
 */
const char *arch_kpkeys_backend(void)
{
	return "poe";
}

/**
 * arch_kpkeys_has_keys - does a level open the pages of certain keys only?
 */
bool arch_kpkeys_has_keys(void)
{
	return true;
}

/**
 * arch_kpkeys_unsupported - why this machine cannot do it
 *
 * Return: the reason, or NULL if it can.
 */
const char *arch_kpkeys_unsupported(void)
{
	if (!system_supports_poe())
		return "this CPU has no permission overlays (FEAT_S1POE)";
	if (!(read_sysreg(REG_TCR2_EL1) & TCR2_EL1_POE))
		return "TCR2_EL1.POE is not set";
	return NULL;
}

/**
 * kpkeys_flush_cpu - drop what this CPU's TLB knows of old keys, and say so
 * @unused: as on_each_cpu() wants it
 *
 * With interrupts off. A CPU that starts calls it before it is sent any.
 */
void kpkeys_flush_cpu(void *unused)
{
	kpkeys_begin_flush();
	local_flush_tlb_all();
	kpkeys_set_flushed();
	/* The section in there ends without a barrier where late-lower says so. */
	isb();
}

/**
 * arch_kpkeys_alias - the kernel image's mapping of a direct-map address
 * @addr: direct-map address
 *
 * Before its data the image is mapped read-only, by tables that are keyed.
 *
 * Return: the other address, or NULL if none of its mappings is writable.
 */
void *arch_kpkeys_alias(void *addr)
{
	phys_addr_t pa = __pa(addr);

	if (pa < __pa_symbol(_data) || pa >= __pa_symbol(_end))
		return NULL;
	return (void *)__phys_to_kimg(pa);
}

/**
 * arch_kpkeys_image - where the kernel image's mapping is or was writable
 *
 * Return: init memory, which boot frees, and data.
 */
struct range arch_kpkeys_image(void)
{
	return (struct range){
		.start	= (unsigned long)__init_begin,
		.end	= (unsigned long)_end,
	};
}

static void walk_table(pte_t *table, int level, const char *name,
		       kpkeys_ptp_fn fn, void *arg);

/* By what the CPU does, not by the number of levels that init_mm has. */
static void walk_below(pte_t *table, int level, const char *name,
		       kpkeys_ptp_fn fn, void *arg)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++) {
		pte_t pte = READ_ONCE(table[i]);

		if ((pte_val(pte) & PMD_TYPE_MASK) == PMD_TYPE_TABLE)
			walk_table(__va(kpkeys_leads_to_phys(pte)), level + 1, name,
				   fn, arg);
	}
}

static void walk_table(pte_t *table, int level, const char *name,
		       kpkeys_ptp_fn fn, void *arg)
{
	if (fn(table, KPKEYS_LEVEL_PTE + 3 - level, name, arg) && level < 3)
		walk_below(table, level, name, fn, arg);
}

static void walk_root(pgd_t *pgd, int level, const char *name, kpkeys_ptp_fn fn,
		      void *arg)
{
	if (fn(pgd, KPKEYS_LEVEL_PGD, name, arg))
		walk_below((pte_t *)pgd, level, name, fn, arg);
}

/**
 * arch_kpkeys_walk_user_half - tables user space runs on under isolation
 * @pgd: the kernel's half
 * @name: handed on
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 *
 * They are one for all processes here: see arch_kpkeys_walk_extra().
 */
void arch_kpkeys_walk_user_half(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn,
				void *arg)
{
}

/* None was made before the protection. */
void __init arch_kpkeys_add_roots(void)
{
}

/**
 * arch_kpkeys_runs_on - does this CPU run on a root?
 * @root: of an mm; init_mm's is not for TTBR0, which has the reserved table then
 */
bool arch_kpkeys_runs_on(const pgd_t *root)
{
	u64 ttbr = read_sysreg(ttbr0_el1) & ~(TTBRx_EL1_ASID_MASK | TTBRx_EL1_CnP);

	return root == swapper_pg_dir || system_uses_ttbr0_pan() ||
	       ttbr == phys_to_ttbr(virt_to_phys((void *)root));
}

/* Nobody gets a copy of the kernel's entries. */
void __init arch_kpkeys_share_tables(void)
{
}

/**
 * arch_kpkeys_walk_extra - kernel tables that no process and not init_mm has
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 */
void arch_kpkeys_walk_extra(kpkeys_ptp_fn fn, void *arg)
{
	walk_root(lm_alias(idmap_pg_dir), IDMAP_ROOT_LEVEL, "identity map", fn,
		  arg);
	fn(lm_alias(reserved_pg_dir), KPKEYS_LEVEL_PGD, "reserved", arg);
#ifdef CONFIG_UNMAP_KERNEL_AT_EL0
	walk_root(lm_alias(tramp_pg_dir), 4 - CONFIG_PGTABLE_LEVELS, "trampoline",
		  fn, arg);
#endif
#ifdef CONFIG_EFI
	if (efi_enabled(EFI_RUNTIME_SERVICES) && efi_mm.pgd)
		kpkeys_walk_pgd(efi_mm.pgd, KPKEYS_WALK_ALL, "efi_mm", fn, arg);
#endif
}

/**
 * arch_kpkeys_cpu_finding - do this CPU's registers protect page tables?
 *
 * Return: NULL, or the register that does not.
 */
const char *arch_kpkeys_cpu_finding(void)
{
	return read_sysreg(REG_TCR2_EL1) & TCR2_EL1_POE ? NULL : "TCR2_EL1";
}
