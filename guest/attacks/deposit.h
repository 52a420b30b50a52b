/* SPDX-License-Identifier: GPL-2.0-only */
/* A huge page, and the page table that is laid by for the day when it is split. */
#ifndef GUEST_DEPOSIT_H
#define GUEST_DEPOSIT_H

#include <stdbool.h>
#include <stdint.h>

struct huge {
	volatile char *at;
	uint64_t field;		/* where the struct page of its deposit is said */
	uint64_t deposit;
};

/* Room for so much in that part, not inherited by fork(); NULL if there is none. */
volatile char *attack_room(int part, uint64_t size);

bool make_huge(struct huge *huge);

/* A list of deposits with this struct page alone. */
int close_list(uint64_t page);

#endif
