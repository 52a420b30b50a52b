/* SPDX-License-Identifier: MIT */
/* For tests of engines that choose once for a process: each is executed anew. */
#ifndef JITGATE_ANEW_H
#define JITGATE_ANEW_H

/* Executes this program again: BACKEND NAME. */
void execute_anew(const char *backend, const char *name) __attribute__((noreturn));
/* In what was executed: the test says why it ended where its parent hears it. */
void begin_anew(void);
/*
 * The code of the fault that writing there is, 0 without one. The handler that is
 * jumped out of has no rights: attach(), if any, gives this thread its own again.
 */
int write_fault(volatile unsigned char *at, void (*attach)(void));

#endif
