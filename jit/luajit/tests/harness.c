// SPDX-License-Identifier: MIT
/*
 * luajit-tests [BACKEND [TEST]]: runs tests, or one in this process. Each is executed
 * anew, since LuaJIT chooses the backend when it is loaded.
 */
#include <string.h>

#include "tests.h"

enum how how;

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define X(name) { #name, name },
	TESTS(X)
#undef X
};

static void look_at_backend(const char *backend)
{
	how = !strcmp(backend, "pkey") ? PKEY : !strcmp(backend, "rwx") ? RWX : MPROTECT;
#ifdef LUAJIT_USE_JITGATE
	struct jitgate_info info;

	jitgate_query(&info);
	if (how == PKEY && info.backend != JITGATE_PKEY)
		skip("no protection keys here");
	CHECK(how == PKEY || info.backend == JITGATE_MPROTECT);
#endif
}

static int run_here(const char *backend, const char *name)
{
	size_t i;

	begin_anew();
	look_at_backend(backend);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(name, tests[i].name)) {
			tests[i].run();
			return 0;
		}
	}
	return 2;
}

static void run_all(const char *backend)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tap_run(backend, tests[i].name, execute_anew);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return run_here(argv[1], argv[2]);
	tap_begin();
#ifdef LUAJIT_USE_JITGATE
	if (argc < 2)
		run_all("pkey");
	run_all(argc > 1 ? argv[1] : "mprotect");
#else
	run_all(BACKEND);
#endif
	return tap_end();
}
