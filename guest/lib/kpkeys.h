/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel says about itself in debugfs kpkeys/. */
#ifndef GUEST_KPKEYS_H
#define GUEST_KPKEYS_H

#include <stdbool.h>
#include <stddef.h>

#define KPKEYS_DIR	"/sys/kernel/debug/kpkeys/"

/* One counter of kpkeys/stats; 0 when there is none. */
unsigned long kpkeys_stat(const char *name);

/* Several counters by their names, from one reading; -1 where there is none. */
void kpkeys_read_stats(const char * const *names, long *values, size_t nr);

/* One counter of kpkeys/linear_map, which arm64 has. */
unsigned long kpkeys_linear_map(const char *name);

/* As comments of the results, each with a word in front. */
void kpkeys_print_linear_map(const char *when);

/* "enforce", "audit" or "off"; a kernel without kpkeys is off. */
void kpkeys_mode(char *mode, size_t size);

/* "pks", "wp", "poe", or "none"; a kernel without kpkeys has none. */
void kpkeys_backend(char *backend, size_t size);

/*
 * Run the checker. Returns true when its verdict is the one the boot asked
 * for (portcullis.expect=enforce|audit|off; anything but "off" wants "ok").
 * reason gets one line that says why not.
 */
bool kpkeys_check(char *reason, size_t size);

#endif
