/* SPDX-License-Identifier: GPL-2.0-only */
/* Pointer authentication of arm64, for code that changes the keys it runs with. */
#ifndef GUEST_PAUTH_H
#define GUEST_PAUTH_H

#include <stdbool.h>
#include <stdint.h>

/* As the bits of PR_PAC_*; the last one cannot be disabled. */
enum pauth_key {
	PAUTH_IA,
	PAUTH_IB,
	PAUTH_DA,
	PAUTH_DB,
	PAUTH_GA,
	PAUTH_KEYS,
};

#define PAUTH_SWITCHED	4	/* how many can be disabled */
#define PAUTH_ALL	15UL	/* these as a mask */

/* What a task can see of its keys. */
struct pauth_state {
	long		enabled;		/* by prctl() */
	unsigned long	signing;		/* by what the instructions do */
	uint64_t	signature[PAUTH_KEYS];	/* of some values, as one number */
};

/* Does this machine have it, with all keys? */
bool pauth_present(void);

/* The value signed with a key; the modifier is always the same for a value. */
uint64_t pauth_sign(enum pauth_key key, uint64_t value);

/* An address signed with key IA, as a function does at its start with its stack pointer. */
uint64_t pauth_sign_return(uint64_t address, uint64_t stack);

/* Which of the keys that can be disabled have an effect. */
unsigned long pauth_signing(void);

void pauth_state(struct pauth_state *state);

/*
 * A system call that leaves no frame of the C library behind: its return
 * address may be signed, and authenticated after the keys have changed.
 * Returns -errno for an error.
 */
long raw_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d, unsigned long e);

#endif
