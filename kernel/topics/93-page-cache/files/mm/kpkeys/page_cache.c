// SPDX-License-Identifier: GPL-2.0-only
/*
 * A study: cached pages of programs in keyed memory.
 *
 * A file that is set-user-ID or executable is sealed while nobody has it open to
 * write. Its pages are read into ordinary memory as ever, and each is copied to a
 * page of the pool before it is mapped, read or spliced. Whoever opens the file to
 * write, or truncates it, has its pages copied back first.
 *
 * What is sealed, and which page the cache has where, ordinary memory says: who
 * can store wherever he likes turns that. See docs/page-cache.md.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/backing-dev.h>
#include <linux/dax.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kpkeys_page_cache.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/pagevec.h>
#include <linux/printk.h>
#include <linux/shmem_fs.h>

#include "internal.h"
#include "tables.h"

#define CACHED	KPKEYS_FRAME_BYTE_CACHED

static bool wanted __ro_after_init = true;

static int __init page_cache_setup(char *arg)
{
	if (!arg || kstrtobool(arg, &wanted))
		pr_warn("kpkeys_page_cache=%s: not on or off; on\n", arg ?: "");
	return 0;
}
early_param("kpkeys_page_cache", page_cache_setup);

/* Sealed now, and ever. */
static atomic_t nr_sealed, nr_copied;

/* ---- pages ---- */

static noinline __flatten bool fill_sealed(void *to, const void *from)
{
	u64 *word = to;
	unsigned int i;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(to);
	kpkeys_reread(from);
	if (!kpkeys_change_frame_now(page_pfn(to), TAKEN, CACHED))
		return false;
	for (i = 0; i < PAGE_SIZE / sizeof(u64); i++)
		WRITE_ONCE(word[i], READ_ONCE(((const u64 *)from)[i]));
	return true;
}

static noinline __flatten bool empty_sealed(void *page)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(page);
	return kpkeys_change_frame_now(page_pfn(page), CACHED, TAKEN);
}

/* Locked, up to date and nobody's. Not by GFP_KERNEL: file systems hold folios locked. */
static struct folio *new_sealed(struct folio *from)
{
	struct page *page = kpkeys_ptp_alloc(GFP_NOFS, 0, folio_nid(from));
	struct folio *folio;

	if (!page)
		return NULL;
	if (!fill_sealed(page_address(page), folio_address(from))) {
		kpkeys_ptp_free(page, 0);
		return NULL;
	}
	atomic_inc(&nr_sealed);
	atomic_inc(&nr_copied);
	folio = page_folio(page);
	__folio_set_locked(folio);
	__folio_mark_uptodate(folio);
	return folio;
}

static struct folio *new_ordinary(struct folio *from)
{
	struct folio *folio = folio_alloc(GFP_NOFS | __GFP_NOFAIL, 0);

	folio_copy(folio, from);
	__folio_set_locked(folio);
	__folio_mark_uptodate(folio);
	return folio;
}

/**
 * kpkeys_sealed_page_free - the pool takes a cached page back
 * @page: that the page allocator was given
 */
void kpkeys_sealed_page_free(struct page *page)
{
	page->flags &= ~PAGE_FLAGS_CHECK_AT_PREP;
	page->mapping = NULL;
	set_page_count(page, 1);
	if (!empty_sealed(page_address(page)))
		return;
	atomic_dec(&nr_sealed);
	kpkeys_ptp_free(page, 0);
}

/* ---- folios; both are locked, and with a reference to each ---- */

/* What a RAM file system has is dirty for good. */
static void replace_folio(struct folio *old, struct folio *new)
{
	unmap_mapping_pages(old->mapping, old->index, 1, false);
	if (folio_test_dirty(old))
		folio_set_dirty(new);
	replace_page_cache_folio(old, new);
	folio_add_lru(new);
	folio_unlock(old);
	folio_put(old);
}

/* What is still to be written is not a program yet, nor what its file system holds on to. */
static bool can_be_sealed(struct folio *folio)
{
	if (!folio_test_uptodate(folio) || folio_test_writeback(folio) ||
	    (folio_test_dirty(folio) && mapping_can_writeback(folio->mapping)))
		return false;
	return filemap_release_folio(folio, GFP_NOFS);
}

/**
 * kpkeys_seal_folio - copy a cached folio to keyed memory, if it is due
 * @folio: locked, with a reference
 *
 * Return: what the cache has in its place, locked, with a reference; or @folio.
 */
struct folio *kpkeys_seal_folio(struct folio *folio)
{
	struct folio *new;

	if (!kpkeys_folio_is_due(folio, folio->mapping) || !can_be_sealed(folio))
		return folio;
	new = new_sealed(folio);
	if (!new)
		return folio;
	replace_folio(folio, new);
	return new;
}

/**
 * kpkeys_seal_batch - the same for those that a read found
 * @mapping: whose they are
 * @batch: not locked, with a reference to each
 */
void kpkeys_seal_batch(struct address_space *mapping, struct folio_batch *batch)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(batch); i++) {
		struct folio *folio = batch->folios[i];

		if (!kpkeys_folio_is_due(folio, mapping))
			continue;
		folio_lock(folio);
		if (folio->mapping == mapping)
			folio = kpkeys_seal_folio(folio);
		batch->folios[i] = folio;
		folio_unlock(folio);
	}
}

/* ---- files ---- */

static void unseal_folio(struct address_space *mapping, struct folio *folio)
{
	struct folio *new;

	folio_lock(folio);
	if (folio->mapping == mapping && kpkeys_page_is_sealed(&folio->page)) {
		new = new_ordinary(folio);
		folio_get(folio);
		replace_folio(folio, new);
		folio_unlock(new);
		folio_put(new);
		return;
	}
	folio_unlock(folio);
}

/**
 * kpkeys_unseal_mapping - cached pages of a file may be written
 * @mapping: the file's
 *
 * Each folio is locked: who seals one looks at the mapping with the lock held.
 */
void kpkeys_unseal_mapping(struct address_space *mapping)
{
	struct folio_batch batch;
	pgoff_t index = 0;
	unsigned int i;

	if (!test_and_clear_bit(KPKEYS_AS_SEALED, &mapping->flags))
		return;
	folio_batch_init(&batch);
	while (filemap_get_folios(mapping, &index, ULONG_MAX, &batch)) {
		for (i = 0; i < folio_batch_count(&batch); i++)
			unseal_folio(mapping, batch.folios[i]);
		folio_batch_release(&batch);
		cond_resched();
	}
}

/* Pages that no fault of the page cache's gives are not sealed, nor those of devices. */
static bool is_program(struct address_space *mapping)
{
	umode_t mode = mapping->host->i_mode;

	return S_ISREG(mode) && mode & (S_ISUID | S_ISGID | 0111) &&
	       !shmem_mapping(mapping) && !dax_mapping(mapping);
}

static void seal_mapping(struct address_space *mapping)
{
	if (kpkeys_mapping_is_sealed(mapping))
		return;
	set_bit(KPKEYS_AS_SEALED, &mapping->flags);
	/* Who opens it to write says so first, and then looks whether it is sealed. */
	smp_mb__after_atomic();
	if (inode_is_open_for_write(mapping->host))
		kpkeys_unseal_mapping(mapping);
}

/**
 * kpkeys_file_opened - somebody has opened a file
 * @file: which
 */
void kpkeys_file_opened(const struct file *file)
{
	struct address_space *mapping = file->f_mapping;

	if (!wanted || !kpkeys_pgtables_enabled() || !mapping->host)
		return;
	if (file->f_mode & FMODE_WRITE)
		kpkeys_unseal_mapping(mapping);
	else if (is_program(mapping) && !inode_is_open_for_write(mapping->host))
		seal_mapping(mapping);
}

static int __init report_page_cache(void)
{
	struct dentry *dir = debugfs_create_dir("kpkeys_page_cache", NULL);

	if (wanted && kpkeys_pgtables_enabled())
		pr_notice("cached pages of programs are sealed\n");
	debugfs_create_atomic_t("sealed", 0444, dir, &nr_sealed);
	debugfs_create_atomic_t("copied", 0444, dir, &nr_copied);
	return 0;
}
late_initcall(report_page_cache);
