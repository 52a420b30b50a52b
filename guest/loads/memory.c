// SPDX-License-Identifier: GPL-2.0-only
/* fork, munmap, mprotect of mapped memory, and its first touch. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folios.h"
#include "load.h"

/* The child waits to be told to go, so that it does nothing that is counted. */
static pid_t fork_waiting(int *fds)
{
	char byte;
	pid_t pid = fork();

	if (!pid) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	return pid;
}

static long fork_round(const struct load *load)
{
	char *memory = folios_map(load->size, load->huge);
	int fds[2], status = 1;
	pid_t pid;

	if (!memory || pipe(fds))
		return 0;
	load_open(load);
	pid = fork_waiting(fds);
	load_close();
	close(fds[0]);
	close(fds[1]);
	waitpid(pid, &status, 0);
	if (pid < 0 || status)
		load_failed("fork, or its child");
	if (folios_huge_kib(memory, load->size))
		load_failed("not mapped by PTEs any more");
	munmap(memory, load->size);
	return 1;
}

static long munmap_round(const struct load *load)
{
	char *memory = folios_map(load->size, load->huge);
	int failed;

	if (!memory)
		return 0;
	load_open(load);
	failed = munmap(memory, load->size);
	load_close();
	if (failed)
		load_failed("munmap");
	return 1;
}

static long touch_round(const struct load *load)
{
	char *memory = folios_reserve(load->size);
	size_t at;

	if (!memory)
		return 0;
	madvise(memory, load->size, MADV_NOHUGEPAGE);
	load_open(load);
	for (at = 0; at < load->size; at += LOAD_PAGE)
		((volatile char *)memory)[at] = 1;
	load_close();
	munmap(memory, load->size);
	return load->size / LOAD_PAGE;
}

static long mprotect_round(const struct load *load)
{
	char *memory = folios_map(load->size, false);
	int failed;

	if (!memory)
		return 0;
	load_open(load);
	failed = mprotect(memory, load->size, PROT_READ);
	load_close();
	munmap(memory, load->size);
	if (failed)
		load_failed("mprotect");
	return 1;
}

const struct load memory_loads[] = {
	{ .name = "fork-h0", .round = fork_round },
	{ .name = "fork-h1", .round = fork_round, .huge = true },
	{ .name = "munmap-h0", .round = munmap_round },
	{ .name = "munmap-h1", .round = munmap_round, .huge = true },
	{ .name = "touch", .round = touch_round },
	{ .name = "mprotect", .round = mprotect_round },
	{ .name = NULL },
};
