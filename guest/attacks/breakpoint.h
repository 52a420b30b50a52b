/* SPDX-License-Identifier: GPL-2.0-only */
/* A breakpoint that a process has by ptrace(), moved to an address of the kernel's. */
#ifndef BREAKPOINT_H
#define BREAKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __x86_64__
/* The traced process gets debug register 0, and what DR7 says of it. */
bool breakpoint_set(pid_t pid, uint64_t dr7, uint64_t at);

/* How many words of its events said from, and now say to; 0 on errors. */
int breakpoint_move(pid_t pid, uint64_t from, uint64_t to);
#endif

#endif
