/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the gate remembers, one page for each CPU, and what is counted.
 *
 * Only <linux/kpkeys.h> includes this file.
 */
#ifndef _LINUX_KPKEYS_STATE_H
#define _LINUX_KPKEYS_STATE_H

#include <linux/compiler.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>
#include <asm/kpkeys.h>
#include <asm/page.h>
#include <asm/percpu.h>

struct task_struct;

/* Task, softirq, hardirq, NMI, machine check and exceptions in each of them */
#define KPKEYS_MAX_SAVED	12
#define KPKEYS_MAG_SIZE		64

/**
 * struct kpkeys_saved - the gate of an interrupted section
 * @frame: exception frame (or stack slot) that it belongs to
 * @reg: the register's value
 * @level: the copy's value; differs while a helper is between its two writes
 * @held: what kpkeys_is_held() said
 * @has_regs: there is a copy of the frame in &kpkeys_cpu.regs
 */
struct kpkeys_saved {
	unsigned long	frame;
	kpkeys_reg_t	reg;
	u8		level;
	u8		held;
	bool		has_regs;
};

/**
 * struct kpkeys_magazine - page-table pages ready for one CPU
 * @nr: how many
 * @page: their addresses
 */
struct kpkeys_magazine {
	unsigned int	nr;
	void		*page[KPKEYS_MAG_SIZE];
};

/**
 * struct kpkeys_refusal - what a CPU refused and has not dealt with yet
 * @what: was to be done
 * @of: to what
 * @at: address of it
 * @task: who asked for it, or was interrupted
 * @is_task: the former
 */
struct kpkeys_refusal {
	const char		*what;
	const char		*of;
	const void		*at;
	struct task_struct	*task;
	bool			is_task;
};

/**
 * struct kpkeys_kept - values of a section that registers are too few for
 * @entry: where it writes
 * @source: where it reads
 * @value: what it writes
 * @seen: what was there
 * @table: a page frame
 * @end: of an address range
 * @given: the number of something, as its caller gave it
 * @nr: how many
 * @level: KPKEYS_LEVEL_*
 * @parent: what the table of frames says of the page of @entry
 * @done: whether something is
 *
 * Each section uses what it needs of it. See kpkeys_keep().
 */
struct kpkeys_kept {
	u64		*entry;
	const u64	*source;
	u64		value;
	u64		seen;
	unsigned long	table;
	unsigned long	end;
	unsigned long	given;
	unsigned int	nr;
	u8		level;
	u8		parent;
	bool		done;
};

#define KPKEYS_KEPT_WORDS	(sizeof(struct kpkeys_kept) / sizeof(unsigned long))

/**
 * struct kpkeys_cpu - one CPU's gate; pages of its own with KPKEYS_PKEY_STATE
 * @word: all zero when the gate is shut, nothing is saved and nothing to report
 * @level: copy of the current level
 * @nr_saved: interrupted sections in @saved
 * @unpublished: the section's end has to publish what was written in it
 * @held: see kpkeys_is_held()
 * @refused: @refusal is yet to be reported
 * @audit_armed: a store is being let through (audit mode)
 * @audit_flags: flags to put back after it
 * @user_gs: exception frame that is to leave with user space's base (x86-64)
 * @in_use: this CPU runs, and must be asked to forget mappings
 * @flushed: what it has forgotten: see kpkeys_nr_keyings()
 * @flushing: what it is about to forget
 * @owner: the CPU that has this page: arch_kpkeys_cpu_id(), or zero
 * @nr_refused: how often it refused something
 * @refusal: the first of what it has not reported
 * @kept: values of the section that runs
 * @saved: interrupted sections, innermost last
 * @mag: page-table pages ready for use
 * @regs: the frames of @saved, word by word
 * @saved_kept: @kept of each of @saved, likewise
 */
struct kpkeys_cpu {
	union {
		u64			word;
		struct {
			u8		level;
			u8		nr_saved;
			bool		unpublished;
			u8		held;
			bool		refused;
		};
	};
	bool				audit_armed;
	unsigned long			audit_flags;
	unsigned long			user_gs;
	bool				in_use;
	s64				flushed;
	s64				flushing;
	u64				owner;
	unsigned long			nr_refused;
	struct kpkeys_refusal		refusal;
	union {
		struct kpkeys_kept	kept;
		unsigned long		kept_words[KPKEYS_KEPT_WORDS];
	};
	struct kpkeys_saved		saved[KPKEYS_MAX_SAVED];
	struct kpkeys_magazine		mag;
	unsigned long			regs[KPKEYS_MAX_SAVED][ARCH_KPKEYS_REGS];
	unsigned long			saved_kept[KPKEYS_MAX_SAVED][KPKEYS_KEPT_WORDS];
} __aligned(PAGE_SIZE);

/**
 * struct kpkeys_counters - per-CPU events
 * @reg_writes: writes to the pkey register; both of a section as it begins
 * @sections: sections of several writes
 * @raises: guards of each level that is not page tables'
 * @publishes: sections whose end published kernel entries
 * @pool_hits: page-table pages served without a lock
 * @exceptions_open: exceptions taken while a section was open
 * @left_open: sections somebody forgot to close
 * @violations: accesses a pkey stopped (or reported)
 * @searched: tables that the handling of violations looked at
 * @repeats: accesses that came before the raise was in force
 *
 * Those of every raise cost an instruction each, and are there with
 * CONFIG_KPKEYS_STATS only; see kpkeys_count().
 */
struct kpkeys_counters {
#ifdef CONFIG_KPKEYS_STATS
	unsigned long	reg_writes;
	unsigned long	sections;
	unsigned long	raises[KPKEYS_NR_LEVELS];
	unsigned long	publishes;
	unsigned long	pool_hits;
#endif
	unsigned long	exceptions_open;
	unsigned long	left_open;
	unsigned long	violations;
	unsigned long	searched;
	unsigned long	repeats;
};

DECLARE_PER_CPU_PAGE_ALIGNED(struct kpkeys_cpu, kpkeys_cpu);
DECLARE_PER_CPU(struct kpkeys_counters, kpkeys_counters);

#ifdef CONFIG_KPKEYS_STATS
#define kpkeys_count(counter, nr)	raw_cpu_add(kpkeys_counters.counter, nr)
#else
#define kpkeys_count(counter, nr)	do { } while (0)
#endif

/**
 * kpkeys_is_held - is this task in a section that it cannot lose?
 *
 * Such a section allows page-table writes and has preemption off until its
 * end: guards inside have nothing to do. Where it takes two instructions to read
 * that, a task that may be preempted can be moved between them, to where another
 * one's section was. It is in none itself.
 */
static __always_inline bool kpkeys_is_held(void)
{
	return raw_cpu_read(kpkeys_cpu.held) && !arch_kpkeys_may_have_moved();
}

/* At a raised level only: true behind the raise, false ahead of the lowering. */
static __always_inline void __kpkeys_set_held(bool held)
{
	raw_cpu_write(kpkeys_cpu.held, held);
	barrier();
}

#endif /* _LINUX_KPKEYS_STATE_H */
