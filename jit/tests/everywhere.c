// SPDX-License-Identifier: MIT
/* Code without an area at hand: all areas of the thread, or an address. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests.h"

static struct jitgate_area *one, *two;

static void make_two(void)
{
	begin();
	one = make_area(4096);
	two = make_area(4096);
}

static void expect_open(bool first, bool second)
{
	CHECK_EQUAL(can_write(one), first);
	CHECK_EQUAL(can_write(two), second);
	CHECK_EQUAL(jitgate_state(one) > 0, first);
	CHECK_EQUAL(jitgate_state(two) > 0, second);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}

void open_all(void)
{
	struct jitgate_area *three;
	int i, state;

	make_two();
	for (i = 0; i < 20; i++) {
		CHECK_EQUAL(jitgate_state_all(), 0);
		state = jitgate_open_all();
		CHECK_EQUAL(state, 0);
		CHECK(jitgate_state_all() > 0);
		expect_open(true, true);
		CHECK_EQUAL(jitgate_close_all(state), 0);
		expect_open(false, false);
	}
	CHECK_EQUAL(jitgate_close_all(-EMFILE), -EINVAL);
	CHECK_EQUAL(jitgate_open_all(), 0);
	three = make_area(4096);
	CHECK(can_write(three));
	CHECK_EQUAL(jitgate_area_free(one), 0);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	CHECK(!can_write(two));
	CHECK(!can_write(three));
}

/* Who makes code before any area is made. */
void open_all_first(void)
{
	struct jitgate_area *area;

	if (with_keys && !keys_here())
		skip("no protection keys here");
	CHECK_EQUAL(jitgate_open_all(), 0);
	area = make_area(4096);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close_all(0), 0);
	CHECK(!can_write(area));
}

void all_inside_one(void)
{
	int outer, inner;

	make_two();
	outer = jitgate_open(one);
	inner = jitgate_open_all();
	CHECK(outer == 0 && inner > 0);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_all(inner), 0);
	expect_open(true, with_keys);
	CHECK_EQUAL(jitgate_close(one, outer), 0);
	expect_open(false, false);
	/* Jumped out of the inner one. */
	outer = jitgate_open(one);
	CHECK(jitgate_open_all() > 0);
	CHECK_EQUAL(jitgate_close(one, outer), 0);
	expect_open(false, false);
}

void one_inside_all(void)
{
	int outer, middle, inner;

	make_two();
	outer = jitgate_open_all();
	middle = jitgate_open(one);
	inner = jitgate_open_all();
	CHECK(outer == 0 && middle > 0 && inner > 0);
	CHECK_EQUAL(jitgate_close_all(inner), 0);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close(one, middle), 0);
	expect_open(true, true);
	CHECK(jitgate_open(one) > 0);
	CHECK_EQUAL(jitgate_close_all(outer), 0);
	expect_open(false, false);
}

void open_at(void)
{
	char *start, nowhere;
	int state;

	make_two();
	start = jitgate_area_start(one);
	CHECK(jitgate_area_at(start) == one);
	CHECK(jitgate_area_at(start + 4095) == one);
	CHECK(jitgate_area_at(jitgate_area_start(two)) == two);
	CHECK(!jitgate_area_at(&nowhere));
	CHECK(!jitgate_area_at(NULL));
	state = jitgate_open_at(start + 4095);
	CHECK_EQUAL(state, 0);
	expect_open(true, with_keys);
	CHECK_EQUAL(jitgate_close_at(start, state), 0);
	expect_open(false, false);
	CHECK_EQUAL(jitgate_open_at(&nowhere), with_keys ? 0 : -EINVAL);
	CHECK_EQUAL(jitgate_close_all(0), 0);
}

/* As a code generator does that knows no area when it begins, and no state when it ends. */
void open_at_null(void)
{
	make_two();
	CHECK_EQUAL(jitgate_open_at(NULL), 0);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_at(jitgate_area_start(two), 0), 0);
	expect_open(false, false);
	CHECK_EQUAL(jitgate_open_at(jitgate_area_start(two)), 0);
	CHECK_EQUAL(jitgate_close_at(NULL, 0), 0);
	expect_open(false, false);
}

void suspend_all(void)
{
	int state;

	make_two();
	CHECK_EQUAL(jitgate_open_all(), 0);
	CHECK(jitgate_open(one) > 0);
	state = jitgate_suspend(one);
	CHECK(state > 0);
	expect_open(false, false);
	CHECK_EQUAL(jitgate_resume(one, state), 0);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	expect_open(false, false);
}

static void *open_too(void *unused)
{
	jitgate_attach();
	CHECK_EQUAL(jitgate_state_all(), 0);
	CHECK_EQUAL(jitgate_open_all(), 0);
	CHECK(can_write(two));
	CHECK_EQUAL(jitgate_close_all(0), 0);
	CHECK_EQUAL(can_write(two), !with_keys);
	CHECK_EQUAL(jitgate_state(two), 0);
	return unused;
}

/* The last one closes; what another thread has open by itself stays so. */
void all_of_two_threads(void)
{
	pthread_t thread;

	make_two();
	CHECK_EQUAL(jitgate_open_all(), 0);
	pthread_create(&thread, NULL, open_too, NULL);
	pthread_join(thread, NULL);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	expect_open(false, false);
}

static void go_on(void *unused)
{
	(void)unused;
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	expect_open(false, false);
}

void all_forked(void)
{
	make_two();
	CHECK_EQUAL(jitgate_open_all(), 0);
	CHECK_EQUAL(in_child(go_on, NULL), 0);
	expect_open(true, true);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	expect_open(false, false);
}

static sem_t is_open, may_close;

static void *hold_open(void *unused)
{
	CHECK_EQUAL(jitgate_open_all(), 0);
	sem_post(&is_open);
	sem_wait(&may_close);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	return unused;
}

static void is_closed(void *unused)
{
	(void)unused;
	expect_open(false, false);
}

/* The thread that has all open does not exist in the child. */
void all_forked_beside(void)
{
	pthread_t thread;

	make_two();
	sem_init(&is_open, 0, 0);
	sem_init(&may_close, 0, 0);
	pthread_create(&thread, NULL, hold_open, NULL);
	sem_wait(&is_open);
	CHECK_EQUAL(in_child(is_closed, NULL), 0);
	sem_post(&may_close);
	pthread_join(thread, NULL);
	expect_open(false, false);
}
