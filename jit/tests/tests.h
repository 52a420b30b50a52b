/* SPDX-License-Identifier: MIT */
/* Tests: each a function that runs in a process of its own, with each backend. */
#ifndef JITGATE_TESTS_H
#define JITGATE_TESTS_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "jitgate.h"
#include "tap.h"

#define TESTS(X)			\
	X(write_and_run)		\
	X(write_while_closed)		\
	X(close_is_final)		\
	X(close_at_once)		\
	X(nesting)			\
	X(scopes)			\
	X(jump_out)			\
	X(jump_out_of_handler)		\
	X(coroutines)			\
	X(coroutine_moves)		\
	X(older_thread)			\
	X(enter)			\
	X(newer_thread)			\
	X(thread_born_in_scope)		\
	X(cancelled_anywhere)		\
	X(cancelled_at_random)		\
	X(runs_beside_scope)		\
	X(random_threads_quiet)		\
	X(random_threads)		\
	X(forked)			\
	X(forked_in_scope)		\
	X(forked_beside_scope)		\
	X(signal_in_scope)		\
	X(signal_storm)			\
	X(sixteen_areas)		\
	X(decided_once)			\
	X(environment)			\
	X(sealed_decision)		\
	X(forged_area)			\
	X(forged_record)		\
	X(freed_area)			\
	X(keys_taken)			\
	X(filtered_alloc)		\
	X(no_such_call)			\
	X(filtered_mprotect)		\
	X(filter_that_kills)		\
	X(no_writable_code)		\
	X(sound_areas)			\
	X(mmap_over)			\
	X(mprotect_over)		\
	X(madvise_over)			\
	X(munmap_hole)			\
	X(written_by_kernel)		\
	X(grow_and_free)		\
	X(near_code)			\
	X(near_nothing)			\
	X(near_nowhere)			\
	X(aligned)			\
	X(huge_pages)			\
	X(named)			\
	X(permanent)			\
	X(bad_requests)			\
	X(many_open)			\
	X(counters)			\
	X(open_all)			\
	X(open_all_first)		\
	X(all_inside_one)		\
	X(one_inside_all)		\
	X(open_at)			\
	X(open_at_null)			\
	X(suspend_all)			\
	X(all_of_two_threads)		\
	X(all_forked_beside)		\
	X(all_forked)			\
	X(pieces)			\
	X(pieces_at_random)		\
	X(pieces_in_scope)		\
	X(pieces_of_threads)		\
	X(pieces_forked)		\
	X(forged_pieces)		\
	X(two_views)			\
	X(two_views_asked_for)		\
	X(two_views_where_forbidden)	\
	X(two_views_forked)		\
	X(two_views_forked_beside)	\
	X(two_views_not_copied)		\
	X(two_views_cloned)		\
	X(counters_of_quiet)		\
	X(signal_storm_beside_quiet)	\
	X(publish_to_all)		\
	X(example)

#define X(name) void name(void);
TESTS(X)
#undef X

/* Whether this run is the one with keys; skips the test when there are none. */
extern bool with_keys, with_views;
bool keys_here(void);
void begin(void);

/* Size bytes, closed. */
struct jitgate_area *make_area(size_t size);

/* Writes a function that returns a number; the area is closed before and after. */
void emit(struct jitgate_area *area, size_t offset, int number);
/* The same without opening. */
void store_function(void *at, int number);
int run(struct jitgate_area *area, size_t offset);

/* What a fault said. */
struct fault {
	volatile int code;
	void *volatile address;
	volatile int key;
};

#ifndef SEGV_PKUERR
#define SEGV_PKUERR	4
#endif

/*
 * Do something that may fault, and return whether it did. Afterwards this
 * thread's rights are what they were, as jitgate_state() knows them.
 */
bool faults(void (*function)(void *), void *argument, struct jitgate_area *area,
	    struct fault *fault);
void write_byte(void *at);
void read_byte(void *at);
/* The last one's five arguments and result, if the library makes this system call. */
const long *watch_call(long number);
bool can_write(struct jitgate_area *area);

#endif
