// SPDX-License-Identifier: GPL-2.0-only
/* Slots of credentials: where they are, and how there are more. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kpkeys_guarded.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "cred_lists.h"
#include "cred_slots.h"
#include "creds.h"

struct kpkeys_cred_slots kpkeys_cred_slots __page_aligned_data;
struct kpkeys_cred_lists kpkeys_cred_lists __page_aligned_data;

static DEFINE_MUTEX(cred_room_lock);

static noinline __flatten int publish_cred_slots(void *addr)
{
	struct kpkeys_cred_slot *chunk = addr;
	unsigned int nr;
	int ret;

	BUILD_BUG_ON(KPKEYS_CRED_SLOTS / 8 > sizeof(struct kpkeys_record));
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	nr = READ_ONCE(kpkeys_cred_slots.nr_chunks);
	ret = kpkeys_chunk_claim(chunk, nr, KPKEYS_CRED_CHUNKS, KPKEYS_PKEY_GUARDED);
	if (ret)
		return ret;
	kpkeys_clear_words(chunk, KPKEYS_CHUNK_SIZE);
	__set_bit(0, (unsigned long *)&chunk->record);
	if (!kpkeys_chunk_enter((void **)kpkeys_cred_slots.chunk, nr, chunk))
		return -EBUSY;
	atomic_set(&kpkeys_cred_slots.nr_free[nr], KPKEYS_CRED_SLOTS - 1);
	/* Whoever sees the number sees the chunk. */
	smp_store_release(&kpkeys_cred_slots.nr_chunks, nr + 1);
	return 0;
}

static noinline __flatten int publish_lists(void *addr)
{
	struct kpkeys_list_chunk *chunk = addr;
	unsigned int nr, unit;
	int ret;

	BUILD_BUG_ON(sizeof(struct kpkeys_list_chunk) != KPKEYS_CHUNK_SIZE);
	guard(kpkeys_guarded)();
	kpkeys_reread(chunk);
	nr = READ_ONCE(kpkeys_cred_lists.nr_chunks);
	ret = kpkeys_chunk_claim(chunk, nr, KPKEYS_LIST_CHUNKS, KPKEYS_PKEY_GUARDED);
	if (ret)
		return ret;
	kpkeys_clear_words(chunk, KPKEYS_CHUNK_SIZE);
	for (unit = 0; unit < KPKEYS_LIST_HEAD; unit++)
		__set_bit(unit, chunk->used);
	if (!kpkeys_chunk_enter((void **)kpkeys_cred_lists.chunk, nr, chunk))
		return -EBUSY;
	atomic_set(&kpkeys_cred_lists.nr_free[nr], KPKEYS_LIST_UNITS - KPKEYS_LIST_HEAD);
	/* Whoever sees the number sees the chunk. */
	smp_store_release(&kpkeys_cred_lists.nr_chunks, nr + 1);
	return 0;
}

static bool lists_wanted;

/* Of the first block lists have one chunk. */
static int publish(void *chunk)
{
	int ret;

	if (!lists_wanted)
		return publish_cred_slots(chunk);
	ret = publish_lists(chunk);
	lists_wanted = false;
	return ret;
}

/* What is no chunk keeps its key, and is nobody else's either. */
static void lose_cred_slots(unsigned int nr)
{
	guard(kpkeys_guarded)();
	kpkeys_cred_slots.nr_lost += nr;
}

static const struct kpkeys_chunks list_chunks = {
	.what		= "new lists of credentials",
	.pkey		= KPKEYS_PKEY_GUARDED,
	.max		= KPKEYS_LIST_CHUNKS,
	.nr		= &kpkeys_cred_lists.nr_chunks,
	.publish	= publish_lists,
	.lose		= lose_cred_slots,
};

static const struct kpkeys_chunks chunks = {
	.what		= "new slots of credentials",
	.pkey		= KPKEYS_PKEY_GUARDED,
	.max		= KPKEYS_CRED_CHUNKS,
	.nr		= &kpkeys_cred_slots.nr_chunks,
	.publish	= publish,
	.lose		= lose_cred_slots,
};

/* The counts may be stale: the bitmaps decide. */
static int find_room(unsigned int nr, int slots)
{
	static unsigned int last;
	unsigned int i, chunk, first = READ_ONCE(last);

	for (i = 0; i < nr; i++) {
		chunk = (first + i) % nr;
		if (atomic_read(&kpkeys_cred_slots.nr_free[chunk]) < slots)
			continue;
		/* Each fork reads it: it is written when it changes. */
		if (chunk != first)
			WRITE_ONCE(last, chunk);
		return chunk;
	}
	return -ENOSPC;
}

static unsigned int nr_chunks(void)
{
	/* Pairs with the release in publish_cred_slots(). */
	return smp_load_acquire(&kpkeys_cred_slots.nr_chunks);
}

/* All but the last chunk, which is for those that cannot wait. */
static int find_common_room(int slots)
{
	unsigned int nr = nr_chunks();

	return nr ? find_room(nr - 1, slots) : -ENOSPC;
}

/**
 * kpkeys_find_cred_room - where slots are free; makes more where they are not
 * @nr: how many
 *
 * Return: the number of a chunk, or -errno.
 */
int kpkeys_find_cred_room(int nr)
{
	int chunk = find_common_room(nr), err = 0;

	if (chunk >= 0)
		return chunk;
	guard(mutex)(&cred_room_lock);
	/* Somebody else may have grown it. */
	while ((chunk = find_common_room(nr)) < 0 && !err)
		err = kpkeys_chunks_grow(&chunks, GFP_KERNEL);
	return chunk;
}

/**
 * kpkeys_grow_cred_lists - make room for lists
 *
 * Return: 0 or -errno.
 */
int kpkeys_grow_cred_lists(void)
{
	guard(mutex)(&cred_room_lock);
	if (kpkeys_nr_list_chunks())
		return kpkeys_chunks_grow(&list_chunks, GFP_KERNEL);
	lists_wanted = true;
	return kpkeys_chunks_grow(&chunks, GFP_KERNEL);
}

static void make_room(struct work_struct *work)
{
	guard(mutex)(&cred_room_lock);
	kpkeys_chunks_grow(&chunks, GFP_KERNEL);
}

static DECLARE_WORK(make_room_work, make_room);

/**
 * kpkeys_find_cred_room_now - where a slot is free, for those that must not sleep
 *
 * The last chunk is kept for them. When half of it is gone there will be another one.
 *
 * Return: the number of a chunk, or -errno.
 */
int kpkeys_find_cred_room_now(void)
{
	unsigned int last = nr_chunks() - 1;
	int nr_free = atomic_read(&kpkeys_cred_slots.nr_free[last]);

	if (nr_free < KPKEYS_CRED_SLOTS / 2)
		schedule_work(&make_room_work);
	return nr_free ? last : find_room(last, 1);
}

/**
 * kpkeys_creds_freeze - no page is keyed and not yet accounted for
 */
void kpkeys_creds_freeze(void)
{
	mutex_lock(&cred_room_lock);
}

/**
 * kpkeys_creds_thaw - undo kpkeys_creds_freeze()
 */
void kpkeys_creds_thaw(void)
{
	mutex_unlock(&cred_room_lock);
}

/**
 * kpkeys_creds_nr_pages - pages of slots and lists
 */
unsigned long kpkeys_creds_nr_pages(void)
{
	return (kpkeys_cred_slots.nr_chunks + kpkeys_cred_lists.nr_chunks) * KPKEYS_CHUNK_PAGES;
}

/**
 * kpkeys_creds_nr_lost - pages that were to be
 */
unsigned long kpkeys_creds_nr_lost(void)
{
	return kpkeys_cred_slots.nr_lost;
}

/**
 * kpkeys_creds_page - one page of slots or lists
 * @nr: less than kpkeys_creds_nr_pages()
 *
 * Return: its address in the direct map.
 */
void *kpkeys_creds_page(unsigned long nr)
{
	unsigned long chunk = nr / KPKEYS_CHUNK_PAGES, nr_slots = kpkeys_cred_slots.nr_chunks;
	void *addr = chunk < nr_slots ? (void *)kpkeys_cred_slots.chunk[chunk] :
					kpkeys_cred_lists.chunk[chunk - nr_slots];

	return addr + nr % KPKEYS_CHUNK_PAGES * PAGE_SIZE;
}
