/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What attacks need that have the kernel patch a place in a function that decides who
 * may become root: a jump to code that says yes.
 */
#ifndef GUEST_PATCHING_H
#define GUEST_PATCHING_H

#include <stdbool.h>
#include <stdint.h>

#define KEY	"netstamp_needed_key"	/* a socket switches it */
#define PATCH	5			/* bytes: a nop or a jump */

/* What is to be patched, in the kernel's queue. */
struct text_poke_loc {
	int rel_addr, disp;
	unsigned char len, opcode, text[PATCH], old;
};

uint64_t find_code(void);		/* a nop; 0 if there is none */
uint64_t find_target(void);

/* Has a nop been patched so? */
bool is_jump(uint64_t code);

/* The key on, as long as this file is open; or -1. */
int switch_on(void);
void switch_over(void);			/* on, or off if it was */

/* Room near text, or 0. */
uint64_t room_near_text(void);

/* An entry of the table of jumps; it has to be near what it leads to. */
struct jump_entry {
	int code, target;
	long key;
};

int write_entry(uint64_t at, uint64_t code, uint64_t target, uint64_t key);
void clear_entry(uint64_t at);
uint64_t entry_code(uint64_t at);	/* or 0 */

struct text_poke_loc make_nop(uint64_t code);
struct text_poke_loc make_jump(uint64_t code, uint64_t target);
uint64_t queued_patches(uint64_t *nr);	/* nr: where their number is */

#endif
