// SPDX-License-Identifier: MIT
/* Machine code of one state: made, patched, flushed, given up. */
#include <signal.h>
#include <stdlib.h>

#include "tests.h"

void closed_afterwards(void)
{
	lua_State *state = new_state();

	work(state, 10);
	lua_close(state);
}

/* What it takes once there is a first area, for areas that follow, too. */
void calls_per_trace(void)
{
	lua_State *state = new_state();
	long before, calls, count;

	work(state, 3);
	count = traces(state);
	before = calls_so_far();
	call(state, "generate", 120);
	calls = calls_so_far() - before;
	count = traces(state) - count;
	CHECK_RANGE(count, 240, 2400);
	if (how == PKEY)
		CHECK_RANGE(calls, 2, 2);	/* Those of jitgate_stats() itself. */
	else if (how == RWX)
		CHECK_RANGE(calls, 0, 0);
	else
		CHECK_RANGE(calls, 2 * count, 4 * count);
	lua_close(state);
}

/* The first area is 64 KiB: this takes several, and with a key one reservation. */
void next_areas(void)
{
	lua_State *state = new_state();

	work(state, 350);
	CHECK_RANGE(traces(state), 700, 10000);
#ifdef LUAJIT_USE_JITGATE
	struct jitgate_counts counts;

	jitgate_stats(&counts);
	CHECK_RANGE(counts.areas, how == PKEY ? 1 : 3, how == PKEY ? 1 : 30);
	lua_close(state);
	jitgate_stats(&counts);
	CHECK_RANGE(counts.areas, 0, 0);
#else
	lua_close(state);
#endif
}

void patched_exits(void)
{
	lua_State *state = new_state();

	call(state, "patch_older", 150);
	check_closed(state);
	call(state, "patch_older", 20);
	lua_close(state);
}

void exit_stubs(void)
{
	lua_State *state = new_state();

	call(state, "many_exits", 90);
	check_closed(state);
	lua_close(state);
}

void flushed(void)
{
	lua_State *state = new_state();

	call(state, "flush_often", 20);
	work(state, 4);
	lua_close(state);
}

void out_of_space(void)
{
	lua_State *state = new_state();

	call(state, "no_space", 6);
	lua_getglobal(state, "counts");
	CHECK(!lua_pcall(state, 0, 2, 0));
	CHECK_RANGE(lua_tointeger(state, -1), 5, 1000000);	/* Aborts. */
	lua_pop(state, 2);
	work(state, 4);
	lua_close(state);
}

static long budget;

/* lua_Alloc: gives nothing once the budget is spent. */
static void *allocate(void *unused, void *old, size_t old_size, size_t size)
{
	(void)unused;
	if (!size) {
		free(old);
		return NULL;
	}
	if (size > old_size && budget-- <= 0)
		return NULL;
	return realloc(old, size);
}

/* Memory ends at every step of the work in turn, also while code is being written. */
void out_of_memory(void)
{
	lua_State *state;
	int failed = 0;
	long limit;

	budget = 1000000;
	state = lua_newstate(allocate, NULL);
	CHECK(state);
	load_functions(state);
	for (limit = 0; limit < 300; limit += 4) {
		budget = limit;
		failed += try_call(state, "generate", 3) == LUA_ERRMEM;
		budget = 1000000;
		lua_settop(state, 0);
		if (!(limit % 80)) {
			call(state, "flush_often", 1);
			work(state, 2);
		}
	}
	CHECK_RANGE(failed, 10, 1000);
	work(state, 5);
	lua_close(state);
}

void thrown(void)
{
	lua_State *state = new_state();

	call(state, "throw", 400);
	work(state, 4);
	call(state, "throw", 400);
	lua_close(state);
}

void coroutines(void)
{
	lua_State *state = new_state();

	call(state, "in_coroutines", 20);
	work(state, 4);
	lua_close(state);
}

void interrupts(void)
{
	lua_State *state = new_state();

	/* LuaJIT starts the timer before it has a handler for it. */
	signal(SIGPROF, SIG_IGN);
	call(state, "interrupted", 200);
	work(state, 4);
	lua_close(state);
}
