/* SPDX-License-Identifier: GPL-2.0-only */
/* Small files: /proc, sysfs, debugfs and the kernel command line. */
#ifndef GUEST_FILES_H
#define GUEST_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Of the kernel, on both architectures; the host has the same number. */
#define COMMAND_LINE_SIZE	2048

/* Read a whole small file, NUL-terminated. Returns its length or -errno. */
int file_read(const char *path, char *buf, size_t size);

/* Returns 0 or -errno. */
int file_write(const char *path, const char *text);

/*
 * Value of a parameter like "portcullis.expect" on the kernel command line.
 * Returns false when it is not there. COMMAND_LINE_SIZE takes every value.
 */
bool cmdline_value(const char *name, char *value, size_t size);

/* Is a flag listed in /proc/cpuinfo? */
bool cpu_has(const char *flag);

#endif
