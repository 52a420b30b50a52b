// SPDX-License-Identifier: GPL-2.0-only
/* Zero pages, small and huge, and the special entries of the vDSO and its data. */
#include <dlfcn.h>
#include <sys/auxv.h>
#include <time.h>

#include "part.h"

#define SMALL	(64 * PAGE)
#ifdef __x86_64__
#define READ_CLOCK	"__vdso_clock_gettime"
#else
#define READ_CLOCK	"__kernel_clock_gettime"
#endif

static void zero_pages(void)
{
	volatile char *memory = map(SMALL, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	volatile char *file = map(SMALL, MAP_PRIVATE, open("/dev/zero", O_RDWR));
	size_t at;

	for (at = 0; at < SMALL; at += PAGE)
		check(!memory[at] && !file[at], "zero page is not zero");
	check((pagemap((char *)memory) & PAGEMAP_PFN) == (pagemap((char *)file + PAGE) & PAGEMAP_PFN),
	      "two zero entries differ");
	check(!in_child(number_pages(memory, SMALL, 7); check(pages_numbered(memory, SMALL, 7), "lost")), "child");
	for (at = 0; at < SMALL; at += PAGE)
		check(!memory[at], "the child's write is here");
	number_pages(memory, SMALL, 9);
	check(pages_numbered(memory, SMALL, 9) && !file[0], "write behind a zero entry");
	check((pagemap((char *)memory) & PAGEMAP_PFN) != (pagemap((char *)file) & PAGEMAP_PFN), "still the zero page");
}

static void huge_zero_page(void)
{
	char *first = aligned_memory(HUGE_PAGE, MAP_PRIVATE), *second = aligned_memory(HUGE_PAGE, MAP_PRIVATE);

	madvise(first, HUGE_PAGE, MADV_HUGEPAGE);
	madvise(second, HUGE_PAGE, MADV_HUGEPAGE);
	check(!*(volatile char *)first && !*(volatile char *)second, "huge zero page is not zero");
	check((pagemap(first) & PAGEMAP_PFN) == (pagemap(second) & PAGEMAP_PFN), "two huge zero entries differ");
	check((pagemap(first + PAGE) & PAGEMAP_PFN) == (pagemap(first) & PAGEMAP_PFN) + 1, "it is not huge");
	mprotect(first + PAGE, PAGE, PROT_READ);	/* splits it */
	first[0] = 1;
	check(first[0] == 1 && !first[2 * PAGE] && !second[0], "write into a split huge zero page");
	madvise(first, HUGE_PAGE, MADV_DONTNEED);
	check(!first[0], "dropped memory came back");
}

struct area {
	uintptr_t start, end;
};

/* The mapping of a name: the parts of the vDSO's data lie side by side before its code. */
static struct area vdso_with_data(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct area found = {}, area;
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vvar") && !strstr(line, "[vdso]"))
			continue;
		sscanf(line, "%lx-%lx", &area.start, &area.end);
		found.start = found.start ? found.start : area.start;
		found.end = area.end;
	}
	fclose(maps);
	return found;
}

typedef int (*clock_reader)(clockid_t, struct timespec *);

/* What checkpoint and restore does: the vDSO works wherever it is, and its entries are zapped and made anew. */
static void moved_vdso(void)
{
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct area area = vdso_with_data();
	struct timespec before, after;
	clock_reader read_clock;
	char *target, line[512];
	FILE *maps;
	long delta;

	check(library && area.start, "no vDSO");
	read_clock = (clock_reader)dlsym(library, READ_CLOCK);
	check(read_clock && !read_clock(CLOCK_MONOTONIC_COARSE, &before), "vDSO before the move");
	target = map(area.end - area.start, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	delta = (uintptr_t)target - area.start;
	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) {
		struct area one;

		if (!strstr(line, "[vvar") && !strstr(line, "[vdso]"))
			continue;
		sscanf(line, "%lx-%lx", &one.start, &one.end);
		check(syscall(SYS_mremap, one.start, one.end - one.start, one.end - one.start,
			      MREMAP_MAYMOVE | MREMAP_FIXED, one.start + delta) >= 0, "mremap of %s", line);
	}
	read_clock = (clock_reader)((uintptr_t)read_clock + delta);
	check(!read_clock(CLOCK_MONOTONIC_COARSE, &after), "vDSO after the move");
	check(after.tv_sec >= before.tv_sec && after.tv_sec < before.tv_sec + 60, "its clock is another one");
}

int main(void)
{
	zero_pages();
	huge_zero_page();
	check(!in_child(moved_vdso()), "the vDSO does not bear to be moved");
	puts("zero pages and the vDSO");
	return 0;
}
