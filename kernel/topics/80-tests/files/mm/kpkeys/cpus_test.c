// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: which CPU has which per-CPU memory. */
#include <linux/cpu.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_test.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include <asm/sections.h>

#include "internal.h"

#define STRANGER	(1ULL << 48)	/* no CPU has such an ID */

static u64 owner_of(int cpu)
{
	return READ_ONCE(per_cpu_ptr(&kpkeys_cpu, cpu)->owner);
}

static void ask_id(void *id)
{
	*(u64 *)id = arch_kpkeys_cpu_id();
}

static u64 id_of(int cpu)
{
	u64 id = 0;

	smp_call_function_single(cpu, ask_id, &id, true);
	return id;
}

/* Also one that went and came back, which is when it takes it. */
static void test_cpu_has_its_memory(struct kunit *test)
{
	int last = cpumask_last(cpu_online_mask), cpu;

	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, owner_of(cpu), id_of(cpu));
	KPKEYS_TEST_REQUIRES(test, last);
	kpkeys_test_remove_cpu(test, last);
	KUNIT_EXPECT_EQ(test, owner_of(last), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(last), 0);
	KUNIT_EXPECT_EQ(test, owner_of(last), id_of(last));
}

static void test_memory_is_one_cpus(struct kunit *test)
{
	unsigned long offset = per_cpu_offset(0);
	u64 id = owner_of(0);

	KUNIT_EXPECT_TRUE(test, kpkeys_area_is(offset, id));
	KUNIT_EXPECT_FALSE(test, kpkeys_area_is(offset, STRANGER));
	KUNIT_EXPECT_EQ(test, owner_of(0), id);
}

/* Numbers of CPUs that cannot be are in the list as well, and behind it is more. */
static void test_memory_of_no_cpu(struct kunit *test)
{
	unsigned long page = __get_free_page(GFP_KERNEL);
	int cpu;

	KUNIT_ASSERT_NE(test, page, 0);
	KUNIT_EXPECT_FALSE(test, kpkeys_area_is(page, STRANGER));
	KUNIT_EXPECT_FALSE(test, kpkeys_area_is(0, STRANGER));
	free_page(page);
	for (cpu = 0; cpu < ARRAY_SIZE(__per_cpu_offset); cpu++)
		if (!test_bit(cpu, cpumask_bits(cpu_possible_mask)))
			KUNIT_EXPECT_FALSE(test, kpkeys_area_is(per_cpu_offset(cpu),
								STRANGER));
}

static void test_offsets_are_constant(struct kunit *test)
{
	void *list = __per_cpu_offset;

	KUNIT_EXPECT_TRUE(test, list >= (void *)__start_ro_after_init &&
				list < (void *)__end_ro_after_init);
}

static struct kunit_case cpus_cases[] = {
	KUNIT_CASE(test_cpu_has_its_memory),
	KUNIT_CASE(test_memory_is_one_cpus),
	KUNIT_CASE(test_memory_of_no_cpu),
	KUNIT_CASE(test_offsets_are_constant),
	{}
};

static struct kunit_suite cpus_suite = {
	.name = "kpkeys-cpus",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = cpus_cases,
};

kunit_test_suite(cpus_suite);
