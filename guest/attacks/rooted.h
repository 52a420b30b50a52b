/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel is tricked into running as root: this same program, under
 * another name. It leaves its uid behind in a file.
 */
#ifndef GUEST_ROOTED_H
#define GUEST_ROOTED_H

#include <stdbool.h>

#define ROOTED_PROGRAM	"/tmp/rooted"
#define ROOTED_PROOF	"/tmp/rooted.proof"

bool is_rooted(const char *name);
int rooted(void);

#endif
