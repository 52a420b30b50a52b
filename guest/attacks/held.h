/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks of the kernel's that are made to look held. Who waits for one, on the other
 * CPU, has on his stack what he goes on with, and it is changed there.
 */
#ifndef GUEST_HELD_H
#define GUEST_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_CPU	1	/* where they wait */
#define HELD_BELOW	16	/* words below the way back into a function ... */
#define HELD_ABOVE	96	/* ... and above it, in what is to be changed */

struct held_lock {
	uint64_t addr;
	/* Takes a mutex, and gives it to who waits. NULL: a spinlock, for which a CPU waits. */
	void (*hand_on)(void);
};

/* Of the table by which the kernel patches text, and of all who patch it; addr is 0 if there is none. */
struct held_lock held_table(void);
struct held_lock held_mutex(void);

/*
 * What is to be changed, if it is there: words[0] is the way back into the function, and
 * the others are around it, words[0] at addr. Returns whether it was.
 */
struct held_change {
	const char *function;
	size_t length;
	bool (*change)(const struct held_change *change, uint64_t addr, const uint64_t *words);
	/* Nobody will wait any more. */
	bool (*is_over)(const struct held_change *change);
	void *data;
};

/* For those who change it as long as somebody waits, and for those who wait for it in another way. */
bool held_is_over(const struct held_change *change);
bool held_is_never_over(const struct held_change *change);

/* Registers that were pushed below the way back; not those of the callers. Returns whether one was. */
bool held_replace(uint64_t addr, const uint64_t *words, uint64_t from, uint64_t to);

/* Until it has done what it was asked, and a little longer, for what cannot be seen. */
void held_settle(void);

/* A process on that CPU, to do something each time that it is asked. */
void held_start(void (*act)(void));
void held_stop(void);
void held_ask(void);
bool held_is_done(void);

/* This CPU has the kernel copy code. */
void held_copy_filter(void);

/* The same of code in three pages and more. It stays: who erases one later would wait. */
void held_long_filter(void);

/* It is asked while the lock looks held. Returns whether something was changed. */
bool held_act(const struct held_lock *lock, const struct held_change *change);

/* The same of one that was asked before, and goes on. */
bool held_again(const struct held_lock *lock, const struct held_change *change);

#endif
