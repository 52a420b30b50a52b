// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <setjmp.h>
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

static _Thread_local sigjmp_buf fault_jump;
static _Thread_local volatile int fault_code;
static _Thread_local volatile bool fault_expected;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!fault_expected) {
		fail_at(__FILE__, __LINE__, "signal %d at %p: code %d", number, info->si_addr,
			info->si_code);
	}
	fault_code = info->si_code;
	siglongjmp(fault_jump, 1);
}

/* One for all threads, before there are any. */
static void __attribute__((constructor)) catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

/* Writes what is there; returns the code of the fault, or 0. */
static int write_again(volatile unsigned char *at)
{
	fault_code = 0;
	fault_expected = true;
	if (!sigsetjmp(fault_jump, 1))
		*at = *at;
	else
		jitgate_attach();	/* The handler that was jumped out of had no rights. */
	fault_expected = false;
	return fault_code;
}

void check_closed(lua_State *state)
{
	static const int expected[] = { SEGV_PKUERR, SEGV_ACCERR, 0 };
	unsigned char *at = (unsigned char *)(uintptr_t)ask(state, "address");

	CHECK(at);
	CHECK_RANGE(write_again(at), expected[how], expected[how]);
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
