/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Secrets: memory that nobody can read or write outside a guard.
 *
 *	static u8 key[32] __kpkeys_secret;
 *
 *	scoped_guard(kpkeys_secret)
 *		derive(state, key);
 *
 * Static and per-CPU objects share pages that carry KPKEYS_PKEY_SECRET from
 * kpkeys_hardened_pgtables_init() on; until then, and where the protection is
 * off or cannot hide anything, they are ordinary memory, and the guard does
 * nothing. A module cannot have any.
 *
 * Objects that come and go live in slots:
 *
 *	slot = kpkeys_secret_alloc(task, GFP_KERNEL);
 *
 *	guard(kpkeys_secret)();
 *	keys = kpkeys_secret_data(slot, task);
 *
 * A slot is named by a number, so that a corrupted name leads to a slot or to
 * nothing, and the slot knows its owner, so that it leads to one's own.
 */
#ifndef _LINUX_KPKEYS_SECRETS_H
#define _LINUX_KPKEYS_SECRETS_H

#include <linux/array_size.h>
#include <linux/compiler.h>
#include <linux/kpkeys.h>
#include <linux/percpu-defs.h>

/*
 * Numbers that assembly may need as well. A chunk is a power of two of slots;
 * slot 0 of each holds its bitmap and is never handed out, so 0 is no slot.
 */
#define KPKEYS_SLOT_SHIFT	7
#define KPKEYS_SLOT_SIZE	(1 << KPKEYS_SLOT_SHIFT)
#define KPKEYS_CHUNK_SHIFT	(PAGE_SHIFT > 15 ? PAGE_SHIFT : 15)
#define KPKEYS_CHUNK_SLOTS	(1 << (KPKEYS_CHUNK_SHIFT - KPKEYS_SLOT_SHIFT))
#define KPKEYS_MAX_CHUNKS	1020
#define KPKEYS_NO_SLOT		0

#if defined(KPKEYS_BUILT_IN) && defined(CONFIG_KPKEYS_SECRETS)

#ifndef MODULE
#define __kpkeys_secret		__section(".data..secret")
#define DEFINE_PER_CPU_SECRET(type, name)				\
	DEFINE_PER_CPU_SECTION(type, name, "..secret")
/* By the plain macro it would be in the section that this one names. */
#define DECLARE_PER_CPU_SECRET(type, name)				\
	DECLARE_PER_CPU_SECTION(type, name, "..secret")
#endif

static __always_inline bool kpkeys_secrets_enabled(void)
{
	return kpkeys_level_enabled(KPKEYS_LVL_SECRET);
}

/**
 * struct kpkeys_slot - a secret that was allocated
 * @owner: who may use it; NULL while it is free
 * @data: the secret, zero at first
 */
struct kpkeys_slot {
	const void	*owner;
	u8		data[KPKEYS_SLOT_SIZE - sizeof(void *)] __aligned(8);
};

/**
 * struct kpkeys_slots - where the slots are; pages with KPKEYS_PKEY_STATE
 * @nr_chunks: chunks in use
 * @chunk: their addresses
 * @nr_free: free slots of each; a hint
 * @nr_pages: pages with KPKEYS_PKEY_SECRET, static ones among them
 *
 * Readable at any level, writable inside guards only.
 */
struct kpkeys_slots {
	unsigned int		nr_chunks;
	struct kpkeys_slot	*chunk[KPKEYS_MAX_CHUNKS];
	atomic_t		nr_free[KPKEYS_MAX_CHUNKS];
	unsigned long		nr_pages;
} __aligned(PAGE_SIZE);

extern struct kpkeys_slots kpkeys_slots;

/**
 * kpkeys_slot_at - address of a slot
 * @slot: its number
 *
 * Return: NULL for a number that is no slot's.
 */
static __always_inline struct kpkeys_slot *kpkeys_slot_at(unsigned int slot)
{
	unsigned int chunk = slot / KPKEYS_CHUNK_SLOTS;

	/* Pairs with the release in publish_chunk(). */
	if (chunk >= smp_load_acquire(&kpkeys_slots.nr_chunks))
		return NULL;
	return kpkeys_slots.chunk[chunk] + slot % KPKEYS_CHUNK_SLOTS;
}

/**
 * kpkeys_secret_data - a secret that was allocated
 * @slot: number of its slot
 * @owner: as given to kpkeys_secret_alloc()
 *
 * Inside guard(kpkeys_secret) only, and good until its end.
 *
 * Return: the data, or NULL if there is no such slot or it is somebody else's.
 */
static __always_inline void *kpkeys_secret_data(unsigned int slot,
						const void *owner)
{
	struct kpkeys_slot *s = kpkeys_slot_at(slot);

	if (unlikely(!s || !owner || READ_ONCE(s->owner) != owner))
		return NULL;
	return s->data;
}

unsigned int kpkeys_secret_alloc(const void *owner, gfp_t gfp);
void kpkeys_secret_free(unsigned int slot, const void *owner);

#else /* !CONFIG_KPKEYS_SECRETS */

#define __kpkeys_secret
#define DEFINE_PER_CPU_SECRET(type, name)	DEFINE_PER_CPU(type, name)
#define DECLARE_PER_CPU_SECRET(type, name)	DECLARE_PER_CPU(type, name)

static __always_inline bool kpkeys_secrets_enabled(void) { return false; }
static __always_inline void *kpkeys_secret_data(unsigned int slot,
						const void *owner)
{
	return NULL;
}

static inline unsigned int kpkeys_secret_alloc(const void *owner, gfp_t gfp)
{
	return KPKEYS_NO_SLOT;
}

static inline void kpkeys_secret_free(unsigned int slot, const void *owner) { }

#endif /* CONFIG_KPKEYS_SECRETS */

/*
 * A loop over words of a secret, unrolled: it has no pointer then, which might wait on
 * the stack, and be changed there, while the gate is open.
 */
#define kpkeys_for_each_word(i, nr)					\
	_Pragma("GCC unroll 16")					\
	for ((i) = 0; (i) < (nr); (i)++)

/**
 * kpkeys_read_cpu_secret - read words of this CPU's secret
 * @to: where they go
 * @words: an array in a DEFINE_PER_CPU_SECRET() object
 *
 * Inside guard(kpkeys_secret) only. Each is reached by the base register: a
 * pointer would be made of an offset that may lie in ordinary memory.
 */
#define kpkeys_read_cpu_secret(to, words)				\
	do {								\
		unsigned int __i;					\
									\
		kpkeys_for_each_word(__i, ARRAY_SIZE(words))		\
			(to)[__i] = raw_cpu_read((words)[__i]);		\
	} while (0)

/**
 * kpkeys_write_cpu_secret - write words of this CPU's secret
 * @words: as for kpkeys_read_cpu_secret()
 * @from: what they become
 */
#define kpkeys_write_cpu_secret(words, from)				\
	do {								\
		unsigned int __i;					\
									\
		kpkeys_for_each_word(__i, ARRAY_SIZE(words))		\
			raw_cpu_write((words)[__i], (from)[__i]);	\
	} while (0)

/**
 * DOC: guard(kpkeys_secret)()
 *
 * The scope may read and write secrets, and no page table. Wrong: to call what
 * sleeps, prints, or stores what it was given elsewhere.
 */
DEFINE_KPKEYS_GUARD(kpkeys_secret,
		    kpkeys_set_level(KPKEYS_LVL_SECRET),
		    kpkeys_restore_level(KPKEYS_LVL_SECRET, *old), void);

#endif /* _LINUX_KPKEYS_SECRETS_H */
