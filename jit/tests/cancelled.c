// SPDX-License-Identifier: MIT
/* Threads that are cancelled: no function of the library is where they end. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests.h"

#define CANCELLED	200

static struct jitgate_area *area;

static struct jitgate_area *new_area(const void *near_to, unsigned int flags)
{
	struct jitgate_request request = {
		.size = 4096,
		.reserve = 65536,
		.near_to = near_to,
		.reach = JITGATE_REACH_JUMP,
		.flags = flags,
		.name = "cancelled",
	};
	struct jitgate_area *made;

	CHECK_EQUAL(jitgate_area_new(&made, &request), 0);
	return made;
}

static void decide(void)
{
	struct jitgate_info info;

	begin();
	jitgate_query(&info);
	CHECK_EQUAL(info.backend == JITGATE_TWO_VIEWS, with_views);
}

static void enter_and_attach(void)
{
	jitgate_enter();
	jitgate_attach();
}

static void make_and_free(void)
{
	CHECK_EQUAL(jitgate_area_free(new_area(NULL, 0)), 0);
	CHECK_EQUAL(jitgate_area_free(new_area(NULL, JITGATE_HUGE)), 0);
}

/* The second one finds no place at once, so that what is mapped has to be read. */
static void make_near(void)
{
	struct jitgate_request nowhere = {
		.size = 4096,
		.near_to = jitgate_area_start(area),
		.reach = 65536,
	};
	struct jitgate_area *made;

	CHECK_EQUAL(jitgate_area_free(new_area(make_near, 0)), 0);
	CHECK_EQUAL(jitgate_area_new(&made, &nowhere), -ENOSPC);
}

static void grow(void)
{
	CHECK_EQUAL(jitgate_area_grow(area, jitgate_area_size(area) + 4096), 0);
}

static void look(void)
{
	struct jitgate_counts counts;
	char *start = jitgate_area_start(area);

	CHECK(jitgate_area_at(start) == area);
	CHECK(jitgate_writable(start) == jitgate_area_writable(area));
	CHECK(jitgate_area_size(area) <= jitgate_area_reserve(area));
	jitgate_stats(&counts);
}

static void take_pieces(void)
{
	struct jitgate_area *made = new_area(NULL, JITGATE_PIECES);
	void *piece;

	CHECK_EQUAL(jitgate_piece_new(made, 8192, 16, &piece), 0);
	CHECK_EQUAL(jitgate_piece_size(made, piece), 8192);
	CHECK_EQUAL(jitgate_piece_free(made, piece), 0);
	CHECK_EQUAL(jitgate_area_free(made), 0);
}

static void open_one(void)
{
	int state = jitgate_open(area);

	CHECK_EQUAL(jitgate_state(area) > 0, 1);
	state = jitgate_suspend(area);
	CHECK_EQUAL(jitgate_resume(area, state), 0);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
}

static void open_quiet(void)
{
	struct jitgate_area *made = new_area(NULL, JITGATE_NO_HANDLERS);

	CHECK_EQUAL(jitgate_open(made), 0);
	CHECK_EQUAL(jitgate_close(made, 0), 0);
	CHECK_EQUAL(jitgate_area_free(made), 0);
}

static void open_others(void)
{
	CHECK_EQUAL(jitgate_open_all(), 0);
	CHECK_EQUAL(jitgate_state_all() > 0, 1);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	CHECK_EQUAL(jitgate_open_at(jitgate_area_start(area)), 0);
	CHECK_EQUAL(jitgate_close_at(jitgate_area_start(area), 0), 0);
}

static void publish(void)
{
	jitgate_publish(jitgate_area_start(area), 16, JITGATE_ALL_THREADS);
}

static void check(void)
{
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}

static void end_in_report(const void *start, size_t size, const char *what, void *data)
{
	(void)start;
	(void)size;
	(void)what;
	(void)data;
	pthread_testcancel();
}

/* What is wrong is told while the lock is held, a hole when the file is shut again. */
static void check_hole(void)
{
	struct jitgate_area *made = new_area(NULL, 0);

	munmap(jitgate_area_start(made), jitgate_area_size(made));
	CHECK_EQUAL(jitgate_check(end_in_report, NULL), 1);
	CHECK_EQUAL(jitgate_area_free(made), 0);
}

static const struct way {
	const char *name;
	void (*call)(void);
} ways[] = {
	{ "init", decide }, { "attach", enter_and_attach }, { "new and free", make_and_free },
	{ "new near code", make_near }, { "grow", grow }, { "look", look },
	{ "pieces", take_pieces }, { "open", open_one }, { "open without handlers", open_quiet },
	{ "open all", open_others }, { "publish", publish }, { "check", check },
	{ "report", check_hole },
};

#define WAYS	(sizeof(ways) / sizeof(ways[0]))

static int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static const struct way *volatile returned;

/* What is pending ends the thread at the first function that is a cancellation point. */
static void *call_cancelled(void *way)
{
	pthread_cancel(pthread_self());
	((const struct way *)way)->call();
	returned = way;
	pthread_testcancel();
	return NULL;
}

static void end_in(const struct way *way)
{
	pthread_t thread;
	void *result;

	CHECK_EQUAL(pthread_create(&thread, NULL, call_cancelled, (void *)(uintptr_t)way), 0);
	CHECK_EQUAL(pthread_join(thread, &result), 0);
	if (returned != way)
		fail_at(__FILE__, __LINE__, "a thread ended in: %s", way->name);
	CHECK(result == PTHREAD_CANCELED);
}

/* A thread that ended with a lock would leave all others waiting for it. */
void cancelled_anywhere(void)
{
	int before;
	size_t i;

	begin();
	area = new_area(NULL, 0);
	before = open_files();
	for (i = 0; i < WAYS; i++)
		end_in(&ways[i]);
	CHECK_EQUAL(open_files(), before);
	CHECK_EQUAL(jitgate_area_free(area), 0);
}

static void *call_all(void *unused)
{
	size_t i;

	jitgate_attach();
	for (;;) {
		for (i = 0; i < WAYS; i++)
			if (ways[i].call != grow && ways[i].call != check && ways[i].call != check_hole)
				ways[i].call();
		pthread_testcancel();
	}
	return unused;
}

/* The same at any moment, from outside, and the others go on. */
void cancelled_at_random(void)
{
	pthread_t thread;
	void *result;
	int before, i;

	begin();
	area = new_area(NULL, JITGATE_SHARED_RUN);
	before = open_files();
	for (i = 0; i < CANCELLED; i++) {
		CHECK_EQUAL(pthread_create(&thread, NULL, call_all, NULL), 0);
		usleep(i * 10);
		CHECK_EQUAL(pthread_cancel(thread), 0);
		CHECK_EQUAL(pthread_join(thread, &result), 0);
		CHECK(result == PTHREAD_CANCELED);
		emit(area, 0, i);
		CHECK_EQUAL(run(area, 0), i);
	}
	CHECK_EQUAL(open_files(), before);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_area_free(area), 0);
}
