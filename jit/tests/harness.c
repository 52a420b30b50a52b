// SPDX-License-Identifier: MIT
/*
 * jitgate-tests [BACKEND [TEST]]: runs tests, one process each, and reports in
 * TAP, to the descriptor RESULTS_FD when that is set. Exit status 77 is for a
 * single test that was skipped.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

#define SKIPPED		77
#define TIME_LIMIT	100000	/* ms; emulators are slow */

bool with_keys;
static int message_pipe[2];
static int results = STDOUT_FILENO;
static int count, failures, skips;

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define X(name) { #name, name },
	TESTS(X)
#undef X
};

static void tell(const char *text)
{
	if (write(message_pipe[1], text, strlen(text)) < 0)
		perror("write");
}

void fail_at(const char *file, int line, const char *fmt, ...)
{
	char text[512], reason[400];
	const char *name = strrchr(file, '/');
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s:%d: %s", name ? name + 1 : file, line, reason);
	tell(text);
	_exit(1);
}

void skip(const char *reason)
{
	tell(reason);
	_exit(SKIPPED);
}

void begin(void)
{
	if (with_keys && !keys_here())
		skip("no protection keys here");
	CHECK_EQUAL(jitgate_init(with_keys ? JITGATE_ALWAYS : JITGATE_NEVER), 0);
}

/* Ends with the test, or ends the test: it may have taken all signals for itself. */
static void read_message(pid_t pid, char *text, size_t size)
{
	struct pollfd end = { .fd = message_pipe[0], .events = POLLIN };
	size_t length = 0;
	ssize_t got;

	close(message_pipe[1]);
	while (length + 1 < size) {
		if (poll(&end, 1, TIME_LIMIT) <= 0)
			kill(pid, SIGKILL);
		got = read(message_pipe[0], text + length, size - length - 1);
		if (got <= 0)
			break;
		length += got;
	}
	text[length] = '\0';
	close(message_pipe[0]);
}

static void report(const char *backend, const char *name, int status, const char *text)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		skips++;
		dprintf(results, "ok %d - %s-%s # SKIP %s\n", ++count, name, backend, text);
	} else if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		dprintf(results, "ok %d - %s-%s\n", ++count, name, backend);
	} else {
		failures++;
		dprintf(results, "not ok %d - %s-%s # wait status %#x %s\n", ++count, name,
			backend, status, text);
	}
}

static void run_one(const char *backend, int i)
{
	char text[512];
	int status;
	pid_t pid;

	if (pipe(message_pipe))
		exit(2);
	pid = fork();
	if (!pid) {
		close(message_pipe[0]);
		with_keys = !strcmp(backend, "pkey");
		tests[i].run();
		/* Not _exit(): leak checkers have their say at the end. */
		exit(0);
	}
	read_message(pid, text, sizeof(text));
	waitpid(pid, &status, 0);
	report(backend, tests[i].name, status, text);
}

static void run_matching(const char *backend, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!name || !strcmp(name, tests[i].name))
			run_one(backend, i);
}

int main(int argc, char **argv)
{
	const char *fd = getenv("RESULTS_FD");
	const char *name = argc > 2 ? argv[2] : NULL;

	if (fd)
		results = atoi(fd);
	dprintf(results, "KTAP version 1\n");
	if (argc > 1) {
		run_matching(argv[1], name);
	} else {
		run_matching("pkey", NULL);
		run_matching("mprotect", NULL);
	}
	dprintf(results, "1..%d\n", count);
	if (failures || !count)
		return 1;
	return skips == count ? SKIPPED : 0;
}
