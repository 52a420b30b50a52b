// SPDX-License-Identifier: MIT
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define TIME_LIMIT	300000	/* ms; emulators are slow on a busy machine */

int tap_messages = STDERR_FILENO;
static int results = STDOUT_FILENO;
static int count, failures, skips;

static void tell(const char *text)
{
	if (write(tap_messages, text, strlen(text)) < 0)
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
	_exit(TAP_SKIPPED);
}

int in_child(void (*function)(void *), void *argument)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		function(argument);
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	return status;
}

void tap_begin(void)
{
	const char *fd = getenv("RESULTS_FD");

	if (fd)
		results = atoi(fd);
	dprintf(results, "KTAP version 1\n");
}

/* Ends with the test, or ends the test: it may have taken all signals for itself. */
static void read_message(int fd, pid_t pid, char *text, size_t size)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	size_t length = 0;
	ssize_t got;

	while (length + 1 < size) {
		if (poll(&end, 1, TIME_LIMIT) <= 0)
			kill(pid, SIGKILL);
		got = read(fd, text + length, size - length - 1);
		if (got <= 0)
			break;
		length += got;
	}
	text[length] = '\0';
	close(fd);
}

static void report(const char *backend, const char *name, int status, const char *text)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == TAP_SKIPPED) {
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

void tap_run(const char *backend, const char *name,
	     void (*run)(const char *backend, const char *name))
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
		tap_messages = pipes[1];
		run(backend, name);
		_exit(2);
	}
	close(pipes[1]);
	read_message(pipes[0], pid, text, sizeof(text));
	waitpid(pid, &status, 0);
	report(backend, name, status, text);
}

int tap_end(void)
{
	dprintf(results, "1..%d\n", count);
	if (failures || !count)
		return 1;
	return skips == count ? TAP_SKIPPED : 0;
}
