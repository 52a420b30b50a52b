// SPDX-License-Identifier: GPL-2.0-only
/* Kernel protection keys: keys of mappings, faults and tables of x86-64. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bug.h>
#include <linux/cc_platform.h>
#include <linux/efi.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_roots.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/pgtable.h>
#include <linux/sched.h>

#include <asm/cpu_entry_area.h>
#include <asm/cpufeature.h>
#include <asm/kpkeys_compat.h>
#include <asm/kpkeys_gdt.h>
#include <asm/kpkeys_leaf.h>
#include <asm/kpkeys_mm.h>
#include <asm/pgalloc.h>
#include <asm/realmode.h>
#include <asm/sections.h>
#include <asm/set_memory.h>
#include <asm/text-patching.h>
#include <asm/tlbflush.h>
#include <asm/trap_pf.h>

/* All the room there is, until the kernel is up. */
struct kpkeys_stacks kpkeys_stacks __ro_after_init = {
	.end	= (unsigned long)init_stack + THREAD_SIZE,
	.room	= ULONG_MAX,
};
EXPORT_SYMBOL_GPL(kpkeys_stacks);

static int __init limit_stacks(void)
{
	kpkeys_stacks.room = kpkeys_stacks.end - VMALLOC_START;
	return 0;
}
core_initcall(limit_stacks);

/**
 * arch_kpkeys_set_pkey - change the key of kernel mappings
 * @addr: page-aligned address
 * @nr: number of pages
 * @pkey: the key
 * @alias: change the other mappings of these pages as well
 */
int arch_kpkeys_set_pkey(unsigned long addr, unsigned int nr, int pkey,
			 bool alias)
{
	pteval_t set = (pteval_t)pkey << _PAGE_BIT_PKEY_BIT0;
	pteval_t clr = _PAGE_PKEY_MASK & ~set;

	return kpkeys_set_memory(addr, nr, __pgprot(set), __pgprot(clr), alias);
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
	__flush_tlb_all();
	kpkeys_set_flushed();
}

/**
 * arch_kpkeys_offset - where this CPU finds its variables
 *
 * Return: what GS adds to their addresses, as the register says.
 */
notrace unsigned long arch_kpkeys_offset(void)
{
	return __rdmsr(MSR_GS_BASE);
}

/**
 * arch_kpkeys_cpu_id - what tells this CPU from others
 *
 * Return: its APIC ID, as the CPU itself says, plus one.
 */
notrace u64 arch_kpkeys_cpu_id(void)
{
	u32 eax = 0xb, ebx, ecx = 0, edx = 0;

	if (native_cpuid_eax(0) >= eax)
		native_cpuid(&eax, &ebx, &ecx, &edx);
	return (edx ?: native_cpuid_ebx(1) >> 24) + 1ULL;
}

/**
 * arch_kpkeys_leaf - the entry that maps a kernel address
 * @addr: any address
 * @leaf: filled in
 *
 * Return: false if nothing is mapped there.
 */
bool arch_kpkeys_leaf(unsigned long addr, struct kpkeys_leaf *leaf)
{
	unsigned int level;
	pte_t *ptep = lookup_address(addr, &level);
	pteval_t val = ptep ? pte_val(*ptep) : 0;

	if (!(val & _PAGE_PRESENT))
		return false;
	leaf->entry = __pa(ptep);
	leaf->size = page_level_size(level);
	leaf->phys = (val & PTE_PFN_MASK & ~(leaf->size - 1)) |
		     (addr & (leaf->size - 1));
	leaf->pkey = kpkeys_pkey_of(val);
	leaf->constant = (val & (_PAGE_RW | _PAGE_NX)) == _PAGE_NX;
	return true;
}

/**
 * arch_kpkeys_alias - the kernel image's mapping of a direct-map address
 * @addr: direct-map address
 *
 * Return: the other address, or NULL if the page is not part of the image.
 */
void *arch_kpkeys_alias(void *addr)
{
	phys_addr_t pa = __pa(addr);

	if (pa < __pa_symbol(_text) || pa >= __pa_symbol(_end))
		return NULL;
	return (void *)(pa - phys_base + __START_KERNEL_map);
}

/**
 * arch_kpkeys_image - where the kernel image's mapping is
 *
 * Return: all that level2_kernel_pgt can map.
 */
struct range arch_kpkeys_image(void)
{
	return (struct range){
		.start	= __START_KERNEL_map,
		.end	= __START_KERNEL_map + KERNEL_IMAGE_SIZE,
	};
}

static int unmap(unsigned long begin, unsigned long end)
{
	return set_memory_np_noalias(begin, (end - begin) >> PAGE_SHIFT);
}

/**
 * kpkeys_unmap_image - unmap a part of the kernel image that is to be freed
 * @begin: page-aligned address, in the image's mapping or in the direct map
 * @end: where the part ends
 *
 * The pool may take these pages later, and keys them in the direct map only.
 *
 * Return: 0, or -errno: they must not be freed.
 */
int kpkeys_unmap_image(unsigned long begin, unsigned long end)
{
	if (!kpkeys_pgtables_enabled() || begin < __START_KERNEL_map)
		return 0;
	return unmap(begin, end);
}

/* The large page of the brk's end maps what is behind that, too. */
static bool __init is_freed(unsigned long addr)
{
	return addr >= PAGE_ALIGN(_brk_end) || !PageReserved(virt_to_page(addr));
}

/**
 * kpkeys_unmap_freed_image - unmap what the image maps of the page allocator's
 *
 * Before the pool takes its first block. The tables that this splits off are
 * keyed together with the other boot tables.
 */
void __init kpkeys_unmap_freed_image(void)
{
	unsigned long end = ALIGN(_brk_end, PMD_SIZE), addr, next;

	if (!kpkeys_wanted() || arch_kpkeys_unsupported())
		return;
	for (addr = (unsigned long)_text; addr < end; addr = next) {
		next = addr + PAGE_SIZE;
		while (next < end && is_freed(next) == is_freed(addr))
			next += PAGE_SIZE;
		if (is_freed(addr) && unmap(addr, next))
			panic("kpkeys: no memory to unmap free parts of the kernel image");
	}
}

static pgd_t *user_half(pgd_t *pgd)
{
#ifdef CONFIG_MITIGATION_PAGE_TABLE_ISOLATION
	return kernel_to_user_pgdp(pgd);
#else
	return NULL;
#endif
}

static bool leads_where(const pgd_t *pgdp, const pgd_t *other)
{
	return kpkeys_table_pfn(pgd_val(*pgdp)) == kpkeys_table_pfn(pgd_val(*other));
}

/**
 * arch_kpkeys_walk_user_half - tables user space runs on under isolation
 * @pgd: the kernel's half
 * @name: handed on
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 *
 * The second page exists with isolation off at run time, too, but is empty.
 * Its entries lead to the tables of the kernel's half, or to those of init_mm's
 * second page; where one does not, these tables are visited.
 */
void arch_kpkeys_walk_user_half(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn,
				void *arg)
{
	pgd_t *half = user_half(pgd);
	unsigned int i;

	if (!half)
		return;
	fn(half, KPKEYS_LEVEL_PGD, name, arg);
	for (i = 0; boot_cpu_has(X86_FEATURE_PTI) && i < PTRS_PER_PGD; i++)
		if (!leads_where(half + i, pgd + i) &&
		    (pgd == init_mm.pgd ||
		     !leads_where(half + i, user_half(init_mm.pgd) + i)))
			kpkeys_walk_entry(half + i, name, fn, arg);
}

static void walk_special_mm(struct mm_struct *mm, const char *name,
			    kpkeys_ptp_fn fn, void *arg)
{
	kpkeys_walk_pgd(mm->pgd, KPKEYS_WALK_ALL, name, fn, arg);
	arch_kpkeys_walk_user_half(mm->pgd, name, fn, arg);
}

/* Page tables of the code that starts CPUs; an early initcall makes them. */
static pgd_t *trampoline_tables(void)
{
	if (system_state == SYSTEM_BOOTING || !real_mode_header)
		return NULL;
	return __va(real_mode_header->trampoline_pgd);
}

/* In newer kernels EFI has its tables before there is a protection. */
static struct mm_struct *firmware_mm(void)
{
#ifdef CONFIG_EFI
	if (efi_enabled(EFI_RUNTIME_SERVICES) && efi_mm.pgd)
		return &efi_mm;
#endif
	return NULL;
}

static void __init add_root(struct mm_struct *mm)
{
	if (mm && kpkeys_root_add(mm, mm->pgd))
		panic("kpkeys: no record for a root of the boot");
}

/**
 * arch_kpkeys_add_roots - enter roots that were made before the protection
 */
void __init arch_kpkeys_add_roots(void)
{
	add_root(text_poke_mm);
	add_root(firmware_mm());
}

/**
 * arch_kpkeys_runs_on - does this CPU run on a root?
 * @root: of an mm
 */
bool arch_kpkeys_runs_on(const pgd_t *root)
{
	return read_cr3_pa() == __pa(root);
}

static void __init mark_process(struct mm_struct *mm)
{
	if (!mm)
		return;
	kpkeys_mark_process(mm->pgd);
	kpkeys_mark_user_half(mm->pgd);
}

/**
 * arch_kpkeys_share_tables - mark what each new root gets a copy of
 *
 * For the kernel's half the walk over text_poke_mm has done it.
 */
void __init arch_kpkeys_share_tables(void)
{
	pgd_t *half = user_half(init_mm.pgd);
	unsigned int i;

	if (!half)
		return;
	for (i = 0; i < PTRS_PER_PGD; i++)
		kpkeys_share_table(kpkeys_table_pfn(pgd_val(half[i])));
	mark_process(text_poke_mm);
	mark_process(firmware_mm());
}

/**
 * arch_kpkeys_walk_extra - kernel tables that no process and not init_mm has
 * @fn: as for kpkeys_walk_pgd()
 * @arg: handed on
 */
void arch_kpkeys_walk_extra(kpkeys_ptp_fn fn, void *arg)
{
	arch_kpkeys_walk_user_half(init_mm.pgd, "kernel user half", fn, arg);
	if (trampoline_tables())
		kpkeys_walk_pgd(trampoline_tables(), KPKEYS_WALK_ALL,
				"trampoline", fn, arg);
	if (text_poke_mm)
		walk_special_mm(text_poke_mm, "text_poke_mm", fn, arg);
	if (firmware_mm())
		walk_special_mm(firmware_mm(), "efi_mm", fn, arg);
}

/**
 * arch_kpkeys_is_violation - did a kernel key stop this access?
 * @error_code: of the page fault
 * @address: of the access
 */
bool arch_kpkeys_is_violation(unsigned long error_code, unsigned long address)
{
	return (error_code & (X86_PF_PK | X86_PF_USER)) == X86_PF_PK;
}

/**
 * arch_kpkeys_is_write - was it a store?
 * @error_code: of the page fault
 */
bool arch_kpkeys_is_write(unsigned long error_code)
{
	return error_code & X86_PF_WRITE;
}

/* Every write of the register is in force at once. */
bool arch_kpkeys_repeat(struct pt_regs *regs, unsigned long address, bool write)
{
	return false;
}

/**
 * arch_kpkeys_may_pass - can audit let this access through?
 * @regs: of the access
 * @address: where it goes
 * @write: is it a store?
 *
 * The debug exception behind the access would begin on the stack that the
 * handler of another one is still on, and never come back from it.
 *
 * Return: false in that handler. An access that something else stops as well
 * faults once more.
 */
bool arch_kpkeys_may_pass(struct pt_regs *regs, unsigned long address,
			  bool write)
{
	return regs->sp < __this_cpu_ist_bottom_va(DB) ||
	       regs->sp >= __this_cpu_ist_top_va(DB);
}

static_assert(sizeof(struct pt_regs) == ARCH_KPKEYS_REGS * sizeof(long) &&
	      offsetof(struct pt_regs, ip) == ARCH_KPKEYS_REGS_IP * sizeof(long) &&
	      offsetof(struct pt_regs, flags) == ARCH_KPKEYS_REGS_FLAGS * sizeof(long) &&
	      ARCH_KPKEYS_FLAGS_DEBUG == X86_EFLAGS_RF);
static_assert(sizeof(struct kpkeys_cpu) == PAGE_SIZE);

/* Behind a BUG() comes anything. */
static bool is_warning(unsigned long ip)
{
	static const u8 warn_trap[] = { 0x67, 0x48, 0x0f, 0xb9, 0x3a };
	struct bug_entry *bug = find_bug(ip);

	if (!memcmp((void *)ip, warn_trap, sizeof(warn_trap)))
		return true;
	return *(u16 *)ip == INSN_UD2 && (!bug || bug->flags & BUGFLAG_WARNING);
}

/**
 * arch_kpkeys_cpu_finding - do this CPU's registers protect page tables?
 *
 * With CR0.WP clear the CPU does not ask IA32_PKRS about writes. For a kernel
 * thread, which runs on the root of some mm.
 *
 * Return: NULL, or the register that does not; LDT if what that leads to does not.
 */
const char *arch_kpkeys_cpu_finding(void)
{
	if (!(native_read_cr0() & X86_CR0_WP))
		return "CR0";
	if (kpkeys_uses_pks() && !(__read_cr4() & X86_CR4_PKS))
		return "CR4";
	if (!kpkeys_root_is_live(read_cr3_pa()))
		return "CR3";
	return kpkeys_ldt_is_users() ? NULL : "LDT";
}

/**
 * arch_kpkeys_resume - how code goes on that an exception moved
 * @from: the instruction that was interrupted
 * @to: where the frame says that it goes on
 *
 * What @from is, text and read-only tables say. In an encrypted guest the
 * handlers of #VE and #VC emulate any instruction.
 */
enum kpkeys_resume arch_kpkeys_resume(unsigned long from, unsigned long to)
{
	if (to == from + arch_kpkeys_trap_size(from) && is_warning(from))
		return KPKEYS_RESUME_NEXT;
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return KPKEYS_RESUME_AS_IS;
	return KPKEYS_RESUME_SAME;
}

/**
 * arch_kpkeys_step - have one instruction of the interrupted code run
 * @regs: of that code
 *
 * No interrupt and so no preemption until the debug exception behind it.
 *
 * Return: what arch_kpkeys_step_done() wants back.
 */
unsigned long arch_kpkeys_step(struct pt_regs *regs)
{
	unsigned long flags = regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_TF);

	regs->flags |= X86_EFLAGS_TF;
	regs->flags &= ~X86_EFLAGS_IF;
	return flags;
}
NOKPROBE_SYMBOL(arch_kpkeys_step);

/**
 * arch_kpkeys_step_done - go on as before arch_kpkeys_step()
 * @regs: behind the instruction
 * @flags: what arch_kpkeys_step() returned
 */
void arch_kpkeys_step_done(struct pt_regs *regs, unsigned long flags)
{
	regs->flags &= ~(X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->flags |= flags;
}
NOKPROBE_SYMBOL(arch_kpkeys_step_done);

/**
 * kpkeys_end_step - what audit let through faults, and not for a key
 * @regs: of the access, which an interrupt may follow from here on
 *
 * As "rep movs" does from a secret to a page of user space that is not there.
 * The access is repeated when it is, and reported again.
 */
void kpkeys_end_step(struct pt_regs *regs)
{
	if (!user_mode(regs) && (regs->flags & X86_EFLAGS_TF))
		kpkeys_handle_debug(regs);
}
NOKPROBE_SYMBOL(kpkeys_end_step);
