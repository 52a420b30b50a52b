/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A socket filter that the kernel compiled: code that it runs, and that is
 * read-only. Of each message it keeps so many bytes, which shows what it does.
 */
#ifndef GUEST_FILTER_H
#define GUEST_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "attack.h"

struct filter {
	int to, from;
	uint64_t code;	/* address of the constant in its code */
	uint64_t page;	/* struct page of that */
	uint64_t alias;	/* where the direct map has it */
	uint32_t patched;	/* the constant that an attacker would have */
};

bool filter_open(struct filter *filter);
enum outcome filter_judge(struct filter *filter, int err);

#endif
