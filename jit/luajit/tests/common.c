// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests.h"

#ifndef SEGV_PKUERR
#define SEGV_PKUERR	4
#endif

extern const char load_lua[], load_lua_end[];
__asm__(".section .rodata\n"
	".global load_lua, load_lua_end\n"
	"load_lua: .incbin \"load.lua\"\n"
	"load_lua_end: .byte 0\n"
	".previous\n");

static long mprotects;

int __real_mprotect(void *start, size_t size, int prot);
int __wrap_mprotect(void *start, size_t size, int prot);

int __wrap_mprotect(void *start, size_t size, int prot)
{
	__atomic_fetch_add(&mprotects, 1, __ATOMIC_RELAXED);
	return __real_mprotect(start, size, prot);
}

long calls_so_far(void)
{
#ifdef LUAJIT_USE_JITGATE
	struct jitgate_counts counts;

	jitgate_stats(&counts);
	return counts.system_calls;
#else
	return mprotects;
#endif
}

void load_functions(lua_State *state)
{
	luaL_openlibs(state);
	if (luaL_loadbuffer(state, load_lua, load_lua_end - load_lua, "load.lua") ||
	    lua_pcall(state, 0, 0, 0))
		fail_at(__FILE__, __LINE__, "%s", lua_tostring(state, -1));
}

lua_State *new_state(void)
{
	lua_State *state = luaL_newstate();

	CHECK(state);
	load_functions(state);
	return state;
}

int try_call(lua_State *state, const char *function, int number)
{
	lua_getglobal(state, function);
	lua_pushinteger(state, number);
	return lua_pcall(state, 1, 0, 0);
}

void call(lua_State *state, const char *function, int number)
{
	if (try_call(state, function, number))
		fail_at(__FILE__, __LINE__, "%s: %s", function, lua_tostring(state, -1));
}

static double ask(lua_State *state, const char *function)
{
	double value;

	lua_getglobal(state, function);
	if (lua_pcall(state, 0, 1, 0))
		fail_at(__FILE__, __LINE__, "%s: %s", function, lua_tostring(state, -1));
	value = lua_tonumber(state, -1);
	lua_pop(state, 1);
	return value;
}

long traces(lua_State *state)
{
	return ask(state, "counts");
}

void check_closed(lua_State *state)
{
	static const int expected[] = { SEGV_PKUERR, SEGV_ACCERR, 0 };
	unsigned char *at = (unsigned char *)(uintptr_t)ask(state, "address");

	CHECK(at);
	CHECK_RANGE(write_fault(at, jitgate_attach), expected[how], expected[how]);
#ifdef LUAJIT_USE_JITGATE
	if (how == PKEY)
		CHECK_RANGE(jitgate_check(NULL, NULL), 0, 0);
#endif
}

void work(lua_State *state, int count)
{
	long before = traces(state);

	call(state, "generate", count);
	CHECK_RANGE(traces(state) - before, count, 20 * count);
	check_closed(state);
}
