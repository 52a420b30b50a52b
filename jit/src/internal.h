/* SPDX-License-Identifier: MIT */
/* What the parts of the library share. */
#ifndef JITGATE_INTERNAL_H
#define JITGATE_INTERNAL_H

#ifndef __linux__
#error jitgate is for Linux: build your engine without it for other systems, which have not its system calls
#endif

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jitgate.h"

/* Signal handlers use these variables: none may be allocated there, late. */
#define PER_THREAD	_Thread_local __attribute__((tls_model("initial-exec")))

struct book;

/* In the vault, which is read-only; free without a base. */
struct jitgate_area {
	_Alignas(64) unsigned char *base;
	size_t size;
	size_t reserve;
	unsigned char *writable;	/* the same as base, but with two views */
	struct book *book;	/* of pieces, NULL without JITGATE_PIECES */
	unsigned int flags;
	unsigned int was_used;
};

#define MOST_AREAS	65536	/* about as many mappings as Linux gives to a process */
#define VAULT_SIZE	(MOST_AREAS * sizeof(struct jitgate_area))

/* decision.c: read-only once it is made */
struct decision {
	atomic_int backend;
	int key;
	int reason;
	struct jitgate_area *vault;
};

#define DECISION (&decision_page.decision)

/* Room for the largest page that an architecture has. */
#if defined(__aarch64__)
#define LARGEST_PAGE	65536
#else
#define LARGEST_PAGE	4096
#endif

union decision_page {
	struct decision decision;
	unsigned char page[LARGEST_PAGE];
};

extern union decision_page decision_page;

static inline bool have_key(void)
{
	return atomic_load_explicit(&DECISION->backend, memory_order_acquire) == JITGATE_PKEY;
}

static inline bool have_views(void)
{
	return atomic_load_explicit(&DECISION->backend, memory_order_acquire) == JITGATE_TWO_VIEWS;
}

static inline bool decided(void)
{
	return atomic_load_explicit(&DECISION->backend, memory_order_acquire) != JITGATE_NOTHING;
}

/* lock.c: held by no signal handler, nor when one can run that takes it */
struct held_lock {
	sigset_t signals;
	int cancelling;
};

void lock_take(struct held_lock *lock);
void lock_drop(struct held_lock *lock);
/* Of the permissions of an area, and to read the list of areas. */
void lock_take_for(struct held_lock *lock, bool quiet);
void lock_drop_for(struct held_lock *lock, bool quiet);

/* Of pieces, never together with a scope: signals stay as they are. Before the other one. */
void pieces_take(int *cancelling);
void pieces_drop(int cancelling);

/* stats.c */
struct thread_counts {
	uint64_t opens;
	uint64_t register_writes;
};

extern PER_THREAD struct thread_counts thread_counts;
extern atomic_uint_fast64_t system_calls;

static inline void count_call(void)
{
	atomic_fetch_add_explicit(&system_calls, 1, memory_order_relaxed);
}

/* pkey.c: all of it only where there is a key, but for the first two */
int pkey_probe(int *key);
void pkey_give_back(int key);
int pkey_protect(void *start, size_t size, int prot, int key);
int pkey_commit(void *start, size_t size, int key);
/*
 * Opens for a moment, with a lock and outside of handlers, also for a thread that is older
 * than the key.
 */
uint64_t pkey_gate_borrow(void);
void pkey_gate_return(uint64_t rights);
int pkey_gate_state(void);
int pkey_gate_open(void);
void pkey_gate_close(void);
void pkey_gate_attach(void);
uint64_t pkey_entry_mask(void);

/* pages.c: permissions of pages, and threads that have areas open by them */
int pages_commit(unsigned char *start, size_t size, int prot);
int pages_prot(const struct jitgate_area *area);
bool pages_open(const struct jitgate_area *area);
int pages_adopt(const struct jitgate_area *area);
int pages_state(const struct jitgate_area *area);
int pages_set_state(struct jitgate_area *area, int state);
int pages_open_one(struct jitgate_area *area);
int pages_close_one(struct jitgate_area *area, int state);
int pages_state_of_all(void);
int pages_open_all(void);
int pages_close_all(int state);
void pages_after_fork(void);

/* area.c: under the lock */
extern size_t area_count;

/* vault.c: all but is_area() under the lock, or before there is a decision */
struct upkeep {
	unsigned int openers;	/* threads that have it open; mprotect() only */
	size_t seen;		/* used by jitgate_check() */
};

struct jitgate_area *vault_map(void);
int vault_add(struct jitgate_area **area, const struct jitgate_area *record);
int vault_write(struct jitgate_area *area, const struct jitgate_area *record);
int vault_remove(struct jitgate_area *area);
bool is_area(const struct jitgate_area *area);
/* The first one after NULL. */
struct jitgate_area *next_area(struct jitgate_area *area);
struct upkeep *upkeep_of(const struct jitgate_area *area);

/* pieces.c */
size_t book_size(size_t reserve);
struct book *book_map(size_t reserve, int *error);
void book_unmap(struct book *book, size_t reserve);

/* views.c: all but the first one only where areas have two */
#define VIEWS	3	/* of the writable one: itself, and two spare places for fork() */

int views_probe(void);
int views_map(struct jitgate_area *area, const char *name);
void views_unmap(const struct jitgate_area *area);
/* These under the lock. */
void views_before_fork(void);
void views_after_fork(void);
void views_in_child(void);

/* advice.c */
void advice_name(void *start, size_t size, const char *name);
void advice_huge(void *start, size_t size);
int advice_seal(void *start, size_t size);

/* place.c */
size_t page_size(void);
void *place_area(const struct jitgate_request *request, size_t reserve, int *error);

#endif
