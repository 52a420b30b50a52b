/* SPDX-License-Identifier: GPL-2.0-only */
/* A process whose pointer authentication is seen and set by ptrace(). */
#ifndef GUEST_TRACEE_H
#define GUEST_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pauth.h"

struct address_keys {
	unsigned __int128 ia, ib, da, db;
};

struct keys {
	struct address_keys address;
	unsigned __int128 ga;
};

/* A child that stops, tells what it sees when it goes on, and stops again. */
struct tracee {
	pid_t pid;
	struct pauth_state *state;
};

/* Returns whether it has stopped. */
bool start_tracee(struct tracee *tracee);

/* Lets it go on to its next stop. */
bool step_tracee(const struct tracee *tracee);

void end_tracee(const struct tracee *tracee);

/* A register set, by its NT_ number. Return 0 or -errno. */
int get_regs(const struct tracee *tracee, int type, void *buf, size_t size);
int set_regs(const struct tracee *tracee, int type, const void *buf, size_t size);

/* All keys of the process; needs CONFIG_CHECKPOINT_RESTORE. Return 0 or -errno. */
int get_keys(const struct tracee *tracee, struct keys *keys);
int set_keys(const struct tracee *tracee, const struct keys *keys);

#endif
