// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anew.h"
#include "tap.h"

void execute_anew(const char *backend, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", tap_messages);
	setenv("MESSAGE_FD", number, 1);
	setenv("JITGATE", !strcmp(backend, "pkey") ? "auto" : "never", 1);
	execl("/proc/self/exe", program_invocation_short_name, backend, name, NULL);
	fail_at(__FILE__, __LINE__, "cannot execute this program again: error %d", errno);
}

void begin_anew(void)
{
	const char *fd = getenv("MESSAGE_FD");

	if (fd)
		tap_messages = atoi(fd);
}

static _Thread_local sigjmp_buf fault_jump;
static _Thread_local volatile int fault_code;
static _Thread_local volatile bool fault_expected;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!fault_expected)
		fail_at(__FILE__, __LINE__, "signal %d at %p: code %d", number, info->si_addr,
			info->si_code);
	fault_code = info->si_code;
	siglongjmp(fault_jump, 1);
}

/* One for all threads, before there are any. */
static void __attribute__((constructor(101))) catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
}

int write_fault(volatile unsigned char *at, void (*attach)(void))
{
	fault_code = 0;
	fault_expected = true;
	if (!sigsetjmp(fault_jump, 1))
		*at = *at;
	else if (attach)
		attach();
	fault_expected = false;
	return fault_code;
}
