// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

char *map_memory(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void touch_pages(char *memory, size_t size)
{
	size_t at;

	for (at = 0; at < size; at += PAGE_SIZE)
		((volatile char *)memory)[at] = 1;
}

void churn_memory(size_t size)
{
	char *memory = map_memory(size);
	char *moved;

	if (!memory)
		return;
	touch_pages(memory, size);
	mprotect(memory, size / 2, PROT_READ);
	madvise(memory + size / 2, size / 4, MADV_DONTNEED);
	touch_pages(memory + size / 2, size / 4);
	moved = mremap(memory, size, 2 * size, MREMAP_MAYMOVE);
	if (moved == MAP_FAILED)
		munmap(memory, size);
	else
		munmap(moved, 2 * size);
}

int start_churn(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Removing a probe waits until every task has slept once. */
	for (;;) {
		churn_memory(1 << 20);
		usleep(100);
	}
}

void stop_churn(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int reap_children(void)
{
	int status, bad = 0;

	while (wait(&status) > 0)
		bad += status != 0;
	return bad;
}
