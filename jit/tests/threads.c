// SPDX-License-Identifier: MIT
/* Threads: older than the key, born in a scope, and many at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "tests.h"

#define THREADS		8
#define ROUNDS		3000

static sem_t go, more;
static struct jitgate_area *area;

static void run_it(void *unused)
{
	(void)unused;
	CHECK_EQUAL(run(area, 0), 7);
}

static void *older(void *unused)
{
	struct fault fault;
	void *start;

	(void)unused;
	sem_wait(&go);
	start = jitgate_area_start(area);
	if (with_keys) {
		/* Not faults(), which would attach this thread. */
		CHECK_EQUAL(jitgate_state(area), 0);
		CHECK(faults(read_byte, start, area, &fault));
		CHECK_EQUAL(fault.code, SEGV_PKUERR);
	}
	jitgate_attach();
	CHECK(!faults(read_byte, start, area, NULL));
	CHECK(!faults(run_it, NULL, area, NULL));
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	return NULL;
}

static void init_again(void)
{
	CHECK_EQUAL(jitgate_init(with_views ? JITGATE_TWICE : JITGATE_AUTO), 0);
}

static void enter_twice(void)
{
	struct jitgate_counts before, after;

	jitgate_stats(&before);
	jitgate_enter();
	jitgate_enter();
	jitgate_stats(&after);
	CHECK_EQUAL(after.register_writes - before.register_writes, with_keys);
}

/* As older(), but it only attaches: faults() must not have repaired anything. */
static void *older_attaches(void *way)
{
	sem_wait(&more);
	((void (*)(void))way)();
	CHECK_EQUAL(run(area, 0), 7);
	read_byte(jitgate_area_start(area));
	return NULL;
}

void older_thread(void)
{
	pthread_t first, second, third, fourth;

	if (with_keys && !keys_here())
		skip("no protection keys here");
	sem_init(&go, 0, 0);
	sem_init(&more, 0, 0);
	pthread_create(&first, NULL, older, NULL);
	pthread_create(&second, NULL, older_attaches, jitgate_attach);
	pthread_create(&third, NULL, older_attaches, init_again);
	pthread_create(&fourth, NULL, older_attaches, enter_twice);
	begin();
	area = make_area(4096);
	emit(area, 0, 7);
	/* Not both at once: by mprotect() one that writes stops the other. */
	sem_post(&go);
	pthread_join(first, NULL);
	sem_post(&more);
	sem_post(&more);
	sem_post(&more);
	pthread_join(second, NULL);
	pthread_join(third, NULL);
	pthread_join(fourth, NULL);
}

/* Nothing is there to enter before there is a decision; inside a scope it changes nothing. */
void enter(void)
{
	struct jitgate_counts before, after;

	jitgate_enter();
	begin();
	area = make_area(4096);
	emit(area, 0, 7);
	jitgate_stats(&before);
	jitgate_enter();
	CHECK_EQUAL(run(area, 0), 7);
	CHECK_EQUAL(jitgate_open(area), 0);
	jitgate_enter();
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	jitgate_stats(&after);
	CHECK_EQUAL(after.register_writes - before.register_writes, with_keys ? 2 : 0);
}

static void *newer(void *unused)
{
	(void)unused;
	CHECK_EQUAL(run(area, 0), 7);
	CHECK(!can_write(area));
	emit(area, 0, 8);
	return NULL;
}

void newer_thread(void)
{
	pthread_t thread;

	begin();
	area = make_area(4096);
	emit(area, 0, 7);
	pthread_create(&thread, NULL, newer, NULL);
	pthread_join(thread, NULL);
	CHECK_EQUAL(run(area, 0), 8);
}

static void *born_in_scope(void *unused)
{
	(void)unused;
	CHECK(can_write(area));	/* inherited, or of the process */
	jitgate_attach();
	CHECK_EQUAL(jitgate_state(area), 0);
	if (with_keys)
		CHECK(!can_write(area));
	return NULL;
}

void thread_born_in_scope(void)
{
	pthread_t thread;

	begin();
	area = make_area(4096);
	CHECK_EQUAL(jitgate_open(area), 0);
	pthread_create(&thread, NULL, born_in_scope, NULL);
	pthread_join(thread, NULL);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

static void *run_meanwhile(void *expected)
{
	/* It has its creator's rights, which are those of a scope. */
	jitgate_attach();
	CHECK_EQUAL(faults(run_it, NULL, area, NULL), *(bool *)expected);
	return NULL;
}

static void open_and_run_elsewhere(unsigned int flags, bool expected)
{
	struct jitgate_request request = { .size = 4096, .flags = flags };
	pthread_t thread;

	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	emit(area, 0, 7);
	CHECK_EQUAL(jitgate_open(area), 0);
	pthread_create(&thread, NULL, run_meanwhile, &expected);
	pthread_join(thread, NULL);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
}

/* What JITGATE_SHARED_RUN is for. */
void runs_beside_scope(void)
{
	begin();
	open_and_run_elsewhere(JITGATE_SHARED_RUN, false);
	open_and_run_elsewhere(0, !with_keys && !with_views);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

/* Every thread writes a byte of its own. */
static void *open_at_random(void *number)
{
	unsigned int seed = (uintptr_t)number * 7919 + 1;
	unsigned char *mine = (unsigned char *)jitgate_area_writable(area) + 64 * (uintptr_t)number;
	int state, i;

	for (i = 0; i < ROUNDS; i++) {
		if (next_random(&seed) & 1) {
			state = jitgate_open(area);
			CHECK(state >= 0);
			CHECK(!faults(write_byte, mine, area, NULL));
			CHECK_EQUAL(jitgate_close(area, state), 0);
		} else if (with_keys && next_random(&seed) % 16 == 0) {
			CHECK(faults(write_byte, mine, area, NULL));
		}
		CHECK_EQUAL(jitgate_state(area), 0);
	}
	return NULL;
}

static atomic_bool ended;

static void *keep_checking(void *unused)
{
	(void)unused;
	while (!atomic_load(&ended)) {
		CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
		usleep(1000);
	}
	return NULL;
}

static void let_threads_open(unsigned int flags)
{
	struct jitgate_request request = { .size = 4096, .flags = flags };
	pthread_t threads[THREADS], checker;
	uintptr_t i;

	begin();
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	pthread_create(&checker, NULL, keep_checking, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, open_at_random, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&ended, true);
	pthread_join(checker, NULL);
	CHECK(!can_write(area));
}

void random_threads(void)
{
	let_threads_open(0);
}

void random_threads_quiet(void)
{
	let_threads_open(JITGATE_NO_HANDLERS);
}
