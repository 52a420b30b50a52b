// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a violation leaves in the log: who accessed what, and whose it is.
 *
 * The first line is complete when the machine dies behind it. Which table was
 * meant may take a look at all of them, and not in the handler of a fault that
 * may be in an NMI: there a few are looked at, the others in a work item.
 * The number of the report says which lines belong together.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <trace/events/kpkeys.h>

#include "internal.h"

/* Tables to look at before giving up on who owns a page. */
#define SEARCH_LIMIT	100000

struct search {
	void		*ptp;
	unsigned int	limit;
	int		level;
	unsigned int	visited;
};

/* Other CPUs go on changing tables: look only into pages that carry the key. */
static bool match(void *ptp, int level, const char *name, void *arg)
{
	struct search *search = arg;

	if (search->level || search->visited >= search->limit)
		return false;
	search->visited++;
	if (__va(__pa(ptp)) == search->ptp)
		search->level = level;
	return !search->level &&
	       arch_kpkeys_addr_pkey((unsigned long)__va(__pa(ptp))) ==
	       KPKEYS_PKEY_PGTABLES;
}

/* The process may be going away: its mm_struct is read as if it were bad. */
static bool search_task(struct task_struct *p, struct search *search)
{
	struct mm_struct *mm = READ_ONCE(p->mm);
	pgd_t *pgd;

	if (!mm || get_kernel_nofault(pgd, &mm->pgd) ||
	    arch_kpkeys_addr_pkey((unsigned long)pgd) != KPKEYS_PKEY_PGTABLES)
		return false;
	kpkeys_walk_user(pgd, p->comm, match, search);
	return search->level;
}

static bool search_tasks(struct search *search, char *owner, size_t size)
{
	struct task_struct *p;

	guard(rcu)();
	for_each_process(p) {
		if (search_task(p, search)) {
			snprintf(owner, size, "%s[%d]", p->comm, task_pid_nr(p));
			return true;
		}
	}
	return false;
}

static bool search_kernel(struct search *search, char *owner, size_t size)
{
	kpkeys_walk_kernel(match, search);
	if (!search->level)
		return false;
	strscpy(owner, "kernel", size);
	return true;
}

/**
 * struct report - what is said of a page once its owner is known
 * @number: of the report
 * @page: the page
 * @index: word of it that was accessed
 */
struct report {
	unsigned int	number;
	void		*page;
	unsigned int	index;
};

static void print_owner(const struct report *report, const char *level,
			const char *owner)
{
	pr_err("  report %u: level %s, owner %s, entry %u\n", report->number,
	       level, owner, report->index);
}

/* ---- in a work item: all tables ---- */

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_FULL };

static struct report_slot {
	atomic_t	state;
	struct report	report;
} report_slots[16];

static void finish_report(const struct report *report)
{
	struct search search = { .ptp = report->page, .limit = SEARCH_LIMIT };
	char owner[TASK_COMM_LEN + 16] = "unknown";

	if (!search_kernel(&search, owner, sizeof(owner)))
		search_tasks(&search, owner, sizeof(owner));
	print_owner(report, kpkeys_level_name(search.level), owner);
}

static void finish_reports(struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(report_slots); i++) {
		if (atomic_read_acquire(&report_slots[i].state) != SLOT_FULL)
			continue;
		finish_report(&report_slots[i].report);
		atomic_set_release(&report_slots[i].state, SLOT_FREE);
	}
}
static DECLARE_WORK(finish_work, finish_reports);

static void queue_work_from_irq(struct irq_work *work)
{
	queue_work(system_unbound_wq, &finish_work);
}
static DEFINE_IRQ_WORK(finish_irq_work, queue_work_from_irq);

/* Any context. Before there are workers, and with all slots full, it is lost. */
static bool finish_later(const struct report *report)
{
	unsigned int i;

	if (system_state < SYSTEM_SCHEDULING)
		return false;
	for (i = 0; i < ARRAY_SIZE(report_slots); i++) {
		if (atomic_cmpxchg(&report_slots[i].state, SLOT_FREE, SLOT_TAKEN))
			continue;
		report_slots[i].report = *report;
		atomic_set_release(&report_slots[i].state, SLOT_FULL);
		irq_work_queue(&finish_irq_work);
		return true;
	}
	return false;
}

/* ---- in the handler: what takes no search, or little ---- */

/* This task's own tables first, the kernel's with what is left. */
static const char *search_at_once(void *page, char *owner, size_t size)
{
	struct search search = { .ptp = page, .limit = KPKEYS_SEARCH_AT_ONCE };

	if (search_task(current, &search))
		snprintf(owner, size, "%s[%d]", current->comm,
			 task_pid_nr(current));
	else
		search_kernel(&search, owner, size);
	raw_cpu_add(kpkeys_counters.searched, search.visited);
	return search.level ? kpkeys_level_name(search.level) : NULL;
}

static const char *level_at_once(void *page, int pkey, char *owner, size_t size)
{
	strscpy(owner, "kernel", size);
	if (pkey == KPKEYS_PKEY_STATE)
		return "state";
	strscpy(owner, "unknown", size);
	if (kpkeys_table_is_free(page))
		return "pool";
	return search_at_once(page, owner, size);
}

static void report_owner(const struct report *report, int pkey)
{
	char owner[TASK_COMM_LEN + 16];
	const char *level = level_at_once(report->page, pkey, owner,
					  sizeof(owner));

	if (level || !finish_later(report))
		print_owner(report, level ?: "unknown", owner);
}

static const char *object_name(int pkey)
{
	return pkey == KPKEYS_PKEY_STATE ? "gate state" : "page table";
}

static const char *context_name(void)
{
	if (in_nmi())
		return "nmi";
	if (in_hardirq())
		return "hardirq";
	return in_serving_softirq() ? "softirq" : "task";
}

/* ---- what the command line says of reports ---- */

static bool panics __ro_after_init;
static unsigned int most_printed __ro_after_init = KPKEYS_MOST_PRINTED;

/**
 * kpkeys_parse_switch - a parameter that is 0 or 1
 * @name: of the parameter
 * @arg: what it is, or NULL
 *
 * Return: what it says; false, and a warning, if it is neither.
 */
bool __init kpkeys_parse_switch(const char *name, const char *arg)
{
	unsigned int value;

	if (arg && !kstrtouint(arg, 10, &value) && value <= 1)
		return value;
	pr_warn("%s=%s: not 0 or 1; 0\n", name, arg);
	return false;
}

static int __init panic_setup(char *arg)
{
	panics = kpkeys_parse_switch("kpkeys_panic", arg);
	return 0;
}
early_param("kpkeys_panic", panic_setup);

static int __init reports_setup(char *arg)
{
	if (!arg || kstrtouint(arg, 10, &most_printed) || most_printed > INT_MAX) {
		pr_warn("kpkeys_reports=%s: not a number; %d\n", arg,
			KPKEYS_MOST_PRINTED);
		most_printed = KPKEYS_MOST_PRINTED;
	}
	return 0;
}
early_param("kpkeys_reports", reports_setup);

/**
 * __kpkeys_may_print - is there room in the log for a report?
 * @limit: of reports of this kind
 *
 * How many there may be is read-only data. How many there were is not: who
 * forges that has the log miss some. Where all are printed nothing asks it.
 */
bool __kpkeys_may_print(struct ratelimit_state *limit)
{
	if (panics || !most_printed)
		return true;
	limit->interval = KPKEYS_PRINT_INTERVAL;
	limit->burst = most_printed;
	return __ratelimit(limit);
}

/**
 * kpkeys_reported - a violation was counted and reported; the end, if so asked
 *
 * Any context, with the gate shut. Whether it was printed does not matter.
 */
void kpkeys_reported(void)
{
	if (panics)
		panic("kpkeys: a violation, and kpkeys_panic=1");
}

/* ---- the report ---- */

/* Once for each writer and table, until others took its place. */
static bool seen_before(unsigned long ip, unsigned long address)
{
	static unsigned long seen[64];
	unsigned long key = hash_long(ip ^ (address & PAGE_MASK),
				      BITS_PER_LONG);

	return xchg(&seen[key % ARRAY_SIZE(seen)], key) == key;
}

static void print_access(unsigned long ip, unsigned long address, bool write,
			 bool enforced)
{
	static atomic_t nr_reports;
	int pkey = arch_kpkeys_addr_pkey(address);
	struct report report = {
		.page = __va(arch_kpkeys_phys(address & PAGE_MASK)),
		.index = offset_in_page(address) / sizeof(unsigned long),
	};

	report.number = atomic_inc_return(&nr_reports);
	pr_err("violation: %s %s at %p, entry %u, by %pS in %s[%d] (%s), context %s, report %u\n",
	       write ? "write to" : "read of", object_name(pkey), report.page,
	       report.index, (void *)ip, current->comm, task_pid_nr(current),
	       enforced ? "enforce" : "audit", context_name(), report.number);
	report_owner(&report, pkey);
}

/**
 * kpkeys_report - log and count a violation
 * @regs: of the access
 * @address: where it went
 * @write: was it a store?
 */
void kpkeys_report(struct pt_regs *regs, unsigned long address, bool write)
{
	bool enforced = kpkeys_state.mode != KPKEYS_AUDIT;
	unsigned long ip = instruction_pointer(regs);

	raw_cpu_inc(kpkeys_counters.violations);
	add_taint(TAINT_WARN, LOCKDEP_STILL_OK);
	trace_kpkeys_violation(ip, address, write, enforced);
	if ((enforced || !seen_before(ip, address)) && kpkeys_may_print())
		print_access(ip, address, write, enforced);
	kpkeys_reported();
}
