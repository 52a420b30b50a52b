/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_KPKEYS_CHECK_H
#define _MM_KPKEYS_CHECK_H

#include <linux/sched.h>

#define KPKEYS_MAX_FINDINGS	20

struct kpkeys_finding {
	const char	*what;
	unsigned long	pfn;
	int		level;
	char		name[TASK_COMM_LEN];
};

/**
 * struct kpkeys_check - what the checker found
 * @ok: nothing to complain about
 * @ptp_total: page-table pages seen, shared ones each time
 * @ptp_unkeyed: of them, without the key in some alias
 * @keyed: pages of the direct map with the page-table key
 * @state_keyed: pages with the key of the gate's own state
 * @secret_keyed: pages with the key of secrets
 * @secret_unkeyed: pages of secrets without it in some alias
 * @foreign: keyed pages that are free, in slab or on an LRU
 * @pool_free: keyed pages waiting in the pool
 * @pool_used: pages of the pool in use
 * @headers: pages of the pool that hold its bitmaps
 * @single: page-table pages that never were in the pool
 * @boot: tables keyed where they were, and not freed since
 * @state: pages of the gate's own state
 * @secret: pages of secrets
 * @nr_findings: entries in @finding
 * @finding: the first of them
 */
struct kpkeys_check {
	bool			ok;
	unsigned long		ptp_total, ptp_unkeyed;
	unsigned long		keyed, state_keyed, foreign;
	unsigned long		secret_keyed, secret_unkeyed;
	unsigned long		pool_free, pool_used, headers, boot, state;
	unsigned long		secret, single;
	unsigned int		nr_findings;
	struct kpkeys_finding	finding[KPKEYS_MAX_FINDINGS];
};

static inline unsigned long
kpkeys_check_expected(const struct kpkeys_check *check)
{
	return check->pool_free + check->pool_used + check->headers +
	       check->single + check->boot;
}

void kpkeys_check(struct kpkeys_check *check);

#endif /* _MM_KPKEYS_CHECK_H */
