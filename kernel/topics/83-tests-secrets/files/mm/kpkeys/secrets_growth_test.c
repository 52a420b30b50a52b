// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: more slots for secrets, and what an attacker does meanwhile. */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kpkeys_test.h>
#include <linux/sched.h>

#include <trace/events/kpkeys.h>

#include "arrivals.h"
#include "internal.h"

/* The slots that are forged: the last ones of a chunk. */
#define USED	(KPKEYS_CHUNK_SLOTS - 1)
#define OWNED	(KPKEYS_CHUNK_SLOTS - 2)

static struct task_struct *grower;
static int hidden[KPKEYS_MAX_CHUNKS];

/* Which chunks have free slots is a hint: where none has, there is growth. */
static void hide_free(unsigned int nr, int sign)
{
	unsigned int i;

	guard(kpkeys_secret)();
	for (i = 0; i < nr; i++) {
		if (sign < 0)
			hidden[i] = atomic_read(&kpkeys_slots.nr_free[i]);
		atomic_add(sign * hidden[i], &kpkeys_slots.nr_free[i]);
	}
}

static unsigned int alloc_with_none_free(struct kunit *test, unsigned int nr)
{
	unsigned int taken;

	hide_free(nr, -1);
	taken = kpkeys_secret_alloc(test, GFP_KERNEL);
	hide_free(nr, 1);
	return taken;
}

/* Whoever frees a slot meanwhile shows it again: then there was no growth. */
static unsigned int alloc_by_growth(struct kunit *test)
{
	unsigned int nr = kpkeys_slots.nr_chunks, tries = 100, taken;

	grower = current;
	do {
		taken = alloc_with_none_free(test, nr);
		if (!taken || taken >= nr * KPKEYS_CHUNK_SLOTS)
			return taken;
		kpkeys_secret_free(taken, test);
	} while (--tries);
	return taken;
}

/* As stores would that came before the key. Others get the first slots. */
static void forge_chunk(void *data, const void *addr, unsigned int nr, int pkey,
			int ret)
{
	struct kpkeys_slot *first = (void *)addr;

	if (current != grower || pkey != KPKEYS_PKEY_SECRET)
		return;
	guard(kpkeys_secret)();
	set_bit(USED, (unsigned long *)first[0].data);
	first[OWNED].owner = &hidden;
}

static void test_chunks_are_made_keyed(struct kunit *test)
{
	unsigned int nr = kpkeys_slots.nr_chunks, taken;
	bool is_used, has_owner;

	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(forge_chunk, NULL));
	taken = alloc_by_growth(test);
	unregister_trace_kpkeys_key(forge_chunk, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_ASSERT_GE(test, taken, nr * KPKEYS_CHUNK_SLOTS);
	kpkeys_secret_free(taken, test);
	scoped_guard(kpkeys_secret) {
		is_used = test_bit(USED, (unsigned long *)
				   kpkeys_slots.chunk[nr]->data);
		has_owner = kpkeys_slots.chunk[nr][OWNED].owner;
	}
	KUNIT_EXPECT_FALSE(test, is_used);
	KUNIT_EXPECT_FALSE(test, has_owner);
}

/* As another one would that grows at the same time, to one too many. */
static void forge_number(void *data, const void *addr, unsigned int nr,
			 int pkey, int ret)
{
	unsigned int chunks = nr * PAGE_SIZE >> KPKEYS_CHUNK_SHIFT;

	if (current != grower || pkey != KPKEYS_PKEY_SECRET)
		return;
	guard(kpkeys_secret)();
	WRITE_ONCE(kpkeys_slots.nr_chunks, KPKEYS_MAX_CHUNKS + 1 - chunks);
}

static void test_table_of_chunks_has_an_end(struct kunit *test)
{
	unsigned int nr = kpkeys_slots.nr_chunks, now, taken;

	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(forge_number, NULL));
	taken = alloc_by_growth(test);
	now = READ_ONCE(kpkeys_slots.nr_chunks);
	scoped_guard(kpkeys_secret)
		WRITE_ONCE(kpkeys_slots.nr_chunks, nr);
	unregister_trace_kpkeys_key(forge_number, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_LE(test, now, KPKEYS_MAX_CHUNKS);
	KUNIT_EXPECT_EQ(test, taken, KPKEYS_NO_SLOT);
	kpkeys_test_expect_clean(test);
}

/* As another one would that uses the same pages. */
static void forge_use(void *data, const void *addr, unsigned int nr, int pkey, int ret)
{
	unsigned long pfn = kpkeys_linear_pfn(addr);

	if (current != grower || pkey != KPKEYS_PKEY_SECRET)
		return;
	scoped_guard(kpkeys_secret)
		kpkeys_slots.nr_pages += nr;
	guard(kpkeys_hardened_pgtables)();
	for (; nr; nr--, pfn++)
		kpkeys_change_frame_now(pfn, kpkeys_new_frame(pkey),
					kpkeys_frame_of_key(pkey));
}

static void test_chunk_is_made_once(struct kunit *test)
{
	unsigned int nr = kpkeys_slots.nr_chunks, taken;

	KPKEYS_TEST_REQUIRES(test, !register_trace_kpkeys_key(forge_use, NULL));
	taken = alloc_by_growth(test);
	unregister_trace_kpkeys_key(forge_use, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, kpkeys_slots.nr_chunks, nr);
	KUNIT_EXPECT_EQ(test, taken, KPKEYS_NO_SLOT);
	kpkeys_test_expect_clean(test);
}

/* As another one would that has the number, and has not said yet that it is there. */
static void test_number_is_given_once(struct kunit *test)
{
	unsigned int nr = kpkeys_slots.nr_chunks, taken;
	struct kpkeys_slot *first = kpkeys_slots.chunk[0], *had;

	grower = NULL;
	scoped_guard(kpkeys_secret)
		kpkeys_slots.chunk[nr] = first;
	taken = alloc_by_growth(test);
	had = kpkeys_slots.chunk[nr];
	scoped_guard(kpkeys_secret)
		kpkeys_slots.chunk[nr] = NULL;
	KUNIT_EXPECT_PTR_EQ(test, had, first);
	KUNIT_EXPECT_EQ(test, kpkeys_slots.nr_chunks, nr);
	KUNIT_EXPECT_EQ(test, taken, KPKEYS_NO_SLOT);
	kpkeys_test_expect_clean(test);
}

static int growth_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_secrets_enabled());
	return kpkeys_test_init(test);
}

static struct kunit_case growth_cases[] = {
	KUNIT_CASE(test_chunks_are_made_keyed),
	KUNIT_CASE(test_table_of_chunks_has_an_end),
	KUNIT_CASE(test_chunk_is_made_once),
	KUNIT_CASE(test_number_is_given_once),
	{}
};

static struct kunit_suite growth_suite = {
	.name = "kpkeys-secrets-growth",
	.init = growth_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = growth_cases,
};

kunit_test_suite(growth_suite);
