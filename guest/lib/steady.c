// SPDX-License-Identifier: GPL-2.0-only
/* What benchmarks do so that they count the same every time. */
#include <sched.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <unistd.h>

#include "cpus.h"
#include "steady.h"

/**
 * fix_layout() - The same addresses, so the same number of tables, every time
 * @argv: Of the program, which starts again without address randomisation
 */
void fix_layout(char **argv)
{
	if (personality(0xffffffff) & ADDR_NO_RANDOMIZE)
		return;
	personality(ADDR_NO_RANDOMIZE);
	execv("/proc/self/exe", argv);
	exit(2);
}

/**
 * stay_ahead_on_one_cpu() - Let nothing else run here
 *
 * A child runs when its parent waits, and not while it is measured.
 */
void stay_ahead_on_one_cpu(void)
{
	struct sched_param first = { .sched_priority = 1 };

	stay_on_cpu(0);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}
