/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that changes entries in a section, on the other CPU, with its stack where
 * somebody says: so low that all of mprotect() fits above an address, but not what an
 * interrupt of its section pushes. That CPU dies of the next push; it is told that
 * another one panics already.
 */
#ifndef GUEST_CHANGER_H
#define GUEST_CHANGER_H

#include <stdbool.h>
#include <stdint.h>

/* NULL, or why there is none. */
const char *changer_start(void);

/* Its stack ends there, once. False if another task runs on that CPU. */
bool changer_push(uint64_t end);

bool changer_came_back(void);

/* Has user space a page? Bad memory does not count. */
bool can_read(const volatile void *page);

#endif
