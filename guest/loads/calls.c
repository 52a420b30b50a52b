// SPDX-License-Identifier: GPL-2.0-only
/* System calls, and gates that are one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folios.h"
#include "load.h"

#define NO_SUCH_CALL	100000

static long exec_round(const struct load *load)
{
	int status, bad = 0;
	long i;

	load_open(load);
	for (i = 0; i < load->times; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/proc/self/exe", "lab", "nothing", (char *)NULL);
			_exit(1);
		}
		status = 1;
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	load_close();
	if (bad)
		load_failed("%d of %ld programs did not run", bad, load->times);
	return load->times;
}

static long invalid_round(const struct load *load)
{
	long i, refused = 0;
	int reason;

	load_open(load);
	for (i = 0; i < load->times; i++)
		refused += syscall(NO_SUCH_CALL) == -1;
	reason = errno;
	load_close();
	if (refused != load->times || reason != ENOSYS)
		load_failed("%ld of %ld calls refused", refused, load->times);
	return load->times;
}

static long lseek_round(const struct load *load)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	long i, good = 0;

	load_open(load);
	for (i = 0; i < load->times; i++)
		good += lseek(fd, i & 1, SEEK_SET) == (i & 1);
	load_close();
	close(fd);
	if (good != load->times)
		load_failed("%ld of %ld calls good", good, load->times);
	return load->times;
}

static long protect_round(const struct load *load, long (*protect)(char *page, int prot, int key),
			  int key)
{
	char *page = folios_reserve(LOAD_HUGE);
	long i, failed = 0;

	if (!page)
		return 0;
	/* A mapping of its own, so that none is split or merged. */
	munmap(page + LOAD_PAGE, LOAD_HUGE - LOAD_PAGE);
	*page = 1;
	load_open(load);
	for (i = 0; i < load->times; i++) {
		failed += protect(page, PROT_READ, key) != 0;
		failed += protect(page, PROT_READ | PROT_WRITE, key) != 0;
	}
	load_close();
	munmap(page, LOAD_PAGE);
	if (failed)
		load_failed("%ld calls failed", failed);
	return load->times;
}

static long change(char *page, int prot, int key)
{
	(void)key;
	return mprotect(page, LOAD_PAGE, prot);
}

static long change_with_key(char *page, int prot, int key)
{
	return syscall(SYS_pkey_mprotect, page, LOAD_PAGE, prot, key);
}

static long mprotect_page_round(const struct load *load)
{
	return protect_round(load, change, 0);
}

static long pkey_mprotect_round(const struct load *load)
{
	int key = syscall(SYS_pkey_alloc, 0, 0);
	long times;

	if (key < 0) {
		load_skipped("no keys of user space: %s", strerror(errno));
		return 0;
	}
	times = protect_round(load, change_with_key, key);
	syscall(SYS_pkey_free, key);
	return times;
}

const struct load call_loads[] = {
	{ .name = "exec", .round = exec_round, .times = 20 },
	{ .name = "syscall-invalid", .round = invalid_round, .times = 100000 },
	{ .name = "lseek", .round = lseek_round, .times = 100000 },
	{ .name = "gate-mprotect", .round = mprotect_page_round, .times = 1000 },
	{ .name = "gate-pkey-mprotect", .round = pkey_mprotect_round, .times = 1000 },
	{ .name = NULL },
};
