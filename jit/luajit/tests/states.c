// SPDX-License-Identifier: MIT
/* Several states, threads and processes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

#ifndef ROUNDS
#define ROUNDS 3
#endif
#define STATES		8
#define MOST_KEYS	16

void several_states(void)
{
	lua_State *states[STATES];
	int i, round;

	for (i = 0; i < STATES; i++)
		states[i] = new_state();
	for (round = 0; round < 3; round++)
		for (i = 0; i < STATES; i++)
			work(states[i], 5);
	for (i = 0; i < STATES; i += 2)
		lua_close(states[i]);
	for (i = 1; i < STATES; i += 2) {
		work(states[i], 5);
		lua_close(states[i]);
	}
}

/* Keys that are left; all are given back. */
static int keys_left(void)
{
	int keys[MOST_KEYS], count = 0, i;

	while (count < MOST_KEYS) {
		keys[count] = syscall(SYS_pkey_alloc, 0, 0);
		if (keys[count] < 0)
			break;
		count++;
	}
	for (i = 0; i < count; i++)
		syscall(SYS_pkey_free, keys[i]);
	return count;
}

/* However many states there are. */
void one_key(void)
{
	int before = keys_left();

	if (how == PKEY)
		CHECK_RANGE(before, 2, MOST_KEYS);
	several_states();
	CHECK_RANGE(keys_left(), before, before);
}

static void *own_state(void *unused)
{
	lua_State *state = new_state();
	int round;

	(void)unused;
	for (round = 0; round < ROUNDS; round++) {
		work(state, 8);
		call(state, "patch_older", 8);
		call(state, "flush_often", 3);
	}
	lua_close(state);
	return NULL;
}

void states_in_threads(void)
{
	pthread_t threads[STATES];
	int i;

	for (i = 0; i < STATES; i++)
		CHECK(!pthread_create(&threads[i], NULL, own_state, NULL));
	for (i = 0; i < STATES; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static void *goes_on(void *data)
{
	lua_State *state = data;

	check_closed(state);
	call(state, "patch_older", 10);
	work(state, 10);
	return NULL;
}

static void *ends(void *state)
{
	goes_on(state);
	lua_close(state);
	return NULL;
}

/* Made by one thread, used by another, closed by a third. */
void state_moves(void)
{
	lua_State *state = new_state();
	pthread_t thread;

	work(state, 10);
	CHECK(!pthread_create(&thread, NULL, goes_on, state));
	CHECK(!pthread_join(thread, NULL));
	work(state, 10);
	CHECK(!pthread_create(&thread, NULL, ends, state));
	CHECK(!pthread_join(thread, NULL));
}

/* Born before LuaJIT takes the key, which it does when it is loaded. */
static pthread_t older;
static sem_t go;
static void *(*older_work)(void *);
static void *older_data;

static void *wait_for_work(void *unused)
{
	sigset_t profile;

	(void)unused;
	/* LuaJIT's profiler: its handler runs in the state's thread or goes astray. */
	sigemptyset(&profile);
	sigaddset(&profile, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &profile, NULL);
	sem_wait(&go);
	return older_work(older_data);
}

static void __attribute__((constructor(101))) before_luajit(void)
{
	sem_init(&go, 0, 0);
	pthread_create(&older, NULL, wait_for_work, NULL);
}

static void by_older(void *(*function)(void *), void *data)
{
	older_work = function;
	older_data = data;
	sem_post(&go);
	CHECK(!pthread_join(older, NULL));
}

/* A state of its own needs nothing: making code attaches. */
void older_thread(void)
{
	by_older(own_state, NULL);
}

static void *makes_more(void *state)
{
	call(state, "generate", 1);
	return goes_on(state);
}

/* Nor does the state of another thread, as long as code is made before any is run. */
void older_thread_makes(void)
{
	lua_State *state = new_state();

	call(state, "generate", 1);
	CHECK_RANGE(traces(state), 1, 10);
	by_older(makes_more, state);
	work(state, 10);
	lua_close(state);
}

static void run_code(void *state)
{
	signal(SIGSEGV, SIG_DFL);
	call(state, "read_code", 1);
}

static void *attaches(void *state)
{
	/* The child is this thread, with its rights: it has none to read code. */
	if (how == PKEY) {
		int status = in_child(run_code, state);

		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	}
	jitgate_attach();
	CHECK_RANGE(in_child(run_code, state), 0, 0);
	return goes_on(state);
}

/* The state of another thread: its code was made already. */
void older_thread_attaches(void)
{
	lua_State *state = new_state();

	work(state, 10);
	by_older(attaches, state);
	work(state, 10);
	lua_close(state);
}

static void use_and_close(void *state)
{
	call(state, "patch_older", 10);
	call(state, "flush_often", 3);
	work(state, 5);
	lua_close(state);
}

void forks(void)
{
	lua_State *state = new_state();
	int i;

	for (i = 0; i < 5; i++) {
		work(state, 5);
		CHECK_RANGE(in_child(use_and_close, state), 0, 0);
	}
	work(state, 5);
	lua_close(state);
}

static atomic_bool enough;

static void *until_enough(void *unused)
{
	(void)unused;
	while (!atomic_load(&enough))
		own_state(NULL);
	return NULL;
}

static void start_anew(void *unused)
{
	lua_State *state = new_state();

	(void)unused;
	work(state, 5);
	lua_close(state);
}

#define STUCK		3	/* exit status */
#define STUCK_AFTER	30	/* s */

struct timed {
	void (*function)(void *);
	void *argument;
};

/* Where a lock of jitgate was left held this does not end, and nothing is tried again. */
static void end_stuck(int signal)
{
#ifdef LUAJIT_USE_JITGATE
	struct jitgate_request request = { .size = 4096 };
	struct jitgate_area *area = NULL;

	if (jitgate_area_new(&area, &request) || jitgate_area_free(area))
		_exit(1);
#endif
	(void)signal;
	_exit(STUCK);
}

static void run_timed(void *argument)
{
	struct timed *timed = argument;

	signal(SIGALRM, end_stuck);
	alarm(STUCK_AFTER);
	timed->function(timed->argument);
}

/*
 * LuaJIT registers frames of its machine code, which makes libgcc's unwinder take a
 * lock that fork() does not. A child that another thread's exception met can not
 * throw, and is tried again.
 */
static int in_timed_child(void (*function)(void *), void *argument)
{
	struct timed timed = { function, argument };
	int status, tries = 4;

	do
		status = in_child(run_timed, &timed);
	while (WIFEXITED(status) && WEXITSTATUS(status) == STUCK && --tries);
	return status;
}

/* What other threads had open does not trouble the child. */
void forks_beside_threads(void)
{
	lua_State *state = new_state();
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, until_enough, NULL));
	for (i = 0; i < 8; i++) {
		work(state, 5);
		CHECK_RANGE(in_timed_child(start_anew, NULL), 0, 0);
		CHECK_RANGE(in_timed_child(use_and_close, state), 0, 0);
	}
	atomic_store(&enough, true);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	lua_close(state);
}
