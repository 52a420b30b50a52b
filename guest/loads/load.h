/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmarks of the lab: what each one does, and what counts it. */
#ifndef GUEST_LOAD_H
#define GUEST_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#define LOAD_PAGE	4096UL
#define LOAD_HUGE	(2UL << 20)

/* What the command line of the job asks for. */
struct load_options {
	size_t size;	/* bytes of memory */
	int rounds;	/* that are counted */
	long times;	/* operations in a round, 0 is the benchmark's own number */
};

struct load;

/*
 * One round: prepare, load_open(), the operations, load_close(), clean up.
 * Returns how many operations; 0 after load_failed() or load_skipped().
 */
typedef long (*load_round)(const struct load *load);

struct load {
	const char *name;
	load_round round;
	int pages;	/* of one allocation */
	bool huge;
	const char *command;	/* what the kernel is asked to do */
	long times;	/* in one round, if options say nothing else */
	size_t size;	/* from options */
};

/* kpkeys/stats as far as they are costs. */
enum {
	WRITES, EXCEPTIONS_OPEN, SECTIONS, PUBLISHES, POOL_HITS, PAGES_KEYED, FLUSHES,
	SPLITS, SECRETS, NR_STATS,
};

struct load_stats {
	long n[NR_STATS];
};

/* measure.c */
void load_open(const struct load *load);
void load_close(void);
void load_failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void load_skipped(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void load_run(const struct load *load, const struct load_options *options);
void load_begin(void);

/* lmbench.c */
long load_processes(const struct load *load, void (*become)(void));

/* designs.c: a reason if the counts are not those of the kernel's design, or NULL. */
const char *load_contradicts(const struct load *load, const struct load_stats *stats, long times);
void load_design(char *design, size_t size);

/* The benchmarks; each list ends with an entry without a name. */
extern const struct load memory_loads[], kernel_loads[], call_loads[], compile_loads[],
			 lmbench_loads[], user_loads[];

#endif
