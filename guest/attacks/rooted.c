// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "rooted.h"

bool is_rooted(const char *name)
{
	return !strcmp(name, ROOTED_PROGRAM);
}

int rooted(void)
{
	int fd = open(ROOTED_PROOF, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	/* His, so that the next attack can take it away. */
	if (fd < 0 || fchown(fd, ATTACKER_UID, ATTACKER_UID))
		return 1;
	dprintf(fd, "uid=%d euid=%d ppid=%d", getuid(), geteuid(), getppid());
	close(fd);
	return 0;
}
