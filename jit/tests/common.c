// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rights.h"
#include "tests.h"

static _Thread_local sigjmp_buf fault_jump;
static _Thread_local struct fault *fault_of_thread;

bool keys_here(void)
{
	return rights_supported();
}

struct jitgate_area *make_area(size_t size)
{
	struct jitgate_request request = { .size = size };
	struct jitgate_area *area;

	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	return area;
}

void store_function(void *at, int number)
{
#if defined(__x86_64__)
	unsigned char code[] = { 0xb8, number, number >> 8, number >> 16, number >> 24, 0xc3 };
#elif defined(__aarch64__)
	uint32_t code[] = { 0x52800000 | (number & 0xffff) << 5, 0xd65f03c0 };
#endif
	memcpy(at, code, sizeof(code));
}

void emit(struct jitgate_area *area, size_t offset, int number)
{
	char *at = (char *)jitgate_area_start(area) + offset;
	char *writable = (char *)jitgate_area_writable(area) + offset;
	int state = jitgate_open(area);

	CHECK_EQUAL(state, 0);
	store_function(writable, number);
	CHECK_EQUAL(jitgate_close(area, state), 0);
	CHECK_EQUAL(jitgate_publish(at, 16, 0), 0);
}

int run(struct jitgate_area *area, size_t offset)
{
	int (*function)(void) = (int (*)(void))((uintptr_t)jitgate_area_start(area) + offset);

	return function();
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (!fault_of_thread)
		_exit(3);
	fault_of_thread->code = info->si_code;
	fault_of_thread->address = info->si_addr;
	fault_of_thread->key = info->si_code == SEGV_PKUERR ? (int)info->si_pkey : -1;
	siglongjmp(fault_jump, 1);
}

static void catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

bool faults(void (*function)(void *), void *argument, struct jitgate_area *area,
	    struct fault *fault)
{
	struct fault ignored;
	int state = jitgate_state(area);
	bool volatile faulted = false;

	catch_faults();
	fault_of_thread = fault ? fault : &ignored;
	if (sigsetjmp(fault_jump, 1))
		faulted = true;
	else
		function(argument);
	fault_of_thread = NULL;
	/* The kernel reset the rights for the handler that was jumped out of. */
	if (faulted) {
		jitgate_close(area, state);
		if (state && with_keys)
			jitgate_resume(area, state);
	}
	return faulted;
}

void write_byte(void *at)
{
	*(volatile unsigned char *)at = 1;
}

void read_byte(void *at)
{
	(void)*(volatile unsigned char *)at;
}

bool can_write(struct jitgate_area *area)
{
	unsigned char *last = (unsigned char *)jitgate_area_writable(area) + jitgate_area_size(area) - 1;

	return !faults(write_byte, last, area, NULL);
}
