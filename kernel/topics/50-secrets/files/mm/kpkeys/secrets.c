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

#include "chunks.h"
#include "internal.h"
#include "secrets.h"

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
		walk_range(kpkeys_slots.chunk[i], KPKEYS_CHUNK_SIZE, fn, arg);
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

static noinline __flatten unsigned int take_from(unsigned int chunk, const void *owner)
{
	unsigned int bit;

	guard(kpkeys_secret)();
	kpkeys_reread(chunk);
	kpkeys_reread(owner);
	/* Pairs with the release in publish_chunk(). */
	if (chunk >= smp_load_acquire(&kpkeys_slots.nr_chunks))
		return KPKEYS_NO_SLOT;
	bit = kpkeys_claim_bit(used_bits(chunk), KPKEYS_CHUNK_SLOTS);
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

static noinline __flatten int publish_chunk(void *addr)
{
	struct kpkeys_slot *chunk = addr;
	unsigned int nr;
	int ret;

	guard(kpkeys_secret)();
	kpkeys_reread(chunk);
	nr = READ_ONCE(kpkeys_slots.nr_chunks);
	ret = kpkeys_chunk_claim(chunk, nr, KPKEYS_MAX_CHUNKS, KPKEYS_PKEY_SECRET);
	if (ret)
		return ret;
	kpkeys_clear_words(chunk, KPKEYS_CHUNK_SIZE);
	__set_bit(0, (unsigned long *)chunk->data);
	if (!kpkeys_chunk_enter((void **)kpkeys_slots.chunk, nr, chunk))
		return -EBUSY;
	kpkeys_slots.nr_pages += KPKEYS_CHUNK_PAGES;
	atomic_set(&kpkeys_slots.nr_free[nr], KPKEYS_CHUNK_SLOTS - 1);
	/* Whoever sees the number sees the chunk. */
	smp_store_release(&kpkeys_slots.nr_chunks, nr + 1);
	return 0;
}

/* What is no chunk keeps its key, and is nobody else's either. */
static void lose(unsigned int nr)
{
	guard(kpkeys_secret)();
	kpkeys_slots.nr_pages += nr;
}

static const struct kpkeys_chunks chunks = {
	.what		= "new secrets",
	.pkey		= KPKEYS_PKEY_SECRET,
	.max		= KPKEYS_MAX_CHUNKS,
	.nr		= &kpkeys_slots.nr_chunks,
	.publish	= publish_chunk,
	.lose		= lose,
};

static unsigned int grow_and_take(const void *owner, gfp_t gfp)
{
	unsigned int slot;

	guard(mutex)(&grow_lock);
	/* Somebody else may have grown it. */
	slot = take_slot(owner);
	if (!slot && !kpkeys_chunks_grow(&chunks, gfp))
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
