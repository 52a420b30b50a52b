// SPDX-License-Identifier: GPL-2.0-only
/* Entries of swapped pages that are forked, moved, protected, dropped, and read back. There is swap space. */
#include "part.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#define SIZE	(16UL << 20)

static unsigned long swapped(char *memory)
{
	unsigned long found = 0;
	size_t at;

	for (at = 0; at < SIZE; at += PAGE)
		found += !!(pagemap(memory + at) & PAGEMAP_SWAPPED);
	return found;
}

static void page_out(char *memory, const char *what)
{
	int i;

	for (i = 0; i < 20 && swapped(memory) < SIZE / PAGE * 9 / 10; i++)
		madvise(memory, SIZE, MADV_PAGEOUT);
	check(swapped(memory) >= SIZE / PAGE * 9 / 10, "%s: %lu of %lu entries are swapped", what, swapped(memory),
	      SIZE / PAGE);
	printf("%s: %lu entries of swapped pages\n", what, swapped(memory));
}

static void one_kind(char *memory, const char *what)
{
	long out = vmstat("pswpout"), in = vmstat("pswpin");

	number_pages(memory, SIZE, 1);
	page_out(memory, what);
	/* The child has copies of the entries. */
	check(!in_child(check(swapped(memory), "none left"); check(pages_numbered(memory, SIZE, 1), "content");
			number_pages(memory, SIZE, 2)), "%s: child", what);
	check(pages_numbered(memory, SIZE, 1), "%s: content", what);
	page_out(memory, what);
	memory = mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, aligned_memory(SIZE, MAP_PRIVATE));
	check(memory != MAP_FAILED && swapped(memory), "%s: mremap", what);
	mprotect(memory, SIZE, PROT_READ);
	check(pages_numbered(memory, SIZE, 1), "%s: content after mremap and mprotect", what);
	mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
	page_out(memory, what);
	madvise(memory, SIZE / 2, MADV_DONTNEED);
	check(!memory[0] && pages_numbered(memory + SIZE / 2, SIZE / 2, 1 + SIZE / 2 / PAGE), "%s: half dropped", what);
	check(vmstat("pswpout") > out && vmstat("pswpin") > in, "%s: nothing was written or read", what);
	printf("%s: pswpout +%ld, pswpin +%ld\n", what, vmstat("pswpout") - out, vmstat("pswpin") - in);
}

int main(void)
{
	char *memory = aligned_memory(SIZE, MAP_PRIVATE);

	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	one_kind(memory, "small pages");
	memory = aligned_memory(SIZE, MAP_PRIVATE);
	madvise(memory, SIZE, MADV_HUGEPAGE);
	one_kind(memory, "huge pages");
	return 0;
}
