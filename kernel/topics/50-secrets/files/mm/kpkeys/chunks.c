// SPDX-License-Identifier: GPL-2.0-only
/* Chunks of slots: how a domain gets more of them. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/gfp.h>
#include <linux/mm.h>

#include "chunks.h"
#include "internal.h"

static int publish_all(const struct kpkeys_chunks *chunks, void *addr, unsigned int order)
{
	void *end = addr + (PAGE_SIZE << order);
	int ret = 0;

	if (READ_ONCE(*chunks->nr) + (end - addr) / KPKEYS_CHUNK_SIZE > chunks->max)
		return -ENOSPC;
	for (; addr < end && !ret; addr += KPKEYS_CHUNK_SIZE)
		ret = chunks->publish(addr);
	if (ret == -EEXIST) {
		kpkeys_freelist_error(chunks->what, addr - KPKEYS_CHUNK_SIZE);
		kpkeys_freelist_report();
	}
	return ret;
}

static int search_and_publish(const struct kpkeys_chunks *chunks, void *addr,
			      unsigned int order)
{
	int ret;

	kpkeys_arrivals_begin();
	ret = kpkeys_arrivals_add(addr, 1U << order, chunks->pkey);
	if (!ret) {
		kpkeys_arrivals_search();
		ret = publish_all(chunks, addr, order);
	}
	kpkeys_arrivals_end();
	return ret;
}

static int add(const struct kpkeys_chunks *chunks, void *addr, unsigned int order)
{
	int ret;

	kpkeys_arrivals_expect();
	ret = kpkeys_block_key(addr, order, chunks->pkey);
	if (ret) {
		kpkeys_arrivals_settle();
		return -ENOMEM;
	}
	do {
		ret = kpkeys_flush() ? search_and_publish(chunks, addr, order) : -EBUSY;
	} while (ret == -EAGAIN);
	kpkeys_arrivals_settle();
	/* What is not as it was keyed is not even counted. */
	if (ret && ret != -EEXIST)
		chunks->lose(1U << order);
	return ret;
}

/**
 * kpkeys_chunks_grow - have more slots
 * @chunks: whose; its lock for growing is held
 * @gfp: how memory may be found
 *
 * Where keying a chunk would split a mapping, take all that it spans.
 *
 * Return: 0 or -errno.
 */
int kpkeys_chunks_grow(const struct kpkeys_chunks *chunks, gfp_t gfp)
{
	void *chunk, *block = NULL;

	/* A hint, so that nothing is keyed in vain; publishing decides. */
	if (READ_ONCE(*chunks->nr) == chunks->max)
		return -ENOSPC;
	gfp &= ~__GFP_ZERO;
	chunk = kpkeys_block_alloc(NUMA_NO_NODE, gfp, KPKEYS_CHUNK_ORDER);
	if (!chunk)
		return -ENOMEM;
	if (arch_kpkeys_mapping_size((unsigned long)chunk) > KPKEYS_CHUNK_SIZE &&
	    READ_ONCE(*chunks->nr) + (PAGE_SIZE << KPKEYS_REGION_ORDER) / KPKEYS_CHUNK_SIZE <=
	    chunks->max)
		block = kpkeys_block_alloc(NUMA_NO_NODE,
					   gfp | __GFP_NOWARN | __GFP_NORETRY,
					   KPKEYS_REGION_ORDER);
	if (!block)
		return add(chunks, chunk, KPKEYS_CHUNK_ORDER);
	free_pages_exact(chunk, KPKEYS_CHUNK_SIZE);
	return add(chunks, block, KPKEYS_REGION_ORDER);
}
