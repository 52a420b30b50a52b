/* SPDX-License-Identifier: MIT */
/* Tests of LuaJIT, each in a process of its own; see harness.c. */
#ifndef LUAJIT_TESTS_H
#define LUAJIT_TESTS_H

#include <stdbool.h>

#include "anew.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "tap.h"

#ifdef LUAJIT_USE_JITGATE
#include <jitgate.h>
#else
static inline void jitgate_attach(void) { }
#endif

#define TESTS(X)		\
	X(closed_afterwards)	\
	X(calls_per_trace)	\
	X(next_areas)		\
	X(patched_exits)	\
	X(exit_stubs)		\
	X(flushed)		\
	X(out_of_space)		\
	X(out_of_memory)	\
	X(thrown)		\
	X(coroutines)		\
	X(interrupts)		\
	X(several_states)	\
	X(one_key)		\
	X(states_in_threads)	\
	X(state_moves)		\
	X(older_thread)		\
	X(older_thread_makes)	\
	X(older_thread_attaches)\
	X(forks)		\
	X(forks_beside_threads)

#define X(name) void name(void);
TESTS(X)
#undef X

#define CHECK_RANGE(is, low, high)						\
	do {									\
		long is_ = (is), low_ = (low), high_ = (high);			\
										\
		if (is_ < low_ || is_ > high_)					\
			fail_at(__FILE__, __LINE__, "%s is %ld, not %ld to %ld",\
				#is, is_, low_, high_);				\
	} while (0)

/* What keeps code shut in this run. */
enum how { PKEY, MPROTECT, RWX };
extern enum how how;

/* A state with the functions of load.lua. */
lua_State *new_state(void);
void load_functions(lua_State *state);
/* Calls one of them with a number; returns what lua_pcall() does. */
int try_call(lua_State *state, const char *function, int number);
void call(lua_State *state, const char *function, int number);
long traces(lua_State *state);
/* Makes traces, and checks that this thread cannot write them afterwards. */
void work(lua_State *state, int count);
void check_closed(lua_State *state);
/* Calls of mprotect(), and all the library's if there is one. */
long calls_so_far(void);

#endif
