// SPDX-License-Identifier: MIT
/*
 * jitgate-bench [ROUNDS]: nanoseconds of CPU time for opening an area of 64 KiB, one store and
 * closing it, by each backend and by plain mprotect(). Each measurement is a
 * process of its own, in turns; the median of them is printed, then the least.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jitgate.h"

#define SIZE		65536
#define PAIRS		3000
#define MOST_ROUNDS	1000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return 1e9 * time.tv_sec + time.tv_nsec;
}

/* As a program does that has no library, and one area. */
static void plain(volatile char *area, int number)
{
	mprotect((void *)area, SIZE, PROT_READ | PROT_WRITE);
	area[number % SIZE] = number;
	mprotect((void *)area, SIZE, PROT_READ | PROT_EXEC);
}

static void by_library(struct jitgate_area *area, volatile char *writable, int number)
{
	int state = jitgate_open(area);

	writable[number % SIZE] = number;
	jitgate_close(area, state);
}

/* All in areas of the library: what lies beside an area decides what mprotect() takes. */
static double time_of(enum jitgate_use use, unsigned int flags, bool alone)
{
	struct jitgate_request request = { .size = SIZE, .flags = flags };
	struct jitgate_area *area;
	volatile char *writable;
	double start;
	int i;

	if (jitgate_init(use) || jitgate_area_new(&area, &request))
		return -1;
	writable = jitgate_area_writable(area);
	start = now();
	for (i = 0; i < PAIRS; i++) {
		if (alone)
			plain(writable, i);
		else
			by_library(area, writable, i);
	}
	return (now() - start) / PAIRS;
}

static const struct {
	const char *name;
	enum jitgate_use use;
	unsigned int flags;
	bool alone;
} ways[] = {
	{ "plain mprotect()", JITGATE_NEVER, 0, true },
	{ "jitgate, mprotect()", JITGATE_NEVER, 0, false },
	{ "jitgate, mprotect(), no handlers", JITGATE_NEVER, JITGATE_NO_HANDLERS, false },
	{ "jitgate, two views", JITGATE_TWICE, 0, false },
	{ "jitgate, two views, no handlers", JITGATE_TWICE, JITGATE_NO_HANDLERS, false },
	{ "jitgate, a key", JITGATE_ALWAYS, 0, false },
};

#define WAYS	(int)(sizeof(ways) / sizeof(ways[0]))

/* Negative where the system has not what it needs. */
static double measure(int way)
{
	double result = -1;
	int ends[2];

	if (pipe(ends))
		return -1;
	if (!fork()) {
		result = time_of(ways[way].use, ways[way].flags, ways[way].alone);
		_exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
	}
	close(ends[1]);
	if (read(ends[0], &result, sizeof(result)) != sizeof(result))
		result = -1;
	close(ends[0]);
	wait(NULL);
	return result;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

int main(int argc, char **argv)
{
	static double results[WAYS][MOST_ROUNDS];
	int rounds = argc > 1 ? atoi(argv[1]) : 99, way, i;

	if (rounds < 1 || rounds > MOST_ROUNDS)
		return 2;
	for (i = 0; i < rounds; i++)
		for (way = 0; way < WAYS; way++)
			results[way][i] = measure(way);
	for (way = 0; way < WAYS; way++) {
		qsort(results[way], rounds, sizeof(double), compare);
		if (results[way][0] >= 0)
			printf("%s: %.0f ns, %.0f ns\n", ways[way].name, results[way][rounds / 2],
			       results[way][0]);
		else
			printf("%s: not here\n", ways[way].name);
	}
	return 0;
}
