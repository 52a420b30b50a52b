// SPDX-License-Identifier: MIT
/* A child has a copy of the code: what it frees and makes is nothing to the parent. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests.h"

#define PATTERNS	20
#define CHILDREN	20
#define THREADS		4

static struct pattern patterns[PATTERNS];

static void make_all(void)
{
	int i;

	for (i = 0; i < PATTERNS; i++)
		patterns[i] = make_pattern(i);
}

static void check_all(void)
{
	int i;

	for (i = 0; i < PATTERNS; i++)
		check_pattern(patterns[i]);
}

static void free_all(void)
{
	int i;

	for (i = 0; i < PATTERNS; i++)
		free_pattern(patterns[i]);
	pcre2_jit_free_unused_memory(NULL);
}

static void check_and_free(void *unused)
{
	(void)unused;
	check_all();
	free_all();
}

/* The first half of PCRE2's issue 162: who frees second dies. */
void freed_by_both(void)
{
	make_all();
	CHECK_EQUAL(in_child(check_and_free, NULL), 0);
	check_all();
	free_all();
	work(1000, PATTERNS);
}

static void compile_others(void *unused)
{
	int i;

	check_and_free(unused);
	for (i = 0; i < PATTERNS; i++)
		patterns[i] = make_pattern(1000 + i);
	check_all();
}

/* The other half: the parent matches what the child compiled. */
void child_compiles_another(void)
{
	make_all();
	CHECK_EQUAL(in_child(compile_others, NULL), 0);
	check_all();
	free_all();
}

static void fork_again(void *unused)
{
	compile_others(unused);
	CHECK_EQUAL(in_child(check_and_free, NULL), 0);
	check_and_free(NULL);
}

void forks_of_forks(void)
{
	make_all();
	CHECK_EQUAL(in_child(fork_again, NULL), 0);
	check_all();
	CHECK_EQUAL(in_child(fork_again, NULL), 0);
	check_all();
	free_all();
}

static atomic_bool enough;

static void *compile_on(void *number)
{
	while (!atomic_load(&enough))
		work((int)(long)number * 1000, 5);
	return NULL;
}

static void use_it(void *unused)
{
	check_all();
	work(5000, 10);
	compile_others(unused);
}

/* Forks while other threads are in the allocator, and have code open. */
void forks_beside_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	make_all();
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, compile_on, (void *)(long)(i + 1)));
	for (i = 0; i < CHILDREN; i++) {
		CHECK_EQUAL(in_child(use_it, NULL), 0);
		check_all();
	}
	atomic_store(&enough, true);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	free_all();
}
