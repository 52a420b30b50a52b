// SPDX-License-Identifier: GPL-2.0-only
/* NUMA balancing: entries lose their rights, and the fault that follows brings the page to who uses it. */
#include <linux/mempolicy.h>
#include <sched.h>
#include <time.h>

#include "part.h"

#define SIZE	(64UL << 20)
#define SECONDS	60

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof(set), &set), "cpu %d", cpu);
}

static long hints, moved;

/* Other processes' pages move as well. */
static bool is_done(void)
{
	return vmstat("numa_pages_migrated") > moved + 100 && vmstat("numa_hint_faults") > hints + 100;
}

int main(void)
{
	char *memory = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	time_t end = time(NULL) + SECONDS;
	unsigned int i;

	need(!access("/sys/devices/system/node/node1", F_OK), "one node only");
	need(write_file("/proc/sys/kernel/numa_balancing", "1"), "no NUMA balancing");
	write_file("/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", "100");
	write_file("/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", "100");
	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	on_cpu(0);
	number_pages(memory, SIZE, 0);
	hints = vmstat("numa_hint_faults");
	moved = vmstat("numa_pages_migrated");
	on_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (i = 0; time(NULL) < end && !is_done(); i++) {
		check(pages_numbered(memory, SIZE, i), "content");
		number_pages(memory, SIZE, i + 1);
	}
	check(vmstat("numa_hint_faults") > hints, "no entry lost its rights");
	check(vmstat("numa_pages_migrated") > moved, "no page moved");
	printf("%ld faults, %ld pages moved\n", vmstat("numa_hint_faults") - hints, vmstat("numa_pages_migrated") - moved);
	return 0;
}
