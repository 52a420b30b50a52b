// SPDX-License-Identifier: GPL-2.0-only
/* Processes and threads; a process that eats its cgroup's memory. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

#define FORKS		60
#define THREADS		4
#define THREAD_ROUNDS	16
#define CGROUPS		"/sys/fs/cgroup/"
#define LIMIT		(16UL << 20)
#define TABLES		1024
#define SLACK		256	/* pages: counters and charges are per-CPU batches */
#define SECONDS		10

static void short_life(bool exec)
{
	char *memory = map_memory(2 << 20);

	if (!memory)
		_exit(1);
	touch_pages(memory, 2 << 20);
	if (exec)
		execl("/proc/self/exe", "stress", "nothing", (char *)NULL);
	_exit(exec);
}

enum job_outcome fork_exec(void)
{
	int i, bad;

	for (i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return failed("fork failed");
		if (!pid)
			short_life(i % 3 == 0);
		if (i % 8 == 7)
			usleep(10000);
	}
	bad = reap_children();
	return bad ? failed("%d of %d children failed", bad, FORKS) : passed();
}

static void *thread_main(void *data)
{
	int i;

	for (i = 0; i < THREAD_ROUNDS; i++)
		churn_memory(256 * PAGE_SIZE);
	return data;
}

enum job_outcome threads(void)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, thread_main, NULL))
			return failed("no thread");
	for (i = 0; i < THREADS; i++) {
		pid_t pid = fork();

		if (!pid)
			short_life(false);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return reap_children() ? failed("a child failed") : passed();
}

static void eat_memory(void)
{
	/* 0 is the writer. */
	if (file_write(CGROUPS "eater/cgroup.procs", "0"))
		_exit(1);
	for (;;) {
		char *memory = map_memory(LIMIT);

		if (!memory)
			_exit(2);
		touch_pages(memory, LIMIT);
	}
}

enum job_outcome out_of_memory(void)
{
	char limit[32];
	int status;
	pid_t pid;

	if (file_write(CGROUPS "cgroup.subtree_control", "+memory"))
		return skipped("no memory controller");
	mkdir(CGROUPS "eater", 0755);
	snprintf(limit, sizeof(limit), "%lu", LIMIT);
	if (file_write(CGROUPS "eater/memory.max", limit))
		return failed("no memory limit");
	pid = fork();
	if (!pid)
		eat_memory();
	waitpid(pid, &status, 0);
	rmdir(CGROUPS "eater");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return failed("child ended with status 0x%x instead of being killed", status);
	return passed();
}

/* In pages. */
static long charged(void)
{
	char text[32] = "";

	file_read(CGROUPS "tables/memory.current", text, sizeof(text));
	return atol(text) / (long)PAGE_SIZE;
}

static long charged_as_tables(void)
{
	char text[8192] = "";
	char *at;

	file_read(CGROUPS "tables/memory.stat", text, sizeof(text));
	at = strstr(text, "\npagetables ");
	return at ? atol(at + strlen("\npagetables ")) / (long)PAGE_SIZE : 0;
}

/* Reading maps the one page of zeros: it takes tables only. */
static char *make_tables(void)
{
	size_t at, size = TABLES * PMD_SIZE;
	char *memory = mmap(NULL, size, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (at = 0; at < size; at += PMD_SIZE)
		(void)((volatile char *)memory)[at];
	return memory;
}

static enum job_outcome charge_tables(void)
{
	long before = charged(), counted = charged_as_tables(), with;
	double start = now();
	char *memory = make_tables();

	with = charged();
	if (!memory || with < before + TABLES - SLACK)
		return failed("%d tables: %ld pages charged before, %ld after", TABLES, before, with);
	if (charged_as_tables() < counted + TABLES - SLACK)
		return failed("memory.stat counts %ld tables", charged_as_tables());
	munmap(memory, TABLES * PMD_SIZE);
	/* Tables are freed after a grace period. */
	while ((charged() > before + SLACK || charged_as_tables() > counted + SLACK) &&
	       now() - start < SECONDS)
		usleep(10000);
	if (charged() > before + SLACK)
		return failed("%ld pages charged before, %ld at the end", before, charged());
	if (charged_as_tables() > counted + SLACK)
		return failed("memory.stat counted %ld tables before, and %ld at the end",
			      counted, charged_as_tables());
	return passed();
}

/* What a cgroup's page tables take, it pays for, and gets back. */
enum job_outcome charged_tables(void)
{
	enum job_outcome outcome;

	if (file_write(CGROUPS "cgroup.subtree_control", "+memory"))
		return skipped("no memory controller");
	mkdir(CGROUPS "tables", 0755);
	if (file_write(CGROUPS "tables/cgroup.procs", "0"))
		return failed("cannot enter a cgroup");
	outcome = charge_tables();
	file_write(CGROUPS "cgroup.procs", "0");
	rmdir(CGROUPS "tables");
	return outcome;
}
