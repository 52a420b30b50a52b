/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_KPKEYS_CHECK_H
#define _MM_KPKEYS_CHECK_H

#include <linux/cpumask.h>
#include <linux/sched.h>

#define KPKEYS_MAX_FINDINGS	20
#define KPKEYS_CHECK_BITS	6

struct kpkeys_finding {
	const char	*what;
	unsigned long	pfn;
	int		level;
	char		name[TASK_COMM_LEN];
};

/**
 * struct kpkeys_check - what the checker found
 * @ok: nothing to complain about
 * @misentered: keyed pages that are something else in the table of frames
 * @misrooted: mms whose top-level table is not the one of their record
 * @left_over: sums of page frames: of each entry that leads to a table with one
 *	link, less those of these tables; by bucket()
 * @mislinked: entries that lead to no linked table of the next level, and
 *	tables to which more or fewer than one lead
 * @mismapped: entries that map what they must not
 * @ptp_total: page-table pages seen, shared ones each time
 * @ptp_unkeyed: of them, without the key in some alias
 * @keyed: pages of the direct map with the page-table key
 * @state_keyed: pages with the key of the gate's own state
 * @foreign: keyed pages that are free, in slab or on an LRU
 * @aliased: pages that the kernel image maps without their key, or that it maps
 *	although they were given to the page allocator
 * @pool_free: keyed pages waiting in the pool
 * @pool_used: pages of the pool in use
 * @lost: pages with a key that were mapped when the pool was to get them
 * @headers: pages of the pool that hold its bitmaps
 * @boot: tables keyed where they were, and not freed since
 * @state: pages of the gate's own state
 * @nr_findings: entries in @finding
 * @finding: the first of them
 * @unreported: CPUs that refused something and have not dealt with it
 * @unruly: CPUs whose registers do not protect, or that did not say
 * @register_of: what each said
 * @cpus: those that said something
 */
struct kpkeys_check {
	bool			ok;
	unsigned long		misentered, misrooted, lost;
	unsigned long		mislinked, mismapped;
	long			left_over[1 << KPKEYS_CHECK_BITS];
	unsigned long		ptp_total, ptp_unkeyed;
	unsigned long		keyed, state_keyed, foreign, aliased;
	unsigned long		pool_free, pool_used, headers, boot, state;
	unsigned int		nr_findings;
	struct kpkeys_finding	finding[KPKEYS_MAX_FINDINGS];
	unsigned long		unreported, unruly;
	const char		*register_of[NR_CPUS];
	struct cpumask		cpus;
};

static inline unsigned long
kpkeys_check_expected(const struct kpkeys_check *check)
{
	return check->pool_free + check->pool_used + check->headers +
	       check->boot + check->lost;
}

const char *kpkeys_check_cpu(void);
void kpkeys_check(struct kpkeys_check *check);

#endif /* _MM_KPKEYS_CHECK_H */
