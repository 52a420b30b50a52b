/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel protection keys: memory that only its own helpers may write, or read.
 *
 * A level names a set of rights. At KPKEYS_LVL_DEFAULT everything a domain
 * owns is read-only; a helper raises the level on its own CPU for as long as it
 * writes:
 *
 *	guard(kpkeys_hardened_pgtables)();
 *	WRITE_ONCE(*ptep, pte);
 *
 * Between the two nothing may sleep, and nothing may call back into code that
 * does not need the raised level.
 *
 * The register is the truth. The copy of the level, and what exceptions save,
 * live in memory that is itself writable at a raised level only, so there is
 * nothing in ordinary memory to forge.
 */
#ifndef _LINUX_KPKEYS_H
#define _LINUX_KPKEYS_H

#include <linux/kconfig.h>
#include <linux/types.h>

struct page;
struct pt_regs;

/**
 * enum kpkeys_level - what the current context may write
 * @KPKEYS_LVL_DEFAULT: nothing that a domain owns
 * @KPKEYS_LVL_PGTABLES: page-table pages
 * @KPKEYS_NR_LEVELS: number of levels
 *
 * The rights of each are in the architecture's ARCH_KPKEYS_LEVELS table.
 */
enum kpkeys_level {
	KPKEYS_LVL_DEFAULT,
	KPKEYS_LVL_PGTABLES,
	KPKEYS_NR_LEVELS,
};

/* What kpkeys_set_level() returns when it only disabled preemption. */
#define KPKEYS_LVL_UNCHANGED	0xff
/* And when it did nothing at all. */
#define KPKEYS_LVL_UNTOUCHED	0xfe

/**
 * kpkeys_reread - take a value as it is from here on, in a section
 * @var: a variable
 *
 * An interrupt ahead of the section had it on its stack. What is asked about it
 * in the section must be asked of the value that is used there, and not of a
 * copy from before.
 */
#define kpkeys_reread(var)	asm volatile("" : "+r" (var) : : "memory")

/* Levels of page tables, folded ones left out. */
#define KPKEYS_LEVEL_PTE	1
#define KPKEYS_LEVEL_PMD	2
#define KPKEYS_LEVEL_PUD	3
#define KPKEYS_LEVEL_P4D	4
#define KPKEYS_LEVEL_PGD	5

/* Code that is also built for the decompressor or the vDSO has no gate. */
#if defined(CONFIG_KPKEYS) && !defined(__DISABLE_EXPORTS) && \
	!defined(BUILD_VDSO) && !defined(BUILD_VDSO32)
#define KPKEYS_BUILT_IN	1
#endif

#include <linux/cleanup.h>

#ifdef KPKEYS_BUILT_IN

#include <linux/build_bug.h>
#include <linux/jump_label.h>
#include <linux/kpkeys_state.h>
#include <linux/preempt.h>

/**
 * kpkeys_keep - keep a value of a section where only sections write
 * @field: of &struct kpkeys_kept
 * @value: what
 *
 * What the compiler puts on the stack when registers are too few, another CPU can
 * change before it is read back. Until kpkeys_kept() reads it, this value is in no
 * register either. Whoever interrupts the section gives it back.
 */
#define kpkeys_keep(field, value)					\
do {									\
	raw_cpu_write(kpkeys_cpu.kept.field, value);			\
	barrier();							\
} while (0)

/**
 * kpkeys_kept - read what kpkeys_keep() kept in this section
 * @field: of &struct kpkeys_kept
 */
#define kpkeys_kept(field)						\
({									\
	barrier();							\
	raw_cpu_read(kpkeys_cpu.kept.field);				\
})

DECLARE_STATIC_KEY_FALSE(kpkeys_pgtables_key);

/* True once the machine's page tables are protected; never turns false again. */
static __always_inline bool kpkeys_pgtables_enabled(void)
{
	return static_branch_maybe(CONFIG_KPKEYS_EXPECTED, &kpkeys_pgtables_key);
}

/* Each domain has a switch: a machine may protect one and not another. */
static __always_inline bool kpkeys_level_enabled(const unsigned int level)
{
	return kpkeys_pgtables_enabled();
}

/* Compared one by one: of a switch the compiler makes an array, which is a load. */
static __always_inline bool __kpkeys_is_level(unsigned int level, const unsigned int other)
{
	if (!__builtin_constant_p(level))
		OPTIMIZER_HIDE_VAR(level);
	return level == other;
}

/* Over the table: the row of @level. What has no row grants nothing. */
#define __KPKEYS_ROW(name, grants)					\
	__kpkeys_is_level(level, name) ? ARCH_KPKEYS_REG_GRANTS(grants) :

static __always_inline kpkeys_reg_t kpkeys_level_reg(unsigned int level)
{
	if (__kpkeys_is_level(level, KPKEYS_LVL_DEFAULT))
		return ARCH_KPKEYS_REG_DEFAULT;
	return ARCH_KPKEYS_LEVELS(__KPKEYS_ROW) ARCH_KPKEYS_REG_DEFAULT;
}

static __always_inline void __kpkeys_write_reg(kpkeys_reg_t reg)
{
	arch_kpkeys_write_reg(reg);
	kpkeys_count(reg_writes, 1);
}

/* Return: true if what was written is good behind the next barrier only. */
static __always_inline bool __kpkeys_publish(void)
{
	if (!ARCH_KPKEYS_PUBLISHES || likely(!raw_cpu_read(kpkeys_cpu.unpublished)))
		return false;
	raw_cpu_write(kpkeys_cpu.unpublished, false);
	kpkeys_count(publishes, 1);
	arch_kpkeys_publish();
	return true;
}

/*
 * The copy says "raised" only while the register is: it lives in memory that
 * the register protects. An exception between the two writes saves both.
 * Coming from another level than the default, it takes rights away as well.
 */
static __always_inline void __kpkeys_raise(unsigned int level, unsigned int old)
{
	arch_kpkeys_raise_reg(kpkeys_level_reg(level),
			      old != KPKEYS_LVL_DEFAULT);
	kpkeys_count(reg_writes, 2);
	raw_cpu_write(kpkeys_cpu.level, level);
}

static __always_inline void __kpkeys_lower(unsigned int level)
{
	bool at_once = __kpkeys_publish() || level != KPKEYS_LVL_DEFAULT;

	raw_cpu_write(kpkeys_cpu.level, level);
	arch_kpkeys_lower_reg(kpkeys_level_reg(level), at_once);
}

/**
 * kpkeys_set_level - raise this CPU's gate
 * @level: a compile-time constant other than KPKEYS_LVL_DEFAULT
 *
 * Preemption is off until kpkeys_restore_level(); interrupts run at
 * KPKEYS_LVL_DEFAULT. Never out of line: a callable copy would be a gadget.
 *
 * Return: what kpkeys_restore_level() wants back.
 */
static __always_inline u8 kpkeys_set_level(const unsigned int level)
{
	u8 old;

	BUILD_BUG_ON(!__builtin_constant_p(level) ||
		     level == KPKEYS_LVL_DEFAULT || level >= KPKEYS_NR_LEVELS);

	if (!kpkeys_level_enabled(level))
		return KPKEYS_LVL_UNTOUCHED;
	if (level == KPKEYS_LVL_PGTABLES && kpkeys_is_held())
		return KPKEYS_LVL_UNTOUCHED;

	preempt_disable_notrace();
	old = raw_cpu_read(kpkeys_cpu.level);
	if (old == level || unlikely(!arch_kpkeys_has_stack()))
		return KPKEYS_LVL_UNCHANGED;
	__kpkeys_raise(level, old);
	/* A section around this guard does not hold in it. */
	if (level != KPKEYS_LVL_PGTABLES) {
		__kpkeys_set_held(false);
		kpkeys_count(raises[level], 1);
	}
	return old;
}

/**
 * kpkeys_restore_level - undo kpkeys_set_level()
 * @level: as given there
 * @old: what it returned
 *
 * A level, not a register value, is taken back: an @old that was tampered
 * with selects another row of the table at worst, or none and so nothing, and
 * the return to user space or the next task switch closes and reports it.
 */
static __always_inline void kpkeys_restore_level(const unsigned int level,
						 u8 old)
{
	if (old == KPKEYS_LVL_UNTOUCHED)
		return;
	if (old != KPKEYS_LVL_UNCHANGED)
		__kpkeys_lower(old);
	preempt_enable_notrace();
}

/**
 * kpkeys_must_raise - would a write of an entry need a guard here?
 *
 * The one test for being in a section already. Helpers that are in line ask it,
 * and leave what needs a guard to one that is not::
 *
 *	if (kpkeys_must_raise())
 *		return kpkeys_clear_pte(ptep);	// guards, out of line
 *	return native_make_pte(xchg(&ptep->pte, 0));
 *
 * Wrong: to ask once, ahead of a loop that may sleep or leave the section. It
 * may be gone by the second round.
 */
static __always_inline bool kpkeys_must_raise(void)
{
	return kpkeys_pgtables_enabled() && unlikely(!kpkeys_is_held());
}

static __always_inline u8 __kpkeys_open_section(unsigned int nr)
{
	u8 old;

	if (nr < 2)
		return KPKEYS_LVL_UNTOUCHED;
	old = kpkeys_set_level(KPKEYS_LVL_PGTABLES);
	if (old < KPKEYS_NR_LEVELS) {
		__kpkeys_set_held(true);
		kpkeys_count(sections, 1);
	}
	return old;
}

static __always_inline void __kpkeys_close_section(u8 old)
{
	if (old < KPKEYS_NR_LEVELS)
		__kpkeys_set_held(false);
	kpkeys_restore_level(KPKEYS_LVL_PGTABLES, old);
}

/**
 * kpkeys_defer_publish - leave barriers to the end of the section
 *
 * For a helper that has written an entry which table walks must see before
 * the mapping is used. Inside a guard only. Nobody may use the mapping before
 * the outermost section has ended.
 *
 * Return: false if the caller must issue the barriers itself.
 */
static __always_inline bool kpkeys_defer_publish(void)
{
	if (!kpkeys_pgtables_enabled())
		return false;
	raw_cpu_write(kpkeys_cpu.unpublished, true);
	return true;
}

/* Not a preemption point, since the gate is open; the next one is not far. */
static __always_inline void __kpkeys_preempt_enable(void)
{
	barrier();
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		__preempt_count_dec();
}

void __kpkeys_push(unsigned long frame);
void __kpkeys_pop(unsigned long frame);
void __kpkeys_push_regs(struct pt_regs *regs);
void __kpkeys_pop_regs(struct pt_regs *regs);
void __kpkeys_close_for_switch(void);
void __kpkeys_close_for_user(void);

/**
 * kpkeys_exception_enter - shut the gate of the code that was interrupted
 * @frame: exception frame in kernel mode
 *
 * Asks the register, not the copy: the exception may have hit a helper
 * between its two writes. First thing on every exception from kernel mode.
 */
static __always_inline void kpkeys_exception_enter(struct pt_regs *frame)
{
	if (kpkeys_pgtables_enabled() &&
	    unlikely(arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT))
		__kpkeys_push_regs(frame);
}

/**
 * kpkeys_trap_enter - the same where the handler may change all registers
 * @frame: exception frame in kernel mode
 *
 * Ahead of kpkeys_exception_enter(), which finds the gate shut then.
 */
static __always_inline void kpkeys_trap_enter(struct pt_regs *frame)
{
	if (kpkeys_pgtables_enabled() &&
	    unlikely(arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT))
		__kpkeys_push((unsigned long)frame);
}

/**
 * kpkeys_exception_exit - give an interrupted section its gate back
 * @frame: as given to kpkeys_exception_enter(); last thing before the return
 *
 * And its registers, which lay on the stack.
 */
static __always_inline void kpkeys_exception_exit(struct pt_regs *frame)
{
	if (kpkeys_pgtables_enabled() &&
	    unlikely(raw_cpu_read(kpkeys_cpu.nr_saved)))
		__kpkeys_pop_regs(frame);
}

/*
 * What stands for the code that goes on behind softirqs. No exception frame has an odd
 * address: where the stack is, is ordinary memory.
 */
static __always_inline unsigned long __kpkeys_slot(const void *slot)
{
	return (unsigned long)slot | 1;
}

/**
 * kpkeys_softirq_enter - the same for softirqs that local_bh_enable() runs
 * @slot: any variable on the caller's stack
 */
static __always_inline void kpkeys_softirq_enter(void *slot)
{
	if (kpkeys_pgtables_enabled() &&
	    unlikely(raw_cpu_read(kpkeys_cpu.level) != KPKEYS_LVL_DEFAULT) &&
	    arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT)
		__kpkeys_push(__kpkeys_slot(slot));
}

/**
 * kpkeys_softirq_exit - undo kpkeys_softirq_enter()
 * @slot: the same variable
 */
static __always_inline void kpkeys_softirq_exit(void *slot)
{
	if (kpkeys_pgtables_enabled() &&
	    unlikely(raw_cpu_read(kpkeys_cpu.nr_saved)))
		__kpkeys_pop(__kpkeys_slot(slot));
}

/**
 * kpkeys_printk_enter - the same for what prints inside a section
 * @slot: any variable on the caller's stack
 */
static __always_inline void kpkeys_printk_enter(void *slot)
{
	preempt_disable_notrace();
	kpkeys_softirq_enter(slot);
	preempt_enable_notrace();
}

/**
 * kpkeys_printk_exit - undo kpkeys_printk_enter()
 * @slot: the same variable
 */
static __always_inline void kpkeys_printk_exit(void *slot)
{
	preempt_disable_notrace();
	kpkeys_softirq_exit(slot);
	__kpkeys_preempt_enable();
}

/*
 * A register may be open beside a copy that says it is not. Each switch looks
 * at it, so that no other task runs with it. The return to user space does
 * where that takes a move, and on x86-64 if there was work to do on the way: a
 * RDMSR in each system call is too dear, and user space has no use for PKRS.
 */
static __always_inline bool __kpkeys_is_open(bool look)
{
	return raw_cpu_read(kpkeys_cpu.word) ||
	       (look && arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT);
}

/**
 * kpkeys_task_switch - no task hands an open gate to the next one
 *
 * Nothing is kept for the task that leaves: sections keep preemption off, so
 * what is open here was left open, and is reported.
 */
static __always_inline void kpkeys_task_switch(void)
{
	if (kpkeys_pgtables_enabled() && unlikely(__kpkeys_is_open(true)))
		__kpkeys_close_for_switch();
}

/**
 * kpkeys_exit_to_user - a section left open is reported and closed here
 * @look: at the register, too, and not at its copy alone
 */
static __always_inline void kpkeys_exit_to_user(bool look)
{
	if (kpkeys_pgtables_enabled() && unlikely(__kpkeys_is_open(look)))
		__kpkeys_close_for_user();
}

/**
 * kpkeys_ptp_alloc - take page-table pages from the pool
 * @gfp: __GFP_ZERO, __GFP_ACCOUNT and whether it may sleep are honoured
 * @order: 0, or 1 for the pair of top-level tables of page-table isolation
 * @nid: preferred NUMA node or NUMA_NO_NODE
 *
 * Return: the (first) page, not compound, or NULL. Never an unkeyed one.
 */
struct page *kpkeys_ptp_alloc(gfp_t gfp, unsigned int order, int nid);

/**
 * kpkeys_ptp_free - give page-table pages back to the pool
 * @page: as returned by kpkeys_ptp_alloc(), or a keyed page of the boot tables
 * @order: as given there
 *
 * Works in any context but NMI. The memory stays keyed.
 */
void kpkeys_ptp_free(struct page *page, unsigned int order);

/**
 * kpkeys_ptp_free_tables - give several page tables back, in few sections
 * @tables: pages of one table each
 * @nr: how many
 */
void kpkeys_ptp_free_tables(struct page **tables, unsigned int nr);

bool kpkeys_ptp_owns(struct page *page);
void kpkeys_hardened_pgtables_init(void);
void kpkeys_key_late_table(void *pgd, const char *name);
bool kpkeys_handle_fault(struct pt_regs *regs, unsigned long error_code,
			 unsigned long address);
bool kpkeys_handle_debug(struct pt_regs *regs);
bool kpkeys_wanted(void);

#else /* !KPKEYS_BUILT_IN */

static __always_inline bool kpkeys_pgtables_enabled(void) { return false; }
static __always_inline bool kpkeys_must_raise(void) { return false; }
static __always_inline bool kpkeys_is_held(void) { return false; }
static __always_inline bool kpkeys_defer_publish(void) { return false; }
static __always_inline void kpkeys_exception_enter(struct pt_regs *frame) { }
static __always_inline void kpkeys_exception_exit(struct pt_regs *frame) { }
static __always_inline void kpkeys_trap_enter(struct pt_regs *frame) { }
static __always_inline void kpkeys_softirq_enter(void *slot) { }
static __always_inline void kpkeys_softirq_exit(void *slot) { }
static __always_inline void kpkeys_printk_enter(void *slot) { }
static __always_inline void kpkeys_printk_exit(void *slot) { }
static __always_inline void kpkeys_task_switch(void) { }
static __always_inline void kpkeys_exit_to_user(bool look) { }
static inline struct page *kpkeys_ptp_alloc(gfp_t gfp, unsigned int order,
					    int nid)
{
	return NULL;
}
static inline void kpkeys_ptp_free(struct page *page, unsigned int order) { }
static inline void kpkeys_ptp_free_tables(struct page **tables, unsigned int nr) { }
static inline bool kpkeys_ptp_owns(struct page *page) { return false; }
static inline void kpkeys_hardened_pgtables_init(void) { }
static inline void kpkeys_key_late_table(void *pgd, const char *name) { }
static inline bool kpkeys_handle_fault(struct pt_regs *regs,
				       unsigned long error_code,
				       unsigned long address)
{
	return false;
}
static inline bool kpkeys_handle_debug(struct pt_regs *regs) { return false; }
static inline bool kpkeys_wanted(void) { return false; }

static __always_inline u8 kpkeys_set_level(const unsigned int level)
{
	return 0;
}

static __always_inline void kpkeys_restore_level(const unsigned int level,
						 u8 old) { }
static __always_inline u8 __kpkeys_open_section(unsigned int nr) { return 0; }
static __always_inline void __kpkeys_close_section(u8 old) { }

#endif /* KPKEYS_BUILT_IN */

/*
 * A guard that is always inlined: DEFINE_CLASS() leaves that to the compiler.
 * What @leave gets is what @enter returned; the arguments are those of guard().
 */
#define DEFINE_KPKEYS_GUARD(name, enter, leave, ...)			\
typedef u8 class_##name##_t;						\
static __always_inline u8 class_##name##_constructor(__VA_ARGS__)	\
{									\
	return enter;							\
}									\
									\
static __always_inline void class_##name##_destructor(u8 *old)		\
{									\
	leave;								\
}									\
									\
static __always_inline void *class_##name##_lock_ptr(u8 *old)		\
{									\
	return old;							\
}									\
static __maybe_unused const bool class_##name##_is_conditional = false

/**
 * DOC: guard(kpkeys_hardened_pgtables)()
 *
 * The scope may write page tables. The one guard; it stands in the helper that
 * writes, around the write alone::
 *
 *	static inline pmd_t native_pmdp_get_and_clear(pmd_t *xp)
 *	{
 *		guard(kpkeys_hardened_pgtables)();
 *		return native_make_pmd(xchg(&xp->pmd, 0));
 *	}
 *
 * Wrong: a guard over code that allocates, prints, sleeps or calls back. All
 * of it would run with the gate open.
 */
DEFINE_KPKEYS_GUARD(kpkeys_hardened_pgtables,
		    kpkeys_set_level(KPKEYS_LVL_PGTABLES),
		    kpkeys_restore_level(KPKEYS_LVL_PGTABLES, *old), void);

/**
 * DOC: guard(kpkeys_pgtables_section)(nr)
 *
 * The one section. At most @nr writes follow in the scope, each of which has
 * its guard; they find the gate open. A single one needs no section::
 *
 *	guard(kpkeys_pgtables_section)(nr);
 *	for (; nr; nr--, ptep++)
 *		set_pte(ptep, pte);
 *
 * Wrong: a section in which a table is allocated, or which sleeps. Preemption
 * is off in it.
 */
DEFINE_KPKEYS_GUARD(kpkeys_pgtables_section, __kpkeys_open_section(nr),
		    __kpkeys_close_section(*old), unsigned int nr);

#endif /* _LINUX_KPKEYS_H */
