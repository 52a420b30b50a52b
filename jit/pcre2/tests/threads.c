// SPDX-License-Identifier: MIT
/* Threads that compile, match and free at once; signals, and callouts. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tests.h"

#define THREADS		8
#define PATTERNS	40
#define STEPS		400

/* Some at a time, freed in another order. */
static void *make_and_free(void *number)
{
	unsigned int random = (long)number;
	struct pattern patterns[PATTERNS] = { { 0 } };
	int step, i;

	for (step = 0; step < STEPS; step++) {
		i = rand_r(&random) % PATTERNS;
		if (patterns[i].code) {
			check_pattern(patterns[i]);
			free_pattern(patterns[i]);
		}
		patterns[i] = make_pattern(step * 100 + i);
		check_pattern(patterns[i]);
	}
	for (i = 0; i < PATTERNS; i++)
		free_pattern(patterns[i]);
	return NULL;
}

static void run_threads(void *(*function)(void *))
{
	pthread_t threads[THREADS];
	long i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, function, (void *)(i + 1)));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

void threads(void)
{
	run_threads(make_and_free);
}

static struct pattern shared[PATTERNS];

static void *match_and_make(void *number)
{
	int step;

	for (step = 0; step < STEPS; step++) {
		check_pattern(shared[step % PATTERNS]);
		if (step % 10 == (long)number)
			work((long)number * 1000 + step, 2);
	}
	return NULL;
}

/* Code is run by some threads while others write beside it. */
void shared_patterns(void)
{
	int i;

	for (i = 0; i < PATTERNS; i++)
		shared[i] = make_pattern(i);
	run_threads(match_and_make);
	for (i = 0; i < PATTERNS; i++)
		free_pattern(shared[i]);
}

/* Born before there is a key, which is taken when a pattern is compiled. */
static sem_t go;
static void *(*older_work)(void *);

static void *wait_for_work(void *data)
{
	sem_wait(&go);
	return older_work(data);
}

static void by_older(void *(*function)(void *))
{
	pthread_t older;

	sem_init(&go, 0, 0);
	CHECK(!pthread_create(&older, NULL, wait_for_work, NULL));
	shared[0] = make_pattern(1);
	older_work = function;
	sem_post(&go);
	CHECK(!pthread_join(older, NULL));
}

static void *matches_and_makes(void *unused)
{
	check_pattern(shared[0]);
	work(10, 5);
	check_pattern(shared[0]);
	return unused;
}

void older_thread(void)
{
	by_older(matches_and_makes);
	check_pattern(shared[0]);
	free_pattern(shared[0]);
}

static void *frees(void *unused)
{
	free_pattern(shared[0]);
	work(10, 5);
	return unused;
}

void older_thread_frees(void)
{
	by_older(frees);
	work(1, 5);
}

static pcre2_match_data *handler_data;
static atomic_int handled;

/* With memory that is there already: nothing is allocated in a handler. */
static void match_in_handler(int number)
{
	static const char subject[] = "abcbca<1>qrsx";

	(void)number;
	CHECK_EQUAL(pcre2_jit_match(shared[0].code, (PCRE2_SPTR)subject, sizeof(subject) - 1, 0, 0,
				    handler_data, NULL), 2);
	atomic_fetch_add(&handled, 1);
}

/* The kernel starts handlers without rights; they interrupt open code, too. */
void handler_matches(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	int i;

	shared[0] = make_pattern(1);
	handler_data = pcre2_match_data_create(8, NULL);
	signal(SIGALRM, match_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 100000 && atomic_load(&handled) < 200; i++)
		work(i, 5);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(atomic_load(&handled) >= 200);
	free_pattern(shared[0]);
	pcre2_match_data_free(handler_data);
}

static int compile_in_callout(pcre2_callout_block *block, void *count)
{
	(void)block;
	work(7, 2);
	++*(int *)count;
	return 0;
}

/* Comes from machine code and goes back to it. */
void callout_compiles(void)
{
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(8, NULL);
	pcre2_code *code = compile_jit("(?:a(?C1))+b", 0);
	int count = 0;

	pcre2_set_callout(context, compile_in_callout, &count);
	CHECK_EQUAL(pcre2_jit_match(code, (PCRE2_SPTR)"aaaab", 5, 0, 0, data, context), 1);
	CHECK(count >= 4);
	pcre2_code_free(code);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
}
