// SPDX-License-Identifier: GPL-2.0-only
/* Page allocations that fail while page tables are made: no leak, no crash. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "job.h"
#include "kpkeys.h"
#include "results.h"

#define FORKS		100
#define REGION		(64UL << 20)
#define HUNGRY		4
#define HUNGRY_REGION	(4UL << 30)	/* 2048 page tables */
#define LEAK_PAGES	64	/* what other processes may have come to need */
#define ROUNDS		20	/* chance decides what fails: some rounds fail no fork() */

static unsigned long page_table_pages(void)
{
	char text[8192];
	unsigned long kib = 0;
	char *at;

	file_read("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "PageTables:");
	if (at)
		sscanf(at, "PageTables: %lu", &kib);
	return kib / 4;
}

/*
 * Needs many page tables and few pages. A page fault that fails is tried
 * again; fork() comes back with an error, half of its copy undone. It copies
 * memory only where something was written.
 */
static void make_page_tables(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pid_t pid;
	size_t at;

	if (memory == MAP_FAILED)
		_exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE);
	memory[0] = 1;
	file_write("/proc/self/make-it-fail", "1");
	for (at = 0; at < size; at += HUGE_SIZE)
		(void)((volatile char *)memory)[at];
	pid = fork();
	if (!pid)
		_exit(0);
	_exit(pid < 0);
}

/*
 * The probability comes last: until the task filter is set, what fails may be
 * the write that would set it.
 */
int fail_page_allocations(const char *probability)
{
	static const char *const settings[][2] = {
		{ "task-filter", "Y" }, { "interval", "1" }, { "times", "-1" },
		{ "space", "0" }, { "verbose", "0" }, { "min-order", "0" },
		{ "ignore-gfp-wait", "N" },
	};
	char path[64];
	size_t i;
	int err;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), FAIL_PAGES "%s", settings[i][0]);
		err = file_write(path, settings[i][1]);
		if (err)
			return err;
	}
	return file_write(FAIL_PAGES "probability", probability);
}

static int fork_with_faults(void)
{
	int i, status, failures = 0;

	for (i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			make_page_tables(REGION);
		waitpid(pid, &status, 0);
		failures += status != 0;
	}
	return failures;
}

/*
 * Together they need more than any reserve holds, and what fills reserves up
 * fails too: faults hit everybody, not only the children. So everything that
 * takes memory is done before.
 */
static int exhaust_reserves(void)
{
	int filter = open(FAIL_PAGES "task-filter", O_WRONLY);
	int go[2], i, err;
	char byte;

	if (filter < 0 || pipe(go))
		return 0;
	for (i = 0; i < HUNGRY; i++) {
		if (fork())
			continue;
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(1);
		make_page_tables(HUNGRY_REGION);
	}
	err = write(filter, "N", 1) < 0;
	close(go[1]);
	i = reap_children();
	err |= pwrite(filter, "Y", 1, 0) < 0;
	close(filter);
	close(go[0]);
	return err ? 0 : i;
}

static int one_round(void)
{
	int failures;

	fail_page_allocations("10");
	failures = fork_with_faults();
	fail_page_allocations("30");
	failures += exhaust_reserves();
	fail_page_allocations("0");
	return failures;
}

enum job_outcome fault_injection(void)
{
	unsigned long before, after, fallbacks = kpkeys_stat("unkeyed_fallbacks");
	unsigned long refill_failures = kpkeys_stat("pool_refill_failures");
	int rounds, failures = 0;

	if (fail_page_allocations("0"))
		return skipped("no page allocation faults");
	before = page_table_pages();
	for (rounds = 0; rounds < ROUNDS && !failures; rounds++)
		failures = one_round();
	usleep(200000);
	after = page_table_pages();
	result_comment("%d of %d children could not fork, page tables %lu -> %lu pages", failures,
		       rounds * (FORKS + HUNGRY), before, after);
	result_comment("%lu pool refills failed",
		       kpkeys_stat("pool_refill_failures") - refill_failures);
	if (after > before + LEAK_PAGES)
		return failed("page tables leak: %lu pages before, %lu after", before, after);
	if (kpkeys_stat("unkeyed_fallbacks") != fallbacks)
		return failed("%lu unkeyed page tables", kpkeys_stat("unkeyed_fallbacks") - fallbacks);
	return failures ? passed() : failed("no allocation failed");
}
