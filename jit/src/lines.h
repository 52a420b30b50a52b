/* SPDX-License-Identifier: MIT */
/* Reads files of /proc line by line, without allocating. */
#ifndef JITGATE_LINES_H
#define JITGATE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines {
	int fd;
	int cancelling;
	size_t have, next;
	char buffer[4096];
};

/* Returns 0 or a negative errno. */
int lines_open(struct lines *lines, const char *path);
void lines_close(struct lines *lines);

/* The next line, cut at size; false at the end. */
bool lines_next(struct lines *lines, char *line, size_t size);

struct mapping {
	uintptr_t start, end;
	char permissions[5];
};

/* False when the line does not begin a mapping. */
bool parse_mapping(const char *line, struct mapping *mapping);

#endif
