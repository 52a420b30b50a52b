// SPDX-License-Identifier: MIT
/* Counters: those of every open and close are of each thread, without a lock. */
#include "internal.h"

PER_THREAD struct thread_counts thread_counts;
atomic_uint_fast64_t system_calls;

void jitgate_stats(struct jitgate_counts *stats)
{
	struct held_lock lock;

	lock_take(&lock);
	stats->areas = area_count;
	lock_drop(&lock);
	stats->opens = thread_counts.opens;
	stats->register_writes = thread_counts.register_writes;
	stats->system_calls = atomic_load_explicit(&system_calls, memory_order_relaxed);
}
