/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Static calls that any user has patched: their sites are when a tracepoint gets its
 * first user, and anybody may count events of one by perf, for his own process.
 */
#ifndef GUEST_STATIC_CALLS_H
#define GUEST_STATIC_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_SIZE	5
#define CALL		0xe8

/* A file that counts a tracepoint, or -1. */
int count_events(int id);

bool is_kernel_text(uint64_t word);

/* The call in setuid() that asks whether one may, or 0; and what would say yes. */
#define ASKED		"ns_capable_setid"
#define YES		"always_delete_dentry"
uint64_t find_asking_call(void);

/* A process that counts what nobody has counted yet, each time that it is asked. */
bool static_calls_start(void);

/*
 * Who patches waits for the mutex of all who do, and has on his stack which site and
 * which trampoline it is, and what is called there. These are put in its place, until
 * is_done(); one of site and trampoline is 0.
 */
struct patched_call {
	uint64_t site, trampoline, called;
	bool (*is_done)(void);
};

bool patch_call(const struct patched_call *call);

#endif
