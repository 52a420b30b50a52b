// SPDX-License-Identifier: GPL-2.0-only
/* hugetlb: argument 1 is the size of a page in KiB, 2 how many. Their struct pages are freed where the kernel can. */
#include <sys/utsname.h>

#include "part.h"

static char path[128];
static size_t page_size, size;

/* Pages with struct pages in them. */
static long memmap_pages(void)
{
	return vmstat("nr_memmap_pages") + vmstat("nr_memmap_boot_pages");
}

static long set_pages(long count)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", count);
	check(write_file(path, text), "%s", path);
	return read_number(path);
}

static char *map_pages(int flags)
{
	int shift = __builtin_ctzl(page_size);

	return map(size, flags | MAP_ANONYMOUS | MAP_HUGETLB | shift << MAP_HUGE_SHIFT, -1);
}

static void fill(char *memory, unsigned int seed)
{
	size_t at;

	for (at = 0; at < size; at += page_size / 4)
		number_pages(memory + at, 4 * PAGE, seed);
}

static bool filled(char *memory, unsigned int seed)
{
	size_t at;

	for (at = 0; at < size; at += page_size / 4)
		if (!pages_numbered(memory + at, 4 * PAGE, seed))
			return false;
	return true;
}

static void use(int flags)
{
	char *memory = map_pages(flags);

	fill(memory, 5);
	check(filled(memory, 5), "content");
	if (flags & MAP_SHARED) {
		check(!in_child(fill(memory, 6)), "child");
		check(filled(memory, 6), "the child's writes");
	}
	check(!mprotect(memory, page_size, PROT_READ), "mprotect");
	check(!madvise(memory, page_size, MADV_DONTNEED) || (flags & MAP_SHARED), "dropped");
	munmap(memory, size);
}

/* Each write in the child needs a page of its own. */
static void copy_on_write(void)
{
	char *memory = map_pages(MAP_PRIVATE);

	fill(memory, 7);
	check(!in_child(fill(memory, 8); check(filled(memory, 8), "child's content")), "child");
	check(filled(memory, 7), "the child's write is here");
	munmap(memory, size);
}

/* Linux 6.12.117 itself, with kpkeys=off as well, does not reset struct pages that it gives back. */
static bool gives_back_wrong(void)
{
	struct utsname name;

	return !uname(&name) && !strncmp(name.release, "6.12.117", 8);
}

static void expect_freed(long struct_pages, bool kept)
{
	long now = memmap_pages();

	if (kept)
		check(now == struct_pages, "struct pages were freed: %ld, %ld", struct_pages, now);
	else
		check(now < struct_pages, "no struct page was freed: %ld, %ld", struct_pages, now);
	printf("%ld pages of struct pages freed\n", struct_pages - now);
}

int main(int argc, char **argv)
{
	bool kept = gives_back_wrong();
	long kib = argc > 2 ? atol(argv[1]) : 2048, count = argc > 2 ? atol(argv[2]) : 64, had, struct_pages, i;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%ldkB/nr_hugepages", kib);
	page_size = kib << 10;
	size = count * page_size;
	need(!access(path, F_OK), "no hugetlb pages of %ld KiB", kib);
	need(write_file("/proc/sys/vm/hugetlb_optimize_vmemmap", kept ? "0" : "1") || kept, "struct pages cannot be freed");
	struct_pages = memmap_pages();
	had = set_pages(2 * count);
	if (had < 2 * count) {
		set_pages(0);
		need(false, "%ld of %ld pages of %ld KiB to be had", had, 2 * count, kib);
	}
	expect_freed(struct_pages, kept);
	use(MAP_PRIVATE);
	use(MAP_SHARED);
	copy_on_write();
	for (i = 0; i < 4; i++) {
		check(set_pages(count) == count, "freed");
		check(set_pages(2 * count) == 2 * count || kib > 2048, "taken again");
	}
	check(set_pages(0) == 0, "freed at last");
	check(memmap_pages() == struct_pages, "struct pages did not come back: %ld, %ld", struct_pages, memmap_pages());
	return 0;
}
