// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on where an interrupt saves registers: at the stack pointer, whatever that is,
 * and with the gate of what it interrupts. A CPU takes the stack of a system call from
 * ordinary memory. Here it is data of the kernel's image behind the tables of the
 * fixmap. Registers have entries that the section changes.
 */
#include <unistd.h>

#include "attack.h"
#include "changer.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define TABLES		"level1_fixmap_pgt"
#define NR_TABLES	2
#define FIXMAP		0xffffffffff600000UL	/* what the last one maps */
#define LAST_SLOTS	40

static enum outcome look(const uint64_t *before, uint64_t table)
{
	int slot, n = PAGE_SIZE / 8, changed = 0;
	uint64_t value, last = 0;

	for (slot = n - LAST_SLOTS; slot < n; slot++) {
		value = kread64(table + slot * 8);
		if (value == before[slot])
			continue;
		changed++;
		last = value;
		if (value & PTE_PRESENT && can_read((char *)FIXMAP + slot * PAGE_SIZE))
			return won("entry %d of the kernel's fixmap is 0x%lx, and user space reads by it",
				   slot, value);
	}
	if (changed)
		return won("%d entries of the kernel's fixmap were changed, one to 0x%lx", changed, last);
	return lost("no entry of the fixmap was changed, mprotect() %s", changer_came_back() ? "came back" : "did not come back");
}

enum outcome stack_end(void)
{
	uint64_t table = ksymbol(TABLES) + (NR_TABLES - 1) * PAGE_SIZE, before[512];
	const char *missing;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	missing = changer_start();
	if (missing)
		return broken("%s", missing);
	kread(table, before, sizeof(before));
	if (!changer_push(table + PAGE_SIZE))
		return broken("another task runs there");
	return look(before, table);
}
#else
enum outcome stack_end(void)
{
	return skipped("x86-64 only");
}
#endif
