// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "results.h"

static int results_fd = STDOUT_FILENO;
static int count;
static int failed;

void results_begin(void)
{
	const char *fd = getenv("RESULTS_FD");

	if (fd)
		results_fd = atoi(fd);
	dprintf(results_fd, "KTAP version 1\n");
}

static void print_text(const char *prefix, const char *fmt, va_list args)
{
	char text[8192];

	vsnprintf(text, sizeof(text), fmt, args);
	dprintf(results_fd, "%s%s\n", prefix, text);
}

void result_ok(const char *name)
{
	dprintf(results_fd, "ok %d - %s\n", ++count, name);
}

void result_fail(const char *name, const char *fmt, ...)
{
	char reason[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	failed++;
	dprintf(results_fd, "not ok %d - %s # %s\n", ++count, name, reason);
}

void result_skip(const char *name, const char *fmt, ...)
{
	char reason[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	dprintf(results_fd, "ok %d - %s # SKIP %s\n", ++count, name, reason);
}

void result_comment(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_text("# ", fmt, args);
	va_end(args);
}

void result_json(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_text("#json ", fmt, args);
	va_end(args);
}

void result_host(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_text("#host ", fmt, args);
	va_end(args);
}

void json_escape(const char *text, char *out, int size)
{
	char *end = out + size - 7;

	for (; *text && out < end; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\') {
			*out++ = '\\';
			*out++ = c;
		} else if (c < 0x20 || c >= 0x7f) {
			out += sprintf(out, "\\u%04x", c);
		} else {
			*out++ = c;
		}
	}
	*out = '\0';
}

int results_end(void)
{
	dprintf(results_fd, "1..%d\n", count);
	return failed ? 1 : 0;
}
