// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <string.h>

#include "cpus.h"

void stay_on_cpu(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

void run_on_any_cpu(void)
{
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus));
	sched_setaffinity(0, sizeof(cpus), &cpus);
}
