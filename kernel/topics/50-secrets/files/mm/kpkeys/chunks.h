/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunks of slots, in pages that carry a key: what domains with slots share. */
#ifndef _MM_KPKEYS_CHUNKS_H
#define _MM_KPKEYS_CHUNKS_H

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kpkeys_secrets.h>

#include "depot.h"

#define KPKEYS_CHUNK_SIZE	(1UL << KPKEYS_CHUNK_SHIFT)
#define KPKEYS_CHUNK_ORDER	(KPKEYS_CHUNK_SHIFT - PAGE_SHIFT)
#define KPKEYS_CHUNK_PAGES	(1UL << KPKEYS_CHUNK_ORDER)

/**
 * struct kpkeys_chunks - one domain's chunks; in read-only data
 * @what: of what, for a report
 * @pkey: what their pages carry
 * @max: how many there may be
 * @nr: how many there are
 * @publish: makes one known, in a section of its own; 0 or -errno
 * @lose: accounts for pages that have the key and are no chunk
 */
struct kpkeys_chunks {
	const char		*what;
	int			pkey;
	unsigned int		max;
	const unsigned int	*nr;
	int			(*publish)(void *chunk);
	void			(*lose)(unsigned int nr);
};

int kpkeys_chunks_grow(const struct kpkeys_chunks *chunks, gfp_t gfp);

/**
 * kpkeys_chunk_claim - take pages for a chunk, in the section that makes them one
 * @chunk: the pages; what stands there was written without the key
 * @nr: how many chunks there are
 * @max: and may be
 * @pkey: what the pages carry
 *
 * What somebody uses, a chunk or anything else, becomes none.
 *
 * Return: 0 or -errno.
 */
static __always_inline int kpkeys_chunk_claim(const void *chunk, unsigned int nr,
					      unsigned int max, int pkey)
{
	if (nr >= max)
		return -ENOSPC;
	if (!kpkeys_has_arrived(chunk, KPKEYS_CHUNK_PAGES))
		return -EPERM;
	if ((unsigned long)chunk % KPKEYS_CHUNK_SIZE ||
	    !kpkeys_use_arrival(chunk, KPKEYS_CHUNK_PAGES, pkey))
		return -EEXIST;
	return 0;
}

/**
 * kpkeys_chunk_enter - give a chunk its number, in the same section
 * @known: the domain's chunks
 * @nr: how many there were when this section began
 * @chunk: the chunk
 *
 * That nobody does it at the same time is not known by a lock in ordinary memory.
 *
 * Return: false if another chunk has that number.
 */
static __always_inline bool kpkeys_chunk_enter(void **known, unsigned int nr, void *chunk)
{
	void *none = NULL;

	return try_cmpxchg(&known[nr], &none, chunk);
}

/**
 * kpkeys_claim_bit - take a bit that is clear, in a section
 * @used: the bits
 * @nr: how many, a multiple of a word
 *
 * No bit search out of line.
 *
 * Return: which, or @nr.
 */
static __always_inline unsigned int kpkeys_claim_bit(unsigned long *used, unsigned int nr)
{
	unsigned int i, bit;
	unsigned long word;

	for (i = 0; i < BITS_TO_LONGS(nr); i++) {
		while ((word = ~READ_ONCE(used[i]))) {
			bit = i * BITS_PER_LONG + __ffs(word);
			if (!test_and_set_bit(bit, used))
				return bit;
		}
	}
	return nr;
}

#endif /* _MM_KPKEYS_CHUNKS_H */
