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
	char number[16];

	snprintf(number, sizeof(number), "%d", getpid());
	if (file_write(CGROUPS "eater/cgroup.procs", number))
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
