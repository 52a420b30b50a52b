// SPDX-License-Identifier: GPL-2.0-only
/* What a violation leaves in the log: who accessed what, and whose it is. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include <trace/events/kpkeys.h>

#include "internal.h"

/* Tables to look at before giving up on who owns a page. */
#define SEARCH_LIMIT	100000

struct search {
	void		*ptp;
	int		level;
	unsigned int	visited;
};

/* Other CPUs go on changing tables: look only into pages that carry the key. */
static bool match(void *ptp, int level, const char *name, void *arg)
{
	struct search *search = arg;

	if (search->level || search->visited++ > SEARCH_LIMIT)
		return false;
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

static void search_tasks(struct search *search, char *owner, size_t size)
{
	struct task_struct *p;

	rcu_read_lock();
	for_each_process(p) {
		if (search_task(p, search)) {
			snprintf(owner, size, "%s[%d]", p->comm, task_pid_nr(p));
			break;
		}
	}
	rcu_read_unlock();
}

static const char *find_table(void *ptp, char *owner, size_t size)
{
	struct search search = { .ptp = ptp };

	if (kpkeys_ptp_is_free(virt_to_page(ptp)))
		return "pool";

	kpkeys_walk_kernel(match, &search);
	if (search.level)
		strscpy(owner, "kernel", size);
	else
		search_tasks(&search, owner, size);
	return kpkeys_level_name(search.level);
}

static const char *find_owner(void *page, int pkey, char *owner, size_t size)
{
	strscpy(owner, "kernel", size);
	if (pkey == KPKEYS_PKEY_STATE)
		return "state";
	if (pkey == KPKEYS_PKEY_SECRET)
		return "secret";
	strscpy(owner, "unknown", size);
	return find_table(page, owner, size);
}

static const char *object_name(int pkey)
{
	return pkey == KPKEYS_PKEY_SECRET ? "secret" : "page table";
}

static const char *context_name(void)
{
	if (in_nmi())
		return "nmi";
	if (in_hardirq())
		return "hardirq";
	return in_serving_softirq() ? "softirq" : "task";
}

/* Once for each writer and table, until others took its place. */
static bool seen_before(unsigned long ip, unsigned long address)
{
	static unsigned long seen[64];
	unsigned long key = hash_long(ip ^ (address & PAGE_MASK),
				      BITS_PER_LONG);

	return xchg(&seen[key % ARRAY_SIZE(seen)], key) == key;
}

/**
 * kpkeys_report - log and count a violation
 * @regs: of the access
 * @address: where it went
 * @write: was it a store?
 */
void kpkeys_report(struct pt_regs *regs, unsigned long address, bool write)
{
	static DEFINE_RATELIMIT_STATE(limit, 5 * HZ, 40);
	bool enforced = kpkeys_state.mode == KPKEYS_ENFORCE;
	unsigned long ip = instruction_pointer(regs);
	void *page = __va(arch_kpkeys_phys(address & PAGE_MASK));
	int pkey = arch_kpkeys_addr_pkey(address);
	char owner[TASK_COMM_LEN + 16];
	const char *level;

	raw_cpu_inc(kpkeys_counters.violations);
	add_taint(TAINT_WARN, LOCKDEP_STILL_OK);
	trace_kpkeys_violation(ip, address, write, enforced);
	if ((!enforced && seen_before(ip, address)) || !__ratelimit(&limit))
		return;

	level = find_owner(page, pkey, owner, sizeof(owner));
	pr_err("violation: %s %s at %px by %pS in %s[%d] (%s)\n",
	       write ? "write to" : "read of", object_name(pkey),
	       (void *)address, (void *)ip, current->comm,
	       task_pid_nr(current), enforced ? "enforce" : "audit");
	pr_err("  level %s, owner %s, context %s\n", level, owner,
	       context_name());
}
