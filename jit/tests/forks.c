// SPDX-License-Identifier: MIT
/* Children have the parent's areas and the rights of the thread that forked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "tests.h"

static struct jitgate_area *area;

static void use_it(void *unused)
{
	(void)unused;
	CHECK_EQUAL(run(area, 0), 1);
	CHECK(!can_write(area));
	emit(area, 0, 2);
	CHECK_EQUAL(run(area, 0), 2);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_open(area), 0);
}

void forked(void)
{
	begin();
	area = make_area(4096);
	emit(area, 0, 1);
	CHECK_EQUAL(in_child(use_it, NULL), 0);
	CHECK_EQUAL(run(area, 0), 1);
	CHECK(!can_write(area));
}

static void go_on(void *unused)
{
	(void)unused;
	CHECK(can_write(area));
	CHECK(jitgate_state(area) > 0);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

void forked_in_scope(void)
{
	begin();
	area = make_area(4096);
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(in_child(go_on, NULL), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

static sem_t is_open, may_close;

static void *hold_open(void *unused)
{
	(void)unused;
	CHECK_EQUAL(jitgate_open(area), 0);
	sem_post(&is_open);
	sem_wait(&may_close);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	return NULL;
}

static void is_closed(void *unused)
{
	(void)unused;
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

/* The thread that has it open does not exist in the child. */
void forked_beside_scope(void)
{
	pthread_t thread;

	begin();
	area = make_area(4096);
	sem_init(&is_open, 0, 0);
	sem_init(&may_close, 0, 0);
	pthread_create(&thread, NULL, hold_open, NULL);
	sem_wait(&is_open);
	CHECK_EQUAL(in_child(is_closed, NULL), 0);
	sem_post(&may_close);
	pthread_join(thread, NULL);
	CHECK(!can_write(area));
}
