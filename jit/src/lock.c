// SPDX-License-Identifier: MIT
/*
 * The one lock of the library: the list of areas, the decision, and page
 * permissions. Signals are blocked while it is held, so that a handler that
 * opens an area never waits for the code that it interrupted. What is done with
 * a key takes no lock at all.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "internal.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
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

static void before_fork(void)
{
	struct held_lock lock;

	lock_take(&lock);
	forking = lock;
}

static void after_fork(void)
{
	struct held_lock lock = forking;

	lock_drop(&lock);
}

/* The kernel copies key and rights; of page permissions only we know whose they are. */
static void in_child(void)
{
	if (decided() && !have_key())
		pages_after_fork();
	after_fork();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}
