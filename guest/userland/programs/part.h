/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs of the parts share: how they end, and how they look at what the kernel did. */
#ifndef PART_H
#define PART_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096UL
#define HUGE_PAGE	(2UL << 20)
#define STATUS_SKIPPED	77

static inline void __attribute__((noreturn, format(printf, 2, 3)))
end_part(int status, const char *fmt, ...)
{
	int error = errno;
	va_list args;

	fputs(status == STATUS_SKIPPED ? "SKIP " : "FAILED ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	if (status != STATUS_SKIPPED)
		printf(" (errno %d)", error);
	putchar('\n');
	fflush(stdout);
	_exit(status);
}

/* What the kernel or the machine has not: the part is skipped. */
#define need(condition, ...) \
	do { if (!(condition)) end_part(STATUS_SKIPPED, __VA_ARGS__); } while (0)
#define check(condition, ...) \
	do { if (!(condition)) end_part(1, __VA_ARGS__); } while (0)

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* The number that a file begins with, -1 without one. */
static inline long read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

/* The number behind a name in a file of names and numbers, -1 without one. */
static inline long read_field(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	size_t length = strlen(name);
	char line[256];
	long number = -1;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && strchr(" \t:", line[length]))
			number = strtol(line + length + 1, NULL, 10);
	fclose(file);
	return number;
}

static inline long vmstat(const char *name)
{
	return read_field("/proc/vmstat", name);
}

/* Entry of an address in /proc/self/pagemap. */
#define PAGEMAP_PRESENT	(1ULL << 63)
#define PAGEMAP_SWAPPED	(1ULL << 62)
#define PAGEMAP_PFN	((1ULL << 55) - 1)

static inline uint64_t pagemap(const void *address)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (pread(fd, &entry, 8, (uintptr_t)address / PAGE * 8) != 8)
		entry = 0;
	close(fd);
	return entry;
}

/* Memory that begins at a multiple of a huge page. */
static inline char *aligned_memory(size_t size, int flags)
{
	char *memory = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	uintptr_t start = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

	check(memory != MAP_FAILED, "no memory");
	return (char *)start;
}

static inline void *map(size_t size, int flags, int fd)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	check(memory != MAP_FAILED, "mmap of %zu bytes", size);
	return memory;
}

/* Each page gets a number of its own. */
static inline void number_pages(volatile char *memory, size_t size, unsigned int seed)
{
	size_t at;

	for (at = 0; at < size; at += PAGE)
		*(volatile unsigned int *)(memory + at) = seed + at / PAGE;
}

static inline bool pages_numbered(volatile char *memory, size_t size, unsigned int seed)
{
	size_t at;

	for (at = 0; at < size; at += PAGE)
		if (*(volatile unsigned int *)(memory + at) != seed + at / PAGE)
			return false;
	return true;
}

/* Runs in a child, which a check may end; whether it ended well. */
#define in_child(statement) ({						\
	int __status = -1;						\
	pid_t __child;							\
	fflush(stdout);							\
	__child = fork();						\
	if (!__child) {							\
		statement;						\
		_exit(0);						\
	}								\
	waitpid(__child, &__status, 0);					\
	__status;							\
})

/* Two mappings of one memory show what is written by the first one, by a child, too; that is numbered from seed + 1. */
static inline void check_shared(char *one, char *two, size_t size, unsigned int seed)
{
	number_pages(one, size, seed);
	check(pages_numbered(two, size, seed), "a second mapping shows other content");
	check(!in_child(number_pages(one, size, seed + 1)), "child");
	check(pages_numbered(two, size, seed + 1), "the child's writes");
}

#endif
