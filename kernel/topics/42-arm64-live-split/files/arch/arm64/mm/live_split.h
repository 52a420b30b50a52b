/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to the files of live splitting. */
#ifndef _ARM64_MM_LIVE_SPLIT_H
#define _ARM64_MM_LIVE_SPLIT_H

#include <linux/atomic.h>
#include <linux/init.h>
#include <linux/types.h>
#include <asm/live_split.h>
#include <asm/page.h>
#include <asm/pgtable-types.h>

/**
 * enum live_split_state - may mappings be split while they are in use?
 * @LIVE_SPLIT_UNUSED: nobody needs it: what changes by the page is pages
 * @LIVE_SPLIT_ON: yes
 * @LIVE_SPLIT_HELD: there are blocks, and a CPU that cannot bear a split
 */
enum live_split_state {
	LIVE_SPLIT_UNUSED,
	LIVE_SPLIT_ON,
	LIVE_SPLIT_HELD,
};

/**
 * struct live_split_events - what was split since the kernel started
 * @puds: blocks of the larger size, into a table of blocks
 * @pmds: blocks, into a table of pages
 * @cont_pmds: contiguous ranges of blocks, into blocks
 * @cont_ptes: contiguous ranges of pages, into pages
 * @refused: changes that would have needed a split and got an error
 */
struct live_split_events {
	atomic_long_t	puds;
	atomic_long_t	pmds;
	atomic_long_t	cont_pmds;
	atomic_long_t	cont_ptes;
	atomic_long_t	refused;
};

extern enum live_split_state live_split_state;
extern struct live_split_events live_split_events;

/* live_split_entries.c */
long live_split_step(unsigned long addr, unsigned long end, bool pages,
		     void **table);

/* live_split_repaint.c */
int live_split_repaint(void);
void live_split_park(phys_addr_t ttbr, int *parked, int *done);

#endif /* _ARM64_MM_LIVE_SPLIT_H */
