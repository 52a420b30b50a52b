// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "folios.h"
#include "load.h"

#define PAGEMAP_PRESENT	(1ULL << 63)
#define PAGEMAP_PFN	((1ULL << 55) - 1)
#define KPF_HEAD	(1ULL << 15)
#define KPF_TAIL	(1ULL << 16)
#define KPF_THP		(1ULL << 22)
#define PER_HUGE	(LOAD_HUGE / LOAD_PAGE)
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage/"

char *folios_reserve(size_t size)
{
	char *memory = mmap(NULL, size + LOAD_HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t skip = -(unsigned long)memory % LOAD_HUGE;

	if (memory == MAP_FAILED) {
		load_failed("no memory");
		return NULL;
	}
	munmap(memory, skip);
	munmap(memory + skip + size, LOAD_HUGE - skip);
	return memory + skip;
}

long folios_huge_kib(const char *memory, size_t size)
{
	unsigned long start, end, first = (unsigned long)memory;
	char line[256];
	bool inside = false;
	long kib, sum = 0;
	FILE *file = fopen("/proc/self/smaps", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start < first + size && end > first;
		else if (inside && sscanf(line, "AnonHugePages: %ld kB", &kib) == 1)
			sum += kib;
	}
	if (file)
		fclose(file);
	return file ? sum : -1;
}

static bool read_pfns(const char *memory, uint64_t *pfn)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	ssize_t got = pread(fd, pfn, PER_HUGE * sizeof(*pfn),
			    (unsigned long)memory / LOAD_PAGE * sizeof(*pfn));
	size_t i;

	close(fd);
	for (i = 0; i < PER_HUGE; i++) {
		if (got != (ssize_t)(PER_HUGE * sizeof(*pfn)) || !(pfn[i] & PAGEMAP_PRESENT))
			return false;
		pfn[i] &= PAGEMAP_PFN;
	}
	return pfn[0];
}

static uint64_t page_flags(int fd, uint64_t pfn)
{
	uint64_t flags = 0;

	if (pread(fd, &flags, sizeof(flags), pfn * sizeof(flags)) != sizeof(flags))
		return 0;
	return flags & (KPF_HEAD | KPF_TAIL | KPF_THP);
}

static bool is_one_folio(int fd, const uint64_t *pfn)
{
	size_t i;

	if (page_flags(fd, pfn[0]) != (KPF_HEAD | KPF_THP))
		return false;
	for (i = 1; i < PER_HUGE; i++)
		if (pfn[i] != pfn[0] + i || page_flags(fd, pfn[i]) != (KPF_TAIL | KPF_THP))
			return false;
	return true;
}

static bool are_single_pages(int fd, const uint64_t *pfn)
{
	size_t i;

	for (i = 0; i < PER_HUGE; i++)
		if (page_flags(fd, pfn[i]))
			return false;
	return true;
}

static bool folios_are(const char *memory, size_t size, bool huge)
{
	int fd = open("/proc/kpageflags", O_RDONLY);
	uint64_t pfn[PER_HUGE];
	bool good = fd >= 0;
	size_t at;

	for (at = 0; good && at < size; at += LOAD_HUGE)
		good = read_pfns(memory + at, pfn) &&
		       (huge ? is_one_folio(fd, pfn) : are_single_pages(fd, pfn));
	close(fd);
	return good;
}

static void touch(char *memory, size_t size)
{
	size_t at;

	for (at = 0; at < size; at += LOAD_PAGE)
		((volatile char *)memory)[at] = 1;
}

/*
 * A mapping that ends inside a huge page has its PMD split, the folio stays as
 * it is; then the two parts become one mapping again. No entry changes.
 */
static void map_by_ptes(char *memory, size_t size)
{
	size_t at;

	for (at = 0; at < size; at += LOAD_HUGE) {
		madvise(memory + at, LOAD_PAGE, MADV_DONTDUMP);
		madvise(memory + at, LOAD_PAGE, MADV_DODUMP);
	}
}

/* Nobody is to put together what is taken apart here. */
static void touch_huge(char *memory, size_t size)
{
	file_write(THP_DIR "enabled", "madvise");
	madvise(memory, size, MADV_HUGEPAGE);
	touch(memory, size);
	file_write(THP_DIR "enabled", "never");
}

static bool prepare_huge(char *memory, size_t size)
{
	long kib;

	touch_huge(memory, size);
	kib = folios_huge_kib(memory, size);
	if (kib != (long)(size >> 10)) {
		load_failed("%ld KiB of %zu are huge pages", kib, size >> 10);
		return false;
	}
	map_by_ptes(memory, size);
	return true;
}

static bool prepare_small(char *memory, size_t size)
{
	madvise(memory, size, MADV_NOHUGEPAGE);
	touch(memory, size);
	return true;
}

static bool prepare(char *memory, size_t size, bool huge)
{
	if (!(huge ? prepare_huge : prepare_small)(memory, size))
		return false;
	if (folios_huge_kib(memory, size)) {
		load_failed("%ld KiB are not mapped by PTEs", folios_huge_kib(memory, size));
		return false;
	}
	if (!folios_are(memory, size, huge)) {
		load_failed("folios are not of %s", huge ? "2 MiB" : "one page");
		return false;
	}
	return true;
}

char *folios_map(size_t size, bool huge)
{
	char *memory = folios_reserve(size);

	if (!memory)
		return NULL;
	if (prepare(memory, size, huge))
		return memory;
	munmap(memory, size);
	return NULL;
}
