// SPDX-License-Identifier: MIT
/*
 * The locks of the library, in the order in which a thread may take them:
 *
 * pieces - what is taken of an area; no handler takes it.
 * quiet - page permissions of areas that no handler opens: signals stay as they are.
 * main - those of all others. Signals are blocked while it is held, so that a handler
 * that opens an area never waits for the code that it interrupted.
 *
 * Who changes the list of areas or the decision has the last two. What is done with
 * a key takes none.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "internal.h"

static pthread_mutex_t pieces_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t quiet_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t main_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct held_lock forking;

/* A thread that were cancelled while it has a lock would never give it back. */
static void keep_thread(struct held_lock *lock)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &lock->cancelling);
}

static void block_signals(struct held_lock *lock)
{
	sigset_t all;

	sigfillset(&all);
	count_call();
	pthread_sigmask(SIG_BLOCK, &all, &lock->signals);
}

static void unblock_signals(struct held_lock *lock)
{
	count_call();
	pthread_sigmask(SIG_SETMASK, &lock->signals, NULL);
}

void lock_take(struct held_lock *lock)
{
	keep_thread(lock);
	block_signals(lock);
	pthread_mutex_lock(&quiet_mutex);
	pthread_mutex_lock(&main_mutex);
}

void lock_drop(struct held_lock *lock)
{
	pthread_mutex_unlock(&main_mutex);
	pthread_mutex_unlock(&quiet_mutex);
	unblock_signals(lock);
	pthread_setcancelstate(lock->cancelling, NULL);
}

/* With the quiet one nothing is called that could end the thread. */
void lock_take_for(struct held_lock *lock, bool quiet)
{
	if (quiet) {
		pthread_mutex_lock(&quiet_mutex);
		return;
	}
	keep_thread(lock);
	block_signals(lock);
	pthread_mutex_lock(&main_mutex);
}

void lock_drop_for(struct held_lock *lock, bool quiet)
{
	if (quiet) {
		pthread_mutex_unlock(&quiet_mutex);
		return;
	}
	pthread_mutex_unlock(&main_mutex);
	unblock_signals(lock);
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
