// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "internal.h"
#include "lines.h"

int lines_open(struct lines *lines, const char *path)
{
	lines->have = 0;
	lines->next = 0;
	/* Or the file would stay open. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &lines->cancelling);
	count_call();
	lines->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (lines->fd >= 0)
		return 0;
	pthread_setcancelstate(lines->cancelling, NULL);
	return -errno;
}

void lines_close(struct lines *lines)
{
	count_call();
	close(lines->fd);
	pthread_setcancelstate(lines->cancelling, NULL);
}

static int next_letter(struct lines *lines)
{
	ssize_t got;

	if (lines->next == lines->have) {
		do {
			count_call();
			got = read(lines->fd, lines->buffer, sizeof(lines->buffer));
		} while (got < 0 && errno == EINTR);
		if (got <= 0)
			return -1;
		lines->have = got;
		lines->next = 0;
	}
	return (unsigned char)lines->buffer[lines->next++];
}

bool lines_next(struct lines *lines, char *line, size_t size)
{
	size_t length = 0;
	int letter = next_letter(lines);

	if (letter < 0)
		return false;
	for (; letter >= 0 && letter != '\n'; letter = next_letter(lines))
		if (length + 1 < size)
			line[length++] = letter;
	line[length] = '\0';
	return true;
}

bool parse_mapping(const char *line, struct mapping *mapping)
{
	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &mapping->start, &mapping->end,
		      mapping->permissions) == 3;
}
