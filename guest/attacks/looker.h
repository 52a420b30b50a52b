/* SPDX-License-Identifier: GPL-2.0-only */
/* pgd_pointer.c: a sibling of the victim, which writes down what is at the secret's address. */
#ifndef GUEST_LOOKER_H
#define GUEST_LOOKER_H

#include <sys/types.h>

/* What it writes, if anything is there, comes from *from. */
pid_t looker_start(int *from);

#endif
