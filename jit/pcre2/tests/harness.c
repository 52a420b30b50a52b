// SPDX-License-Identifier: MIT
/*
 * pcre2-tests [BACKEND [TEST]]: runs tests, or one in this process. Each is executed
 * anew, since the backend is chosen once for a process.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

enum how how = OTHER;

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define X(name) { #name, name },
	TESTS(X)
#ifdef USE_JITGATE
	JITGATE_TESTS(X)
#endif
#undef X
}, programs[] = {
#define X(name) { #name, name },
	PROGRAMS(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The key is left to whoever compiles first, so what will be decided is asked in a child. */
static void decide(void *unused)
{
	(void)unused;
#ifdef USE_JITGATE
	struct jitgate_info info;

	jitgate_init(SLJIT_GATE_USE);
	jitgate_query(&info);
	_exit(info.backend);
#endif
}

static void look_at_backend(const char *backend)
{
#ifdef USE_JITGATE
	static const enum jitgate_backend expected[] = {
		[PKEY] = JITGATE_PKEY,
		[MPROTECT] = JITGATE_MPROTECT,
		[VIEWS] = JITGATE_TWO_VIEWS,
	};
	int decided = WEXITSTATUS(in_child(decide, NULL));

	how = !strcmp(backend, "pkey") ? PKEY : !strcmp(backend, "views") ? VIEWS : MPROTECT;
	if (how == PKEY && decided == JITGATE_MPROTECT)
		skip("no protection keys here");
	CHECK_EQUAL(decided, expected[how]);
#else
	(void)backend;
	(void)decide;
#endif
}

static int run_here(const char *backend, const char *name)
{
	size_t i;

	begin_anew();
	look_at_backend(backend);
	for (i = 0; i < COUNT(tests) + COUNT(programs); i++) {
		bool program = i >= COUNT(tests);
		const char *each = program ? programs[i - COUNT(tests)].name : tests[i].name;

		if (strcmp(name, each))
			continue;
		(program ? programs[i - COUNT(tests)].run : tests[i].run)();
		return 0;
	}
	return 2;
}

static void run_all(const char *backend)
{
	size_t i;

	for (i = 0; i < COUNT(tests); i++)
		tap_run(backend, tests[i].name, execute_anew);
	/* They take long on an emulator, and without keys they run elsewhere. */
	if (strcmp(backend, "pkey") || access("/bin/pcre2_jit_test", X_OK))
		return;
	for (i = 0; i < COUNT(programs); i++)
		tap_run(backend, programs[i].name, execute_anew);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return run_here(argv[1], argv[2]);
	tap_begin();
#ifdef BACKEND
	run_all(argc > 1 ? argv[1] : BACKEND);
#else
	if (argc < 2)
		run_all("pkey");
	run_all(argc > 1 ? argv[1] : "mprotect");
#endif
	return tap_end();
}
