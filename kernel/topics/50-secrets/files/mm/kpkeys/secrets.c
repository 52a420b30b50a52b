// SPDX-License-Identifier: GPL-2.0-only
/*
 * Secrets: which pages carry the no-access key, and slots in such pages for
 * objects that come and go.
 *
 * What decides who owns a slot is where no ordinary store gets: the table of
 * chunks in pages with KPKEYS_PKEY_STATE, the bitmap of a chunk and the owner
 * of a slot in the secret pages themselves. Slots are claimed and given back
 * by atomic operations on these, so that a corrupted lock cannot give one slot
 * to two owners. Only growing takes a lock.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/kpkeys_secrets.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "depot.h"
#include "internal.h"
#include "secrets.h"

#define CHUNK_SIZE	(1UL << KPKEYS_CHUNK_SHIFT)
#define CHUNK_ORDER	(KPKEYS_CHUNK_SHIFT - PAGE_SHIFT)
#define CHUNK_PAGES	(1UL << CHUNK_ORDER)

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_secrets_key);
EXPORT_SYMBOL_GPL(kpkeys_secrets_key);

struct kpkeys_slots kpkeys_slots __page_aligned_data;

/* One that is always there: the proof that keys work reads it. */
static unsigned long canary __kpkeys_secret = 1;

/* ---- whole pages ---- */

static void *static_secrets(size_t *size)
{
	*size = __secrets_end - __secrets_start;
	return lm_alias(__secrets_start);
}

static void *percpu_secrets(unsigned int cpu, size_t *size)
{
	*size = __per_cpu_secrets_end - __per_cpu_secrets_start;
	return per_cpu_ptr(__per_cpu_secrets_start, cpu);
}

/**
 * kpkeys_secrets_init - switch the guards of secrets on, if anything hides them
 */
void __init kpkeys_secrets_init(void)
{
	if (arch_kpkeys_has_keys())
		static_branch_enable(&kpkeys_secrets_key);
}

/**
 * kpkeys_key_secrets - key the secrets that are there when the kernel starts
 */
void __init kpkeys_key_secrets(void)
{
	unsigned int cpu;
	size_t size;
	void *addr;

	if (!kpkeys_secrets_enabled()) {
		pr_info("secrets are not hidden: %s cannot stop reads\n",
			arch_kpkeys_backend());
		return;
	}
	if (IS_ENABLED(CONFIG_HIBERNATION))
		pr_info("no hibernation: its image would contain secrets\n");
	kpkeys_key_static(lm_alias(&kpkeys_slots), sizeof(kpkeys_slots),
			  KPKEYS_PKEY_STATE, &kpkeys_state.state_pages);
	addr = static_secrets(&size);
	kpkeys_key_static(addr, size, KPKEYS_PKEY_SECRET,
			  &kpkeys_slots.nr_pages);
	for_each_possible_cpu(cpu) {
		addr = percpu_secrets(cpu, &size);
		kpkeys_key_static(addr, size, KPKEYS_PKEY_SECRET,
				  &kpkeys_slots.nr_pages);
	}
}

/**
 * kpkeys_secrets_denied - do keys stop reads of a secret, as far as they can?
 */
bool __init kpkeys_secrets_denied(void)
{
	unsigned long value;

	return !kpkeys_secrets_enabled() ||
	       (get_kernel_nofault(value, &canary) &&
		get_kernel_nofault(value, (unsigned long *)lm_alias(&canary)));
}

static void walk_range(void *addr, size_t size, kpkeys_page_fn fn, void *arg)
{
	void *end = addr + size;

	for (; addr < end; addr += PAGE_SIZE)
		fn(addr, arg);
}

/**
 * kpkeys_walk_secrets - visit every page that must carry the no-access key
 * @fn: called with its address in the direct map
 * @arg: handed on
 */
void kpkeys_walk_secrets(kpkeys_page_fn fn, void *arg)
{
	unsigned int i;
	size_t size;
	void *addr;

	if (!kpkeys_secrets_enabled())
		return;
	addr = static_secrets(&size);
	walk_range(addr, size, fn, arg);
	for_each_possible_cpu(i) {
		addr = percpu_secrets(i, &size);
		walk_range(addr, size, fn, arg);
	}
	for (i = 0; i < kpkeys_slots.nr_chunks; i++)
		walk_range(kpkeys_slots.chunk[i], CHUNK_SIZE, fn, arg);
}

/* ---- slots ---- */

static DEFINE_MUTEX(grow_lock);

/**
 * kpkeys_secrets_freeze - no page is keyed and not yet accounted for
 */
void kpkeys_secrets_freeze(void)
{
	mutex_lock(&grow_lock);
}

/**
 * kpkeys_secrets_thaw - undo kpkeys_secrets_freeze()
 */
void kpkeys_secrets_thaw(void)
{
	mutex_unlock(&grow_lock);
}

static __always_inline unsigned long *used_bits(unsigned int chunk)
{
	BUILD_BUG_ON(KPKEYS_CHUNK_SLOTS / 8 >
		     sizeof_field(struct kpkeys_slot, data));
	return (unsigned long *)kpkeys_slots.chunk[chunk]->data;
}

/* No bit search out of line. */
static __always_inline unsigned int claim_bit(unsigned long *used)
{
	unsigned int i, bit;
	unsigned long word;

	for (i = 0; i < BITS_TO_LONGS(KPKEYS_CHUNK_SLOTS); i++) {
		while ((word = ~READ_ONCE(used[i]))) {
			bit = i * BITS_PER_LONG + __ffs(word);
			if (!test_and_set_bit(bit, used))
				return bit;
		}
	}
	return KPKEYS_CHUNK_SLOTS;
}

static noinline __flatten unsigned int take_from(unsigned int chunk, const void *owner)
{
	unsigned int bit;

	guard(kpkeys_secret)();
	kpkeys_reread(chunk);
	kpkeys_reread(owner);
	/* Pairs with the release in publish_chunk(). */
	if (chunk >= smp_load_acquire(&kpkeys_slots.nr_chunks))
		return KPKEYS_NO_SLOT;
	bit = claim_bit(used_bits(chunk));
	if (bit >= KPKEYS_CHUNK_SLOTS)
		return KPKEYS_NO_SLOT;
	atomic_dec(&kpkeys_slots.nr_free[chunk]);
	WRITE_ONCE(kpkeys_slots.chunk[chunk][bit].owner, owner);
	return chunk * KPKEYS_CHUNK_SLOTS + bit;
}

/* The count may be stale: the bitmap decides. */
static unsigned int take_slot(const void *owner)
{
	unsigned int chunk, nr, slot;

	/* Pairs with the release in publish_chunk(). */
	nr = smp_load_acquire(&kpkeys_slots.nr_chunks);
	for (chunk = 0; chunk < nr; chunk++) {
		if (atomic_read(&kpkeys_slots.nr_free[chunk]) <= 0)
			continue;
		slot = take_from(chunk, owner);
		if (slot)
			return slot;
	}
	return KPKEYS_NO_SLOT;
}

/* In a section. What is one of the chunks already is none again, nor is a part of it. */
static __always_inline bool is_new_chunk(const struct kpkeys_slot *chunk, unsigned int nr)
{
	if ((unsigned long)chunk % CHUNK_SIZE ||
	    !kpkeys_are_new(chunk, CHUNK_PAGES, KPKEYS_PKEY_SECRET))
		return false;
	while (nr--)
		if (kpkeys_slots.chunk[nr] == chunk)
			return false;
	return true;
}

/* Whatever stood there was written without the key: it is not looked at. */
static noinline __flatten int publish_chunk(struct kpkeys_slot *chunk)
{
	unsigned int nr;

	guard(kpkeys_secret)();
	kpkeys_reread(chunk);
	nr = READ_ONCE(kpkeys_slots.nr_chunks);
	if (nr >= KPKEYS_MAX_CHUNKS)
		return -ENOSPC;
	if (!kpkeys_has_arrived(chunk, CHUNK_PAGES))
		return -EPERM;
	if (!is_new_chunk(chunk, nr))
		return -EEXIST;
	kpkeys_clear_words(chunk, CHUNK_SIZE);
	__set_bit(0, (unsigned long *)chunk->data);
	kpkeys_slots.nr_pages += CHUNK_PAGES;
	kpkeys_slots.chunk[nr] = chunk;
	atomic_set(&kpkeys_slots.nr_free[nr], KPKEYS_CHUNK_SLOTS - 1);
	/* Whoever sees the number sees the chunk. */
	smp_store_release(&kpkeys_slots.nr_chunks, nr + 1);
	return 0;
}

static int publish_chunks(void *addr, unsigned int order)
{
	void *end = addr + (PAGE_SIZE << order);
	int ret = 0;

	if (READ_ONCE(kpkeys_slots.nr_chunks) + (end - addr) / CHUNK_SIZE > KPKEYS_MAX_CHUNKS)
		return -ENOSPC;
	for (; addr < end && !ret; addr += CHUNK_SIZE)
		ret = publish_chunk(addr);
	if (ret == -EEXIST) {
		kpkeys_freelist_error("new secrets", addr - CHUNK_SIZE);
		kpkeys_freelist_report();
	}
	return ret;
}

/* What is no chunk keeps its key, and is nobody else's either. */
static void lose(unsigned int order)
{
	guard(kpkeys_secret)();
	kpkeys_slots.nr_pages += 1UL << order;
}

static int search_and_publish(void *addr, unsigned int order)
{
	int ret;

	kpkeys_arrivals_begin();
	ret = kpkeys_arrivals_add(addr, 1U << order, KPKEYS_PKEY_SECRET);
	if (!ret) {
		kpkeys_arrivals_search();
		ret = publish_chunks(addr, order);
	}
	kpkeys_arrivals_end();
	return ret;
}

static int add_chunks(void *addr, unsigned int order)
{
	int ret;

	kpkeys_arrivals_expect();
	ret = kpkeys_block_key(addr, order, KPKEYS_PKEY_SECRET);
	if (ret) {
		kpkeys_arrivals_settle();
		return -ENOMEM;
	}
	do {
		ret = kpkeys_flush() ? search_and_publish(addr, order) : -EBUSY;
	} while (ret == -EAGAIN);
	kpkeys_arrivals_settle();
	/* What is not as it was keyed is not even counted. */
	if (ret && ret != -EEXIST)
		lose(order);
	return ret;
}

/* Where keying a chunk would split a mapping, take all that it spans. */
static int grow(gfp_t gfp)
{
	void *chunk, *block = NULL;

	/* A hint, so that nothing is keyed in vain; publish_chunk() decides. */
	if (kpkeys_slots.nr_chunks == KPKEYS_MAX_CHUNKS)
		return -ENOSPC;
	gfp &= ~__GFP_ZERO;
	chunk = kpkeys_block_alloc(NUMA_NO_NODE, gfp, CHUNK_ORDER);
	if (!chunk)
		return -ENOMEM;
	if (arch_kpkeys_mapping_size((unsigned long)chunk) > CHUNK_SIZE)
		block = kpkeys_block_alloc(NUMA_NO_NODE,
					   gfp | __GFP_NOWARN | __GFP_NORETRY,
					   KPKEYS_REGION_ORDER);
	if (!block)
		return add_chunks(chunk, CHUNK_ORDER);
	free_pages_exact(chunk, CHUNK_SIZE);
	return add_chunks(block, KPKEYS_REGION_ORDER);
}

static unsigned int grow_and_take(const void *owner, gfp_t gfp)
{
	unsigned int slot;

	guard(mutex)(&grow_lock);
	/* Somebody else may have grown it. */
	slot = take_slot(owner);
	if (!slot && !grow(gfp))
		slot = take_slot(owner);
	return slot;
}

/**
 * kpkeys_secret_alloc - take a slot
 * @owner: any address that only the owner has; not NULL
 * @gfp: without blocking, only slots that are there are handed out
 *
 * The data is zero.
 *
 * Return: the slot's number, or KPKEYS_NO_SLOT.
 */
unsigned int kpkeys_secret_alloc(const void *owner, gfp_t gfp)
{
	unsigned int slot;

	if (!kpkeys_secrets_enabled() || WARN_ON_ONCE(!owner))
		return KPKEYS_NO_SLOT;
	slot = take_slot(owner);
	if (!slot && gfpflags_allow_blocking(gfp))
		slot = grow_and_take(owner, gfp);
	return slot;
}

/* Whoever takes the owner away frees it: nobody else can then. */
static noinline __flatten bool give_back(unsigned int slot, const void *owner)
{
	struct kpkeys_slot *s;

	guard(kpkeys_secret)();
	kpkeys_reread(slot);
	kpkeys_reread(owner);
	s = kpkeys_slot_at(slot);
	if (!s || !owner || cmpxchg(&s->owner, owner, NULL) != owner)
		return false;
	kpkeys_clear_words(s->data, sizeof(s->data));
	clear_bit_unlock(slot % KPKEYS_CHUNK_SLOTS,
			 used_bits(slot / KPKEYS_CHUNK_SLOTS));
	atomic_inc(&kpkeys_slots.nr_free[slot / KPKEYS_CHUNK_SLOTS]);
	return true;
}

/**
 * kpkeys_secret_free - erase a secret and give its slot back
 * @slot: as returned by kpkeys_secret_alloc(), KPKEYS_NO_SLOT is fine
 * @owner: as given there
 *
 * A slot that is not the owner's is left alone and reported. Any context but
 * NMI.
 */
void kpkeys_secret_free(unsigned int slot, const void *owner)
{
	if (slot == KPKEYS_NO_SLOT || !kpkeys_secrets_enabled())
		return;
	if (!give_back(slot, owner)) {
		kpkeys_freelist_error("secret freed twice or not its owner's",
				      (void *)(unsigned long)slot);
		kpkeys_freelist_report();
	}
}

/**
 * kpkeys_secret_nr_pages - pages that carry the no-access key
 */
unsigned long kpkeys_secret_nr_pages(void)
{
	return kpkeys_slots.nr_pages;
}

/**
 * kpkeys_secret_nr_used - slots that are taken
 */
unsigned long kpkeys_secret_nr_used(void)
{
	unsigned long nr = 0;
	unsigned int i;

	for (i = 0; i < kpkeys_slots.nr_chunks; i++)
		nr += KPKEYS_CHUNK_SLOTS - 1 -
		      atomic_read(&kpkeys_slots.nr_free[i]);
	return nr;
}
