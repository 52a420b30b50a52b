// SPDX-License-Identifier: GPL-2.0-only
/* A root process that has the kernel patch its own text, by way of ftrace. */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"

#define TRACING		"/sys/kernel/tracing/"
#define PATCH_ROUNDS	20

static int helper = -1;

static void patch_text(void)
{
	int i;

	/*
	 * Nothing that runs meanwhile, for QEMU may run what was there before:
	 * not read() and write(), which the attacker calls, and not the
	 * scheduler, which recording command names would patch.
	 */
	file_write(TRACING "trace_options", "norecord-cmd");
	file_write(TRACING "set_ftrace_filter", "ksys_s*");
	for (i = 0; i < PATCH_ROUNDS; i++) {
		file_write(TRACING "current_tracer", "function");
		file_write(TRACING "current_tracer", "nop");
	}
	file_write(TRACING "set_ftrace_filter", "\n");
}

static void helper_main(int fd)
{
	char go;

	while (read(fd, &go, 1) == 1) {
		patch_text();
		if (write(fd, &go, 1) != 1)
			break;
	}
	_exit(0);
}

void helper_start(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		_exit(1);
	if (!fork()) {
		close(fds[0]);
		helper_main(fds[1]);
	}
	close(fds[1]);
	helper = fds[0];
}

void helper_patch_text(void)
{
	if (write(helper, "p", 1) != 1)
		_exit(1);
}

bool helper_is_busy(void)
{
	struct pollfd answer = { .fd = helper, .events = POLLIN };

	return poll(&answer, 1, 0) == 0;
}

void helper_wait(void)
{
	char done;

	if (read(helper, &done, 1) != 1)
		_exit(1);
}
