/* SPDX-License-Identifier: MIT */
/* Tests of PCRE2's JIT, each in a process of its own; see harness.c. */
#ifndef PCRE2_TESTS_H
#define PCRE2_TESTS_H

#include <stdbool.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "anew.h"
#include "tap.h"

#ifdef USE_JITGATE
#include <jitgate.h>

/* As the allocator has it. */
#ifndef SLJIT_GATE_USE
#define SLJIT_GATE_USE JITGATE_AUTO
#endif
#else
static inline void jitgate_attach(void) { }
#endif

#define TESTS(X)			\
	X(freed_by_both)		\
	X(child_compiles_another)	\
	X(forks_of_forks)		\
	X(threads)			\
	X(shared_patterns)		\
	X(older_thread)			\
	X(older_thread_frees)		\
	X(handler_matches)		\
	X(callout_compiles)		\
	X(large_pattern)		\
	X(many_patterns)		\
	X(patched_constant)		\
	X(patched_jump)

/*
 * What says something about jitgate alone. A child of sljit's own allocator waits for ever when
 * another thread held the lock at the fork.
 */
#define JITGATE_TESTS(X)		\
	X(forks_beside_threads)		\
	X(closed_afterwards)		\
	X(no_system_calls)		\
	X(memory_given_back)		\
	X(refused_memory)

/* Programs of PCRE2 itself, where they are beside this one: in guests. */
#define PROGRAMS(X)			\
	X(jit_test)			\
	X(testinputs)

#define X(name) void name(void);
TESTS(X)
JITGATE_TESTS(X)
PROGRAMS(X)
#undef X

/* What keeps code shut in this run; OTHER is an allocator of sljit's. */
enum how { PKEY, MPROTECT, VIEWS, OTHER };
extern enum how how;

struct pattern {
	pcre2_code *code;
	int number;
};

/* With machine code, unless an error is expected of that. */
pcre2_code *compile_jit(const char *text, int error);
/* Compiled to machine code; matches its number, and no other. */
struct pattern make_pattern(int number);
void check_pattern(struct pattern pattern);
void free_pattern(struct pattern pattern);
/* Makes, checks and frees patterns; all numbers from `first` on. */
void work(int first, int count);
/* The result of a match by machine code. */
int match(const pcre2_code *code, const char *subject);
/* An address in memory for machine code, NULL when there is none. */
unsigned char *machine_code(void);

#endif
