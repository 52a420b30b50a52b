// SPDX-License-Identifier: GPL-2.0-only
/*
 * What LMbench's lat_proc and lat_pagefault do, written anew: fork and exit,
 * fork and exec, a shell that runs a program, and faults on a mapped file.
 * Children run on this CPU, so that what they execute is counted as well.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define SHELL		"/bin/sh"
#define PROGRAM		"/bin/lab"
#define FAULT_FILE	"/tmp/lmbench"
#define FAULT_PAGES	2048UL
#define FAULT_STEP	797UL	/* a prime: each page once, neighbours far apart */

static void be_program(void)
{
	execl(PROGRAM, "lab", "nothing", (char *)NULL);
}

static void be_shell(void)
{
	execl(SHELL, "sh", "-c", PROGRAM " nothing", (char *)NULL);
}

static bool child_fails(void (*become)(void))
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		if (become)
			become();
		_exit(become != NULL);
	}
	waitpid(pid, &status, 0);
	return pid < 0 || status;
}

/**
 * load_processes() - One round: a process that becomes something and ends, again and again
 * @become: Executes a program in it, or NULL
 */
long load_processes(const struct load *load, void (*become)(void))
{
	long i, bad = 0;

	load_open(load);
	for (i = 0; i < load->times; i++)
		bad += child_fails(become);
	load_close();
	if (bad)
		load_failed("%ld of %ld processes failed", bad, load->times);
	return load->times;
}

static long fork_exit_round(const struct load *load)
{
	return load_processes(load, NULL);
}

static long fork_exec_round(const struct load *load)
{
	return load_processes(load, be_program);
}

static long shell_round(const struct load *load)
{
	if (access(SHELL, X_OK)) {
		load_skipped("no shell in this guest");
		return 0;
	}
	return load_processes(load, be_shell);
}

/* A file whose pages are all in the page cache. */
static int make_file(void)
{
	static const char page[LOAD_PAGE] = "x";
	int fd = open(FAULT_FILE, O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t i;

	unlink(FAULT_FILE);
	for (i = 0; i < FAULT_PAGES; i++)
		if (write(fd, page, LOAD_PAGE) != (ssize_t)LOAD_PAGE)
			break;
	if (i < FAULT_PAGES)
		load_failed("a file of %lu pages", FAULT_PAGES);
	return fd;
}

static long pagefault_round(const struct load *load)
{
	int fd = make_file();
	volatile char *memory = mmap(NULL, FAULT_PAGES * LOAD_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	size_t i, page = 0;

	if (memory == MAP_FAILED) {
		load_failed("the file cannot be mapped");
		close(fd);
		return 0;
	}
	load_open(load);
	for (i = 0; i < FAULT_PAGES; i++) {
		(void)memory[page * LOAD_PAGE];
		page = (page + FAULT_STEP) % FAULT_PAGES;
	}
	load_close();
	munmap((void *)memory, FAULT_PAGES * LOAD_PAGE);
	close(fd);
	return FAULT_PAGES;
}

const struct load lmbench_loads[] = {
	{ .name = "lm-fork-exit", .round = fork_exit_round, .times = 20 },
	{ .name = "lm-fork-exec", .round = fork_exec_round, .times = 20 },
	{ .name = "lm-shell", .round = shell_round, .times = 20 },
	{ .name = "lm-pagefault", .round = pagefault_round },
	{ .name = NULL },
};
