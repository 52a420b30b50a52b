/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that has a section clear the accessed bit of its entry, and somebody who says another place. */
#ifndef GUEST_CLEAR_REFS_H
#define GUEST_CLEAR_REFS_H

#include <stdbool.h>
#include <stdint.h>

/* On the other CPU. */
bool clear_refs_start(void);

/* How often the place was changed that it waited with; below 0 if it did not wait. */
int clear_refs_at(uint64_t place);

/* A word of a page that looks like an entry of one of the first pages, present and accessed. Or 0. */
uint64_t clear_refs_word(uint64_t page);

#endif
