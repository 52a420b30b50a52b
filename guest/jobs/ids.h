/* SPDX-License-Identifier: GPL-2.0-only */
/* A user, and what only root may read. */
#ifndef GUEST_IDS_H
#define GUEST_IDS_H

#include <stdbool.h>

#include "job.h"

#define USER	1000
#define SECRET	"/root-only"

/* What show_ids() ends with: the program that a job starts. */
#define EFFECTIVE_ROOT	1
#define REAL_ROOT	2
#define READS_SECRET	4

/* This process is that user from now on. */
bool become_user(void);

/* What a child of this process says that runs it as that user. */
enum job_outcome as_user(enum job_outcome (*run)(void));

/* A small file, by whoever this process is; for somebody else, it must be root. */
bool make_file(const char *path, unsigned int owner, unsigned int mode);

bool make_secret(void);
bool may_read_secret(void);

#endif
