// SPDX-License-Identifier: MIT
/* Where machine code lies, and who can write it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

#ifndef SEGV_PKUERR
#define SEGV_PKUERR	4
#endif

#define CHUNK	65536
#define KEPT	8	/* areas, without a key */
#define MANY	1500

/* Far more code than a chunk has room for. */
void large_pattern(void)
{
	enum { ALTERNATIVES = 1500 };
	char *text = malloc(ALTERNATIVES * 24), *at = text;
	pcre2_code *code;
	size_t size;
	int i;

	at += sprintf(at, "^(?:");
	for (i = 0; i < ALTERNATIVES; i++)
		at += sprintf(at, "%d<\\w{2,}|", i * 7);
	sprintf(at, "end)$");
	code = compile_jit(text, 0);
	CHECK_EQUAL(pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size), 0);
	CHECK(size > 2 * CHUNK);
	CHECK_EQUAL(match(code, "7000<abc"), 1);
	CHECK_EQUAL(match(code, "7001<abc"), PCRE2_ERROR_NOMATCH);
	work(1, 5);
	pcre2_code_free(code);
	free(text);
	work(1, 5);
}

/* Freed and made again in an order that leaves holes. */
void many_patterns(void)
{
	static struct pattern patterns[MANY];
	int i, round;

	for (i = 0; i < MANY; i++)
		patterns[i] = make_pattern(i);
	for (round = 0; round < 3; round++) {
		for (i = round; i < MANY; i += 2 + round)
			free_pattern(patterns[i]);
		for (i = round; i < MANY; i += 2 + round)
			patterns[i] = make_pattern(i + 10000 * round);
		for (i = 0; i < MANY; i++)
			check_pattern(patterns[i]);
	}
	for (i = 0; i < MANY; i++)
		free_pattern(patterns[i]);
}

#ifdef USE_JITGATE
static bool refuse;

int __real_jitgate_area_new(struct jitgate_area **area, const struct jitgate_request *request);
int __wrap_jitgate_area_new(struct jitgate_area **area, const struct jitgate_request *request);

int __wrap_jitgate_area_new(struct jitgate_area **area, const struct jitgate_request *request)
{
	return refuse ? -EACCES : __real_jitgate_area_new(area, request);
}

void closed_afterwards(void)
{
	struct pattern pattern = make_pattern(1);
	unsigned char *at = machine_code();

	CHECK(at);
	CHECK_EQUAL(write_fault(at, jitgate_attach), how == PKEY ? SEGV_PKUERR : SEGV_ACCERR);
	if (how == PKEY)
		CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	check_pattern(pattern);
	free_pattern(pattern);
	at = machine_code();
	if (at)
		CHECK_EQUAL(write_fault(at, jitgate_attach), how == PKEY ? SEGV_PKUERR : SEGV_ACCERR);
}

static long calls_so_far(void)
{
	struct jitgate_counts counts;

	jitgate_stats(&counts);
	return counts.system_calls;
}

static long areas(void)
{
	struct jitgate_counts counts;

	jitgate_stats(&counts);
	return counts.areas;
}

/* After the first area; jitgate_stats() makes two itself. Without a key it takes two
 * calls of mprotect(), and at most six to block signals, for a lock.
 */
void no_system_calls(void)
{
	long before, calls;

	work(1, 3);
	before = calls_so_far();
	work(10, 100);
	calls = calls_so_far() - before;
	if (how == PKEY)
		CHECK_EQUAL(calls, 2);
	else
		CHECK(calls >= 202 && calls <= 802);
}

/* With a key many patterns share an area. Some areas stay until they are asked for. */
void memory_given_back(void)
{
	struct pattern patterns[200];
	int i;

	for (i = 0; i < 200; i++)
		patterns[i] = make_pattern(i);
	CHECK(how == PKEY ? areas() < 20 : areas() == 200);
	for (i = 0; i < 200; i++)
		free_pattern(patterns[i]);
	CHECK_EQUAL(areas(), how == PKEY ? 1 : KEPT);
	pcre2_jit_free_unused_memory(NULL);
	CHECK_EQUAL(areas(), 0);
	CHECK(!machine_code());
	work(1, 5);
}

/* PCRE2 says so, and goes on without machine code. */
void refused_memory(void)
{
	struct pattern pattern;
	pcre2_match_data *data = pcre2_match_data_create(8, NULL);
	pcre2_code *code;

	work(1, 3);
	pcre2_jit_free_unused_memory(NULL);
	refuse = true;
	code = compile_jit("a(b+)c", PCRE2_ERROR_NOMEMORY);
	CHECK_EQUAL(pcre2_match(code, (PCRE2_SPTR)"xabbbc", 6, 0, 0, data, NULL), 2);
	pcre2_code_free(code);
	pcre2_match_data_free(data);
	refuse = false;
	pattern = make_pattern(1);
	check_pattern(pattern);
	CHECK(write_fault(machine_code(), jitgate_attach));
	free_pattern(pattern);
}
#endif
