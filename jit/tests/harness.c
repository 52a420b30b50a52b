// SPDX-License-Identifier: MIT
/*
 * jitgate-tests [BACKEND [TEST]]: runs tests. Exit status 77 is for a single test
 * that was skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

bool with_keys, with_views;

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define X(name) { #name, name },
	TESTS(X)
#undef X
};

void begin(void)
{
	if (with_keys && !keys_here())
		skip("no protection keys here");
	CHECK_EQUAL(jitgate_init(with_keys ? JITGATE_ALWAYS :
				 with_views ? JITGATE_TWICE : JITGATE_NEVER), 0);
}

static void run_here(const char *backend, const char *name)
{
	size_t i;

	with_keys = !strcmp(backend, "pkey");
	with_views = !strcmp(backend, "views");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(name, tests[i].name))
			tests[i].run();
	/* Not _exit(): leak checkers have their say at the end. */
	exit(0);
}

static void run_matching(const char *backend, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!name || !strcmp(name, tests[i].name))
			tap_run(backend, tests[i].name, run_here);
}

int main(int argc, char **argv)
{
	tap_begin();
	if (argc > 1) {
		run_matching(argv[1], argc > 2 ? argv[2] : NULL);
	} else {
		run_matching("pkey", NULL);
		run_matching("mprotect", NULL);
		run_matching("views", NULL);
	}
	return tap_end();
}
