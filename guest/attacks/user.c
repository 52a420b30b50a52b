// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on the page tables of the attacker's own address space. */
#include <stddef.h>

#include "attack.h"
#include "files.h"
#include "list.h"

/* The store has no fixup here: a refused one is an oops, as with a real bug. */
enum outcome user_pte(void)
{
	static const struct store how = { .oops = true };

	return steal_secret(&how);
}

static enum outcome user_leaf(int level)
{
	uint64_t phys = text_phys();
	struct window window;
	enum outcome outcome;
	int err;

	if (!window_open(&window, level))
		return broken("no empty page-table entry to forge");
	err = window_map(&window, plain_store, NULL, phys);
	if (err)
		outcome = lost("the huge leaf was refused: %d", err);
	else
		outcome = patch_text_in_user_mapping(window.page + phys % window.size);
	window_close(&window);
	return outcome;
}

enum outcome user_pmd_leaf(void)
{
	return user_leaf(LEVEL_PMD);
}

enum outcome user_pud_leaf(void)
{
#ifdef __x86_64__
	if (!cpu_has("pdpe1gb"))
		return skipped("the CPU has no 1 GiB pages");
#else
	if (page_size() != 4096)
		return skipped("with this page size the CPU has no blocks of this level");
#endif
	return user_leaf(LEVEL_PUD);
}
