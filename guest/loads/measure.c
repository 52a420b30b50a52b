// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds of a benchmark: the first one warms up and has no mark, each other
 * has one region for the emulator's plugin. Beside that the least difference of
 * kpkeys/stats, which are read outside of the region.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "kpkeys.h"
#include "load.h"
#include "mark.h"
#include "results.h"

#define SETTLE_US	30000	/* for what RCU frees later */

static const char * const names[NR_STATS] = {
	[WRITES] = "pkey_reg_writes", [EXCEPTIONS_OPEN] = "exceptions_open",
	[SECTIONS] = "sections",
	[PUBLISHES] = "publishes", [POOL_HITS] = "pool_hits", [PAGES_KEYED] = "pages_keyed",
	[FLUSHES] = "key_tlb_flushes", [SPLITS] = "direct_map_splits",
	[SECRETS] = "secret_sections",
};

static struct load_stats before, reader, least;
static char reason[512];
static bool skipped, counted;

static void read_stats(struct load_stats *stats)
{
	kpkeys_read_stats(names, stats->n, NR_STATS);
}

static void keep_least(struct load_stats *kept, const struct load_stats *after)
{
	int i;

	for (i = 0; i < NR_STATS; i++) {
		long difference = after->n[i] - before.n[i] - reader.n[i];

		if (after->n[i] < 0)
			continue;
		/* Shutting and opening the gate around an interrupt is not the load's. */
		if (i == WRITES)
			difference -= 2 * (after->n[EXCEPTIONS_OPEN] - before.n[EXCEPTIONS_OPEN]);
		if (difference < 0)
			difference = 0;
		if (kept->n[i] < 0 || difference < kept->n[i])
			kept->n[i] = difference;
	}
}

/* What two readings in a row differ by. */
static void measure_reader(void)
{
	struct load_stats after, found;
	int i;

	memset(&reader, 0, sizeof(reader));
	memset(&found, 0xff, sizeof(found));
	for (i = 0; i < 5; i++) {
		read_stats(&before);
		read_stats(&after);
		keep_least(&found, &after);
	}
	reader = found;
}

void load_begin(void)
{
	char design[32];

	measure_reader();
	load_design(design, sizeof(design));
	result_json("{\"lab\": \"\", \"design\": \"%s\"}", design);
}

void load_open(const struct load *load)
{
	usleep(SETTLE_US);
	read_stats(&before);
	if (counted)
		mark_open(load->name);
}

void load_close(void)
{
	struct load_stats after;

	if (counted)
		mark_close();
	read_stats(&after);
	keep_least(&least, &after);
}

void load_failed(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
}

void load_skipped(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	skipped = true;
}

static void tell(const struct load *load, long times, int rounds)
{
	char text[1024] = "";
	int i, n = 0;

	for (i = 0; i < NR_STATS; i++)
		if (least.n[i] >= 0)
			n += snprintf(text + n, sizeof(text) - n, ", \"%s\": %ld", names[i],
				      least.n[i]);
	result_json("{\"lab\": \"%s\", \"times\": %ld, \"rounds\": %d, \"size\": %zu, \"pool_used\": %lu%s}",
		    load->name, times, rounds, load->size, kpkeys_stat("pool_used"), text);
}

static long run_rounds(const struct load *load, int rounds)
{
	long times = 0;
	int round;

	for (round = 0; round <= rounds && !*reason; round++) {
		counted = round > 0;
		if (round <= 1)
			memset(&least, 0xff, sizeof(least));
		times = load->round(load);
	}
	return times;
}

static void judge(const struct load *load, long times, int rounds)
{
	const char *wrong;

	if (skipped) {
		result_skip(load->name, "%s", reason);
		return;
	}
	if (!*reason && times <= 0)
		load_failed("no operation");
	if (!*reason) {
		tell(load, times, rounds);
		wrong = load_contradicts(load, &least, times);
		if (wrong)
			load_failed("%s", wrong);
	}
	if (*reason)
		result_fail(load->name, "%s", reason);
	else
		result_ok(load->name);
}

void load_run(const struct load *load, const struct load_options *options)
{
	struct load chosen = *load;

	*reason = '\0';
	skipped = false;
	chosen.size = options->size;
	if (options->times)
		chosen.times = options->times;
	judge(&chosen, run_rounds(&chosen, options->rounds), options->rounds);
}
