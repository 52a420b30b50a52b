// SPDX-License-Identifier: GPL-2.0-only
/* fork() of what is not just a present page: swapped out, or pinned. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

#define RAM_DISK	"/dev/ram0"
#define GUP_TEST	"/sys/kernel/debug/gup_test"
#define PAGES		64
#define AREA		(PAGES * PAGE_SIZE)
#define SWAP_PAGES	512
#define SWAP_HEADER	1024	/* version, last page */
#define SWAP_MAGIC	"SWAPSPACE2"
#define MAGIC_SIZE	10	/* at the end of the first page */
#define ENTRY_SWAPPED	(1UL << 62)	/* in /proc/self/pagemap */
#define ENTRY_PFN	((1UL << 55) - 1)

/* mm/gup_test.h */
struct pin {
	uint64_t addr, size;
	uint32_t flags;
};

#define PIN_START	_IOW('g', 7, struct pin)
#define PIN_STOP	_IO('g', 8)
#define PIN_FOR_WRITE	1

static void fill(char *memory, char value)
{
	size_t at;

	for (at = 0; at < AREA; at += PAGE_SIZE)
		memory[at] = value;
}

static bool holds(const char *memory, char value)
{
	size_t at;

	for (at = 0; at < AREA; at += PAGE_SIZE)
		if (memory[at] != value)
			return false;
	return true;
}

static bool read_entries(const char *memory, uint64_t entry[PAGES])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t size = PAGES * sizeof(*entry);
	ssize_t n = pread(fd, entry, size, (uintptr_t)memory / PAGE_SIZE * sizeof(*entry));

	close(fd);
	return n == size;
}

/* The parent writes first, and the child shall not see it; nor the other way. */
static bool write_both(char *memory)
{
	int status = 1, go[2];
	char byte = 0;
	pid_t pid;

	if (pipe(go))
		return false;
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) != 1 || !holds(memory, 1))
			_exit(1);
		fill(memory, 2);
		_exit(!holds(memory, 2));
	}
	fill(memory, 3);
	if (write(go[1], &byte, 1) == 1)
		waitpid(pid, &status, 0);
	close(go[0]);
	close(go[1]);
	return !status && holds(memory, 3);
}

static bool swap_on(void)
{
	int fd = open(RAM_DISK, O_WRONLY | O_CLOEXEC);
	char page[PAGE_SIZE];
	bool written;

	memset(page, 0, sizeof(page));
	((uint32_t *)(page + SWAP_HEADER))[0] = 1;
	((uint32_t *)(page + SWAP_HEADER))[1] = SWAP_PAGES - 1;
	memcpy(page + PAGE_SIZE - MAGIC_SIZE, SWAP_MAGIC, MAGIC_SIZE);
	written = write(fd, page, sizeof(page)) == (ssize_t)sizeof(page);
	close(fd);
	return written && !swapon(RAM_DISK, 0);
}

static int swapped_pages(const char *memory)
{
	uint64_t entry[PAGES];
	int i, nr = 0;

	if (!read_entries(memory, entry))
		return -1;
	for (i = 0; i < PAGES; i++)
		nr += !!(entry[i] & ENTRY_SWAPPED);
	return nr;
}

enum job_outcome fork_swapped(void)
{
	char *memory = map_memory(AREA);
	bool good;
	int nr;

	if (!memory)
		return failed("no memory");
	if (access(RAM_DISK, W_OK) || !swap_on())
		return skipped("no RAM disk to swap to");
	madvise(memory, AREA, MADV_NOHUGEPAGE);
	fill(memory, 1);
	madvise(memory, AREA, MADV_PAGEOUT);
	nr = swapped_pages(memory);
	good = write_both(memory);
	munmap(memory, AREA);
	if (swapoff(RAM_DISK))
		return failed("swap cannot be switched off");
	if (nr < PAGES / 2)
		return failed("%d pages of %d are swapped out", nr, PAGES);
	return good ? passed() : failed("a value was lost");
}

/* Who pinned pages goes on with these: the child gets copies. */
enum job_outcome fork_pinned(void)
{
	char *memory = map_memory(AREA);
	int fd = open(GUP_TEST, O_RDWR | O_CLOEXEC);
	struct pin pin = { (uintptr_t)memory, AREA, PIN_FOR_WRITE };
	uint64_t before[PAGES], after[PAGES];
	bool good;
	int i;

	if (!memory)
		return failed("no memory");
	if (fd < 0)
		return skipped("no " GUP_TEST);
	fill(memory, 1);
	if (ioctl(fd, PIN_START, &pin) || !read_entries(memory, before))
		return failed("cannot pin");
	good = write_both(memory) && read_entries(memory, after);
	ioctl(fd, PIN_STOP);
	close(fd);
	if (!good)
		return failed("a value was lost");
	for (i = 0; i < PAGES; i++)
		if ((before[i] ^ after[i]) & ENTRY_PFN)
			return failed("page %d is pinned, and was replaced", i);
	return passed();
}
