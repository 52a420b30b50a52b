// SPDX-License-Identifier: GPL-2.0-only
/* Kinds of memory: huge, shared, hugetlb, merged; and who looks at it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

#define THP		"/sys/kernel/mm/transparent_hugepage/"
#define KSM		"/sys/kernel/mm/ksm/"
#define HUGETLB		"/proc/sys/vm/nr_hugepages"
#define HUGE_COUNT	8
#define SHARED_SIZE	(8UL << 20)
#define MERGED_SIZE	(8UL << 20)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

static char *map_aligned(size_t size)
{
	char *memory = map_memory(size + HUGE_SIZE);

	if (!memory)
		return NULL;
	return (char *)(((uintptr_t)memory + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1));
}

static void split_huge_pages(char *memory)
{
	int i;

	for (i = 0; i < HUGE_COUNT; i++) {
		char *huge = memory + i * HUGE_SIZE;

		munmap(huge + 2 * PAGE_SIZE, PAGE_SIZE);
		mprotect(huge + 16 * PAGE_SIZE, PAGE_SIZE, PROT_READ);
		madvise(huge + 64 * PAGE_SIZE, PAGE_SIZE, MADV_DONTNEED);
	}
}

/* In a child, so that each write has to copy. */
static void write_each_huge_page(char *memory)
{
	int i;

	if (fork())
		return;
	for (i = 0; i < HUGE_COUNT; i++)
		memory[i * HUGE_SIZE] = 3;
	_exit(0);
}

enum job_outcome huge_pages(void)
{
	size_t size = HUGE_COUNT * HUGE_SIZE;
	char *memory = map_aligned(size);
	int round;

	if (!memory)
		return failed("no memory");
	file_write(THP "enabled", "madvise");
	for (round = 0; round < 3; round++) {
		madvise(memory, size, MADV_HUGEPAGE);
		touch_pages(memory, size);
		write_each_huge_page(memory);
		split_huge_pages(memory);
		madvise(memory + HUGE_SIZE, HUGE_SIZE, MADV_COLLAPSE);
		madvise(memory + 2 * HUGE_SIZE, HUGE_SIZE, MADV_PAGEOUT);
		munmap(memory, size);
		if (mmap(memory, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return failed("no memory");
	}
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

enum job_outcome hugetlb(void)
{
	char number[16];
	size_t size = HUGE_COUNT * HUGE_SIZE;
	char *memory;

	snprintf(number, sizeof(number), "%d", 2 * HUGE_COUNT);
	if (file_write(HUGETLB, number))
		return skipped("no hugetlb");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (memory == MAP_FAILED) {
		file_write(HUGETLB, "0");
		return skipped("memory too fragmented");
	}
	touch_pages(memory, size);
	write_each_huge_page(memory);
	mprotect(memory, size / 2, PROT_READ);
	munmap(memory, size);
	file_write(HUGETLB, "0");
	return reap_children() ? failed("a child failed") : passed();
}

static long read_number(const char *path)
{
	char text[32];
	long number = 0;

	if (file_read(path, text, sizeof(text)) > 0)
		sscanf(text, "%ld", &number);
	return number;
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
