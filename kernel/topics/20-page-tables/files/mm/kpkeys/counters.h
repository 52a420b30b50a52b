/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of what each CPU counts, for debugfs and sysfs. */
#ifndef _MM_KPKEYS_COUNTERS_H
#define _MM_KPKEYS_COUNTERS_H

#include <linux/cpumask.h>
#include <linux/percpu.h>

#include "internal.h"

#define SUM(field) ({							\
	unsigned long __sum = 0;					\
	int __cpu;							\
									\
	for_each_possible_cpu(__cpu)					\
		__sum += per_cpu(kpkeys_counters.field, __cpu);		\
	__sum;								\
})

/* Of violations, those that are counted in keyed memory. */
static inline unsigned long kpkeys_nr_refusals(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(kpkeys_cpu.nr_refused, cpu);
	return sum;
}

#endif /* _MM_KPKEYS_COUNTERS_H */
