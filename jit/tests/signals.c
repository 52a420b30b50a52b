// SPDX-License-Identifier: MIT
/* Signals during generation: the kernel resets the rights for the handler. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "tests.h"

/*
 * ThreadSanitizer holds signals of the storm back and calls their handler from
 * the next function it knows: the kernel has long reset the rights and given
 * back those of the scope by then.
 */
#if defined(__SANITIZE_THREAD__)
static const bool held_back = true;
#else
static const bool held_back;
#endif

static struct jitgate_area *area;
static atomic_int handled;

static void write_in_handler(void)
{
	char *at = (char *)jitgate_area_start(area) + 256;
	int state = jitgate_open_at(at);

	CHECK(state >= 0);
	store_function(jitgate_writable(at), 9);
	CHECK_EQUAL(jitgate_close_at(at, state), 0);
	atomic_fetch_add(&handled, 1);
}

static void use_in_handler(int number)
{
	(void)number;
	if (with_keys)
		CHECK_EQUAL(jitgate_state(area), 0);
	write_in_handler();
	if (with_keys) {
		CHECK_EQUAL(run(area, 512), 6);
		CHECK_EQUAL(jitgate_state(area), 0);
	}
}

static void use_later(int number)
{
	int state = jitgate_state(area);

	(void)number;
	write_in_handler();
	CHECK_EQUAL(jitgate_state(area), state);
}

static void attach_in_handler(int number)
{
	(void)number;
	jitgate_attach();
	if (with_keys)
		CHECK_EQUAL(run(area, 512), 6);
}

void signal_in_scope(void)
{
	begin();
	area = make_area(4096);
	emit(area, 512, 6);
	CHECK_EQUAL(jitgate_open(area), 0);
	signal(SIGUSR1, use_in_handler);
	raise(SIGUSR1);
	CHECK_EQUAL(atomic_load(&handled), 1);
	/* sigreturn brought the rights back */
	CHECK(jitgate_state(area) > 0);
	CHECK(can_write(area));
	signal(SIGUSR2, attach_in_handler);
	raise(SIGUSR2);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
	jitgate_publish((char *)jitgate_area_start(area) + 256, 8, 0);
	CHECK_EQUAL(run(area, 256), 9);
}

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void signal_storm(void)
{
	struct itimerval often = { .it_interval.tv_usec = 500, .it_value.tv_usec = 500 };
	struct itimerval never = { .it_interval.tv_usec = 0 };
	long end = milliseconds() + 400;
	int i;

	begin();
	area = make_area(4096);
	emit(area, 512, 6);
	signal(SIGALRM, held_back ? use_later : use_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; milliseconds() < end || atomic_load(&handled) < 20; i++) {
		emit(area, 0, i & 0xff);
		CHECK_EQUAL(run(area, 0), i & 0xff);
		CHECK_EQUAL(jitgate_state(area), 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(!can_write(area));
}

/* The interrupted code opens one area, the handler another: neither waits for the other. */
void signal_storm_beside_quiet(void)
{
	struct jitgate_request request = { .size = 4096, .flags = JITGATE_NO_HANDLERS };
	struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	struct itimerval never = { .it_interval.tv_usec = 0 };
	long end = milliseconds() + 400;
	struct jitgate_area *quiet;
	int i;

	begin();
	CHECK_EQUAL(jitgate_area_new(&quiet, &request), 0);
	area = make_area(4096);
	emit(area, 512, 6);
	signal(SIGALRM, held_back ? use_later : use_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; milliseconds() < end || atomic_load(&handled) < 20; i++) {
		emit(quiet, 0, i & 0xff);
		CHECK_EQUAL(run(quiet, 0), i & 0xff);
		CHECK_EQUAL(jitgate_state(quiet), 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(!can_write(quiet));
	CHECK(!can_write(area));
}
