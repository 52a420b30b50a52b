/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs the caller runs on, and who is made by it from then on. */
#ifndef CPUS_H
#define CPUS_H

void stay_on_cpu(int cpu);
void run_on_any_cpu(void);

#endif /* CPUS_H */
