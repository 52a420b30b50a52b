// SPDX-License-Identifier: MIT
/*
 * luajit-tests [BACKEND [TEST]]: runs tests, one process each, and reports in TAP,
 * to the descriptor RESULTS_FD when that is set. Each is executed anew, since
 * LuaJIT chooses the backend when it is loaded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

#define SKIPPED		77
#define TIME_LIMIT	300	/* s; emulators are slow on a busy machine */

enum how how;
static int message_fd = STDERR_FILENO;
static int results = STDOUT_FILENO;
static int count, failures;

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
	if (write(message_fd, text, strlen(text)) < 0)
		_exit(2);
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

/* In a process of its own. */
static int run_here(const char *backend, const char *name)
{
	const char *fd = getenv("MESSAGE_FD");
	size_t i;

	if (fd)
		message_fd = atoi(fd);
	look_at_backend(backend);
	alarm(TIME_LIMIT);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(name, tests[i].name)) {
			tests[i].run();
			return 0;
		}
	}
	return 2;
}

static void execute(const char *backend, const char *name, int fd)
{
	char number[12];

	snprintf(number, sizeof(number), "%d", fd);
	setenv("MESSAGE_FD", number, 1);
	setenv("JITGATE", !strcmp(backend, "pkey") ? "auto" : "never", 1);
	execl("/proc/self/exe", "luajit-tests", backend, name, NULL);
	_exit(2);
}

static void read_message(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	while (length + 1 < size && (got = read(fd, text + length, size - length - 1)) > 0)
		length += got;
	text[length] = '\0';
	close(fd);
}

static void run_one(const char *backend, const char *name)
{
	char text[512];
	int pipes[2];
	int status;
	pid_t pid;

	if (pipe(pipes))
		exit(2);
	pid = fork();
	if (!pid) {
		close(pipes[0]);
		execute(backend, name, pipes[1]);
	}
	close(pipes[1]);
	read_message(pipes[0], text, sizeof(text));
	waitpid(pid, &status, 0);
	count++;
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		dprintf(results, "ok %d - %s-%s # SKIP %s\n", count, name, backend, text);
	} else if (!status) {
		dprintf(results, "ok %d - %s-%s\n", count, name, backend);
	} else {
		failures++;
		dprintf(results, "not ok %d - %s-%s # wait status %#x %s\n", count, name,
			backend, status, text);
	}
}

static void run_all(const char *backend)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run_one(backend, tests[i].name);
}

int main(int argc, char **argv)
{
	const char *fd = getenv("RESULTS_FD");

	if (argc > 2)
		return run_here(argv[1], argv[2]);
	if (fd)
		results = atoi(fd);
	dprintf(results, "KTAP version 1\n");
#ifdef LUAJIT_USE_JITGATE
	if (argc < 2)
		run_all("pkey");
	run_all(argc > 1 ? argv[1] : "mprotect");
#else
	run_all(BACKEND);
#endif
	dprintf(results, "1..%d\n", count);
	return failures || !count;
}
