// SPDX-License-Identifier: MIT
/*
 * The lock of the library: the list of areas, the decision, and page
 * permissions. Signals are blocked while it is held, so that a handler that
 * opens an area never waits for the code that it interrupted. What is done with
 * a key takes no lock at all. Pieces have another one, which no handler takes.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "internal.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t pieces_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct held_lock forking;

/* A thread that were cancelled while it has the lock would never give it back. */
void lock_take(struct held_lock *lock)
{
	sigset_t all;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &lock->cancelling);
	sigfillset(&all);
	count_call();
	pthread_sigmask(SIG_BLOCK, &all, &lock->signals);
	pthread_mutex_lock(&mutex);
}

void lock_drop(struct held_lock *lock)
{
	pthread_mutex_unlock(&mutex);
	count_call();
	pthread_sigmask(SIG_SETMASK, &lock->signals, NULL);
	pthread_setcancelstate(lock->cancelling, NULL);
}

void pieces_take(int *cancelling)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancelling);
	pthread_mutex_lock(&pieces_mutex);
}

void pieces_drop(int cancelling)
{
	pthread_mutex_unlock(&pieces_mutex);
	pthread_setcancelstate(cancelling, NULL);
}

static void before_fork(void)
{
	struct held_lock lock;

	pthread_mutex_lock(&pieces_mutex);
	lock_take(&lock);
	if (have_views())
		views_before_fork();
	forking = lock;
}

static void release(void)
{
	struct held_lock lock = forking;

	lock_drop(&lock);
	pthread_mutex_unlock(&pieces_mutex);
}

static void after_fork(void)
{
	if (have_views())
		views_after_fork();
	release();
}

/* The kernel copies key and rights; of page permissions only we know whose they are. */
static void in_child(void)
{
	if (have_views())
		views_in_child();
	if (decided() && !have_key())
		pages_after_fork();
	release();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}
