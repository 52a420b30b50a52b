/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that moves entries from table to table for ever, by mremap(). Who changes
 * where a section of that reads them from has it map the victim's page.
 */
#ifndef GUEST_MOVER_H
#define GUEST_MOVER_H

#include <sys/types.h>

#include "attack.h"
#include "objects.h"

#define MOVER_CPU	1
#define MOVED_PAGES	509

struct mover {
	volatile int from;		/* which of two places */
	volatile unsigned long rounds;
	volatile bool ready, go, found;
	char text[SECRET_SIZE];
};

/* Shared with it. */
extern struct mover *mover;

/* Where entries lie in its tables, and what is to be moved instead. */
struct moved {
	struct task task;
	struct kernel_page forged;
	uint64_t table[2], entry;
	pid_t pid;
	bool dead;			/* it was killed for what it did */
	int held, changed;		/* handlers that waited, and registers, so far */
};

/* begin() is called by it when all is there, and before it moves. */
pid_t start_mover(void (*begin)(void));
bool find_moved(pid_t pid, struct moved *moved);

/* Its first entry that is moved. */
uint64_t first_moved(const struct moved *moved, int which);

/* Has a handler that waits hit a section of it? Without protection there are none: anything. */
bool has_hit_mover(void);

/* The only entry of the forged page that is not empty is the last one to be moved. */
void prepare_page(const struct moved *moved);

/* Registers that point to the table that is moved from: to the forged page. */
void point_registers(struct moved *moved, uint64_t at, const uint64_t *frame);

/* Again and again, with two rounds of the mover in between, until enough was changed. */
void change_until_found(struct moved *moved, void (*change_once)(struct moved *moved));

/* When the mover has looked once more. */
enum outcome judge_moved(const struct moved *moved);

#endif
