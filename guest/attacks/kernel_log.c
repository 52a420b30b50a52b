// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says while an attack runs. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"

static int log_fd = -1;

void kernel_log_watch(void)
{
	file_write("/sys/kernel/debug/clear_warn_once", "1");
	log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(log_fd, 0, SEEK_END);
}

bool kernel_log_says(const char *text)
{
	char record[8192];
	bool said = false;
	ssize_t n;

	while ((n = read(log_fd, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		said |= !!strstr(record, text);
	}
	return said;
}
