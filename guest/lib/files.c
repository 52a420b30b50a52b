// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

int file_read(const char *path, char *buf, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (done < size - 1) {
		n = read(fd, buf + done, size - 1 - done);
		if (n <= 0)
			break;
		done += n;
	}
	if (n < 0)
		n = -errno;
	close(fd);
	buf[done] = '\0';
	return n < 0 ? (int)n : (int)done;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

bool cmdline_value(const char *name, char *value, size_t size)
{
	size_t len = strlen(name);
	char line[COMMAND_LINE_SIZE + 1];	/* and a newline */
	char *word, *rest = line;

	if (file_read("/proc/cmdline", line, sizeof(line)) < 0)
		return false;
	line[strcspn(line, "\n")] = '\0';
	while ((word = strsep(&rest, " "))) {
		if (strncmp(word, name, len) || word[len] != '=')
			continue;
		snprintf(value, size, "%s", word + len + 1);
		return true;
	}
	return false;
}

bool cpu_has(const char *flag)
{
	size_t len = strlen(flag);
	char line[8192];
	char *at;

	if (file_read("/proc/cpuinfo", line, sizeof(line)) < 0)
		return false;
	for (at = strstr(line, flag); at; at = strstr(at + 1, flag)) {
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n'))
			return true;
	}
	return false;
}
