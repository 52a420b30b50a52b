// SPDX-License-Identifier: MIT
/* Areas that are mapped twice; with the other backends, that nothing changes for them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static struct jitgate_area *area;

static void need_views(void)
{
	if (!with_views)
		skip("about two views");
	begin();
	area = make_area(4096);
	emit(area, 0, 1);
}

void two_views(void)
{
	char *start, *writable, nowhere;

	begin();
	area = make_area(5000);
	start = jitgate_area_start(area);
	writable = jitgate_area_writable(area);
	CHECK_EQUAL(writable == start, !with_views);
	CHECK(jitgate_writable(start + 5000) == writable + 5000);
	CHECK(jitgate_writable(writable + 64) == writable + 64);
	CHECK(jitgate_area_at(writable + 64) == area);
	CHECK(jitgate_writable(&nowhere) == (with_views ? NULL : &nowhere));
	if (!with_views)
		return;
	CHECK(faults(write_byte, writable, area, NULL));
	CHECK(faults(write_byte, start, area, NULL));
	CHECK_EQUAL(jitgate_open_at(start), 0);
	CHECK(faults(write_byte, start, area, NULL));
	store_function(writable + 64, 6);
	jitgate_publish(start + 64, 16, 0);
	CHECK_EQUAL(run(area, 64), 6);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_close_at(start, 0), 0);
	CHECK(faults(write_byte, writable, area, NULL));
	CHECK_EQUAL(jitgate_open_at(writable), 0);
	store_function(writable + 64, 7);
	CHECK_EQUAL(jitgate_close_at(writable, 0), 0);
	CHECK(faults(write_byte, writable, area, NULL));
	CHECK_EQUAL(run(area, 64), 7);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	CHECK(faults(read_byte, start, NULL, NULL));
	CHECK(faults(read_byte, writable, NULL, NULL));
}

void two_views_asked_for(void)
{
	struct jitgate_request request = { .size = 4096, .flags = JITGATE_PERMANENT };
	struct jitgate_info info;

	begin();
	jitgate_query(&info);
	CHECK_EQUAL(info.backend == JITGATE_TWO_VIEWS, with_views);
	CHECK_EQUAL(jitgate_init(JITGATE_TWICE), with_views ? 0 : -EBUSY);
	if (!with_views)
		return;
	CHECK_EQUAL(info.key, -1);
	CHECK_EQUAL(info.reason, ECANCELED);
	CHECK_EQUAL(jitgate_init(JITGATE_AUTO), -EBUSY);
	CHECK_EQUAL(jitgate_init(JITGATE_ALWAYS), -EBUSY);
	CHECK_EQUAL(jitgate_init(JITGATE_NEVER), -EBUSY);
	CHECK_EQUAL(jitgate_area_new(&area, &request), -EOPNOTSUPP);
}

/* What they are for. */
void two_views_where_forbidden(void)
{
	if (!with_views)
		skip("about two views");
	if (getenv("UNDER_VALGRIND"))
		skip("valgrind ends where its own code cannot be mapped");
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
		skip("no PR_SET_MDWE here");
	need_views();
	CHECK_EQUAL(run(area, 0), 1);
	CHECK_EQUAL(jitgate_area_grow(area, 4096), 0);
	CHECK(!can_write(area));
}

static int ends[2];

static void run_in_grandchild(void *unused)
{
	(void)unused;
	CHECK_EQUAL(run(area, 0), 3);
	emit(area, 0, 4);
	CHECK_EQUAL(run(area, 0), 4);
}

static void run_when_told(void *unused)
{
	char byte;

	(void)unused;
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	CHECK_EQUAL(run(area, 0), 1);
	CHECK(!can_write(area));
	emit(area, 0, 3);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(in_child(run_in_grandchild, NULL), 0);
	CHECK_EQUAL(run(area, 0), 3);
	_exit(0);
}

/* What either of the two writes afterwards, the other does not see. */
void two_views_forked(void)
{
	int status;
	pid_t pid;

	need_views();
	CHECK_EQUAL(pipe(ends), 0);
	pid = fork();
	if (!pid)
		run_when_told(NULL);
	emit(area, 0, 2);
	CHECK_EQUAL(write(ends[1], "", 1), 1);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(run(area, 0), 2);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}

static void run_it(void *unused)
{
	(void)unused;
	run(area, 0);
}

static void have_nothing(void *unused)
{
	(void)unused;
	CHECK(faults(run_it, NULL, area, NULL));
	if (jitgate_open(area) >= 0)
		faults(write_byte, jitgate_area_writable(area), area, NULL);
	_exit(0);
}

/* Better no code than the parent's: copies need a file each. */
void two_views_not_copied(void)
{
	struct rlimit before, none;

	if (getenv("UNDER_VALGRIND"))
		skip("valgrind counts the jump as an error");
	need_views();
	CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQUAL(in_child(have_nothing, NULL), 0);
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQUAL(run(area, 0), 1);
}

/* No handler of fork() runs. */
void two_views_cloned(void)
{
	int status;
	pid_t pid;

#if defined(__SANITIZE_THREAD__)
	skip("the sanitizer does not bear a bare clone()");
#endif
	need_views();
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		if (!faults(read_byte, jitgate_area_start(area), area, NULL))
			_exit(1);
		_exit(!faults(read_byte, jitgate_area_writable(area), area, NULL));
	}
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(run(area, 0), 1);
}

static atomic_bool stop;

static void *keep_writing(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; !atomic_load(&stop); i++)
		emit(area, 128, i & 127);
	return NULL;
}

static void run_both(void *unused)
{
	int number = run(area, 128);

	(void)unused;
	CHECK(number >= 0 && number < 128);
	CHECK_EQUAL(run(area, 0), 1);
	CHECK_EQUAL(run(area, 128), number);
}

void two_views_forked_beside(void)
{
	pthread_t thread;
	int i;

	need_views();
	emit(area, 128, 0);
	pthread_create(&thread, NULL, keep_writing, NULL);
	for (i = 0; i < 50; i++)
		CHECK_EQUAL(in_child(run_both, NULL), 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}
