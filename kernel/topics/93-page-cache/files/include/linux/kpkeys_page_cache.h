/* SPDX-License-Identifier: GPL-2.0-only */
/* Cached pages of programs in keyed memory: a study, see docs/page-cache.md. */
#ifndef _LINUX_KPKEYS_PAGE_CACHE_H
#define _LINUX_KPKEYS_PAGE_CACHE_H

#include <linux/kpkeys_frames.h>
#include <linux/pagemap.h>

struct folio_batch;

#ifdef CONFIG_KPKEYS_STUDY_PAGE_CACHE

/* A bit of mapping->flags that nobody uses: the file is a program that nobody writes. */
#define KPKEYS_AS_SEALED	15

/**
 * kpkeys_page_is_sealed - is this a cached page in keyed memory?
 * @page: any page
 */
static inline bool kpkeys_page_is_sealed(const struct page *page)
{
	return kpkeys_frame(page_to_pfn(page)) == KPKEYS_FRAME_CACHED;
}

static inline bool kpkeys_mapping_is_sealed(const struct address_space *mapping)
{
	return test_bit(KPKEYS_AS_SEALED, &mapping->flags);
}

/**
 * kpkeys_folio_is_due - must a cached folio be sealed before anybody is given it?
 * @folio: in the page cache, with a reference
 * @mapping: its file's
 */
static inline bool kpkeys_folio_is_due(struct folio *folio,
				       const struct address_space *mapping)
{
	return kpkeys_mapping_is_sealed(mapping) && !folio_test_large(folio) &&
	       !kpkeys_page_is_sealed(&folio->page);
}

void kpkeys_file_opened(const struct file *file);
void kpkeys_unseal_mapping(struct address_space *mapping);
struct folio *kpkeys_seal_folio(struct folio *folio);
void kpkeys_seal_batch(struct address_space *mapping, struct folio_batch *batch);
void kpkeys_sealed_page_free(struct page *page);

#else

static inline bool kpkeys_page_is_sealed(const struct page *page) { return false; }

static inline bool kpkeys_mapping_is_sealed(const struct address_space *mapping)
{
	return false;
}

static inline bool kpkeys_folio_is_due(struct folio *folio,
				       const struct address_space *mapping)
{
	return false;
}

static inline void kpkeys_file_opened(const struct file *file) { }
static inline void kpkeys_unseal_mapping(struct address_space *mapping) { }
static inline struct folio *kpkeys_seal_folio(struct folio *folio) { return folio; }
static inline void kpkeys_seal_batch(struct address_space *mapping,
				     struct folio_batch *batch) { }
static inline void kpkeys_sealed_page_free(struct page *page) { }

#endif

#endif /* _LINUX_KPKEYS_PAGE_CACHE_H */
