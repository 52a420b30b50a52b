/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_OPEN_FILES_H
#define GUEST_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>

#define FILE_WORDS	32	/* of struct file, at most */

/*
 * The struct file of an open file, or 0: what this task has for it that is_it() says yes
 * to. Descriptors 40 to 42 are this file's from then on.
 */
uint64_t find_open_file(int fd, bool (*is_it)(uint64_t file, void *arg), void *arg);

#endif
