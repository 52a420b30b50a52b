// SPDX-License-Identifier: GPL-2.0-only
/* Kinds of memory: huge, shared, hugetlb, merged; and who looks at it. */
#include <fcntl.h>
#include <linux/mman.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

#define THP		"/sys/kernel/mm/transparent_hugepage/"
#define KSM		"/sys/kernel/mm/ksm/"
#define HUGETLB		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
#define HUGE_COUNT	8
#define GIB		(1UL << 30)	/* what a table of PMDs maps */
#define LARGEST_TABLE	(32UL << 20)	/* larger ones take too much memory */
#define SHARED_SIZE	(8UL << 20)
#define MERGED_SIZE	(8UL << 20)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* Several huge pages: how large, and what they take together. */
struct huge {
	size_t size, all;
};

static char *map_aligned(const struct huge *huge)
{
	char *memory = map_memory(huge->all + huge->size);

	if (!memory)
		return NULL;
	return (char *)(((uintptr_t)memory + huge->size - 1) & ~(huge->size - 1));
}

static void split_huge_pages(char *memory, const struct huge *huge)
{
	char *at, *end = memory + huge->all;

	for (at = memory; at < end; at += huge->size) {
		munmap(at + huge->size / 16, PAGE_SIZE);
		mprotect(at + huge->size / 8, PAGE_SIZE, PROT_READ);
		madvise(at + huge->size / 4, PAGE_SIZE, MADV_DONTNEED);
	}
}

/* In a child, so that each write has to copy. */
static void write_each_huge_page(char *memory, const struct huge *huge)
{
	size_t at;

	if (fork())
		return;
	for (at = 0; at < huge->all; at += huge->size)
		memory[at] = 3;
	_exit(0);
}

static bool use_huge_pages(char *memory, const struct huge *huge)
{
	madvise(memory, huge->all, MADV_HUGEPAGE);
	touch_pages(memory, huge->all);
	write_each_huge_page(memory, huge);
	split_huge_pages(memory, huge);
	madvise(memory + huge->size, huge->size, MADV_COLLAPSE);
	madvise(memory + 2 * huge->size, huge->size, MADV_PAGEOUT);
	munmap(memory, huge->all);
	return mmap(memory, huge->all, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool churn_huge_pages(size_t size, int count)
{
	struct huge huge = { .size = size, .all = count * size };
	char *memory = map_aligned(&huge);
	int round;

	for (round = 0; memory && round < 3; round++)
		if (!use_huge_pages(memory, &huge))
			return false;
	if (memory)
		munmap(memory, huge.all);
	return memory;
}

/* Where one entry maps more than 2 MiB, huge pages of that size are ranges. */
enum job_outcome huge_pages(void)
{
	file_write(THP "enabled", "madvise");
	file_write(THP "hugepages-2048kB/enabled", "madvise");
	if (!churn_huge_pages(HUGE_SIZE, HUGE_COUNT))
		return failed("no memory");
	if (PMD_SIZE != HUGE_SIZE && PMD_SIZE <= LARGEST_TABLE && !churn_huge_pages(PMD_SIZE, 3))
		return failed("no memory");
	return reap_children() ? failed("a child failed") : passed();
}

enum job_outcome shared_file(void)
{
	int fd = open("/tmp/shared", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *writer, *reader;
	int bad;

	if (fd < 0 || ftruncate(fd, SHARED_SIZE))
		return failed("no file");
	writer = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	touch_pages(writer, SHARED_SIZE);
	reader = mmap(NULL, SHARED_SIZE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (!fork()) {
		touch_pages(writer, SHARED_SIZE);
		_exit(reader[PAGE_SIZE] != 1);
	}
	bad = reap_children();
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SHARED_SIZE / 4);
	bad += reader[0] != 0;
	bad += ftruncate(fd, SHARED_SIZE / 2);
	msync(writer, SHARED_SIZE / 2, MS_SYNC);
	munmap(writer, SHARED_SIZE);
	munmap(reader, SHARED_SIZE);
	close(fd);
	unlink("/tmp/shared");
	return bad ? failed("the mappings disagree") : passed();
}

static long read_number(const char *path)
{
	char text[32];
	long number = 0;

	if (file_read(path, text, sizeof(text)) > 0)
		sscanf(text, "%ld", &number);
	return number;
}

/* Two processes map a whole gigabyte of a file: the kernel may share its table. */
static int share_table(void)
{
	char *memory = mmap(NULL, 2 * GIB, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE |
			    MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
	char *whole = (char *)(((uintptr_t)memory + GIB - 1) & ~(GIB - 1));
	int bad;

	if (memory == MAP_FAILED)
		return 1;
	*whole = 1;
	if (!fork())
		_exit(++*whole != 2);
	bad = reap_children() + (*whole != 2);
	munmap(memory, 2 * GIB);
	return bad;
}

/* The child takes as many again, which nobody reserved for it. */
enum job_outcome hugetlb(void)
{
	struct huge huge = { .size = HUGE_SIZE, .all = HUGE_COUNT * HUGE_SIZE };
	char number[16];
	char *memory = MAP_FAILED;
	int bad;

	snprintf(number, sizeof(number), "%d", 2 * HUGE_COUNT);
	if (file_write(HUGETLB, number))
		return skipped("no hugetlb");
	if (read_number(HUGETLB) >= 2 * HUGE_COUNT)
		memory = mmap(NULL, huge.all, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
	if (memory == MAP_FAILED) {
		file_write(HUGETLB, "0");
		return skipped("memory too fragmented");
	}
	touch_pages(memory, huge.all);
	write_each_huge_page(memory, &huge);
	mprotect(memory, huge.all / 2, PROT_READ);
	munmap(memory, huge.all);
	bad = reap_children();
	bad += share_table();
	file_write(HUGETLB, "0");
	return bad ? failed("a child failed") : passed();
}

enum job_outcome same_page_merging(void)
{
	double start = now();
	char *memory = map_memory(MERGED_SIZE);
	long merged = 0;

	if (file_write(KSM "run", "1"))
		return skipped("no KSM");
	file_write(KSM "sleep_millisecs", "1");
	file_write(KSM "pages_to_scan", "2000");
	memset(memory, 7, MERGED_SIZE);
	madvise(memory, MERGED_SIZE, MADV_MERGEABLE);
	while (!merged && now() - start < 5) {
		usleep(20000);
		merged = read_number(KSM "pages_sharing");
	}
	touch_pages(memory, MERGED_SIZE / 2);
	file_write(KSM "run", "2");
	file_write(KSM "run", "0");
	return merged ? passed() : failed("nothing was merged");
}

enum job_outcome soft_dirty(void)
{
	size_t size = 4 << 20, pages = size / PAGE_SIZE;
	unsigned char present[pages];
	char *memory = map_memory(size);
	int round, fd;
	uint64_t entry;

	touch_pages(memory, size);
	fd = open("/proc/self/pagemap", O_RDONLY);
	for (round = 0; round < 3; round++) {
		if (mincore(memory, size, present) || !(present[0] & 1))
			return failed("mincore() says the pages are gone");
		file_write("/proc/self/clear_refs", "1");
		file_write("/proc/self/clear_refs", "4");
		if (pread(fd, &entry, sizeof(entry),
			  (uintptr_t)memory / PAGE_SIZE * sizeof(entry)) != sizeof(entry) ||
		    !(entry >> 63))
			return failed("pagemap says the page is gone");
		touch_pages(memory, size);
	}
	close(fd);
	return passed();
}
