/* SPDX-License-Identifier: GPL-2.0-only */
/* Code of the attacker's, whose answer shows that the kernel ran it. */
#ifndef GUEST_ANSWER_H
#define GUEST_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#define ANSWER_SIZE	12

extern const unsigned char answer_code[ANSWER_SIZE];

/* Has the kernel call that, at one of its addresses; returns 0 or -errno. */
int call_answer(uint64_t addr, uint64_t *value);
bool is_answer(int err, uint64_t value);

#endif
