// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is storage: argument 1 is a file or a device, 2 is "write" or "read", 3 "file" or "device". */
#include <linux/stat.h>

#include "part.h"

#define SIZE	(16UL << 20)

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX	0x00200000
#endif

static bool is_dax(int fd)
{
	struct statx status;

	check(!syscall(SYS_statx, fd, "", 0x1000, 0x7ff, &status), "statx");
	return status.stx_attributes & STATX_ATTR_DAX;
}

/* A device has nothing to write back to. */
static void write_back(char *memory, bool file)
{
	check(!msync(memory, SIZE, MS_SYNC) || !file, "msync");
}

static void write_it(int fd, bool file)
{
	char *one = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *two;

	check(one != MAP_FAILED, "mmap");
	two = map(SIZE, MAP_SHARED, fd);
	check_shared(one, two, SIZE, 1);
	write_back(one, file);
	/* That made the entries read-only. */
	number_pages(two, SIZE, 3);
	check(!mprotect(one, SIZE / 2, PROT_READ), "mprotect");
	check(pages_numbered(one, SIZE, 3), "content after write-back and mprotect");
	write_back(two, file);
}

/* A write into a private mapping is not in the file. */
static void write_a_copy(int fd)
{
	char *copy = map(SIZE, MAP_PRIVATE, fd);

	number_pages(copy, SIZE, 99);
	check(pages_numbered(copy, SIZE, 99), "private content");
	check(!in_child(number_pages(copy, SIZE, 98)), "child");
	munmap(copy, SIZE);
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	bool file = argc > 3 && !strcmp(argv[3], "file");

	check(fd >= 0, "open");
	if (argc > 3 && !strcmp(argv[2], "write")) {
		check(!file || !posix_fallocate(fd, 0, SIZE), "room");
		check(!file || is_dax(fd), "the file is not DAX");
		write_it(fd, file);
		if (file)
			write_a_copy(fd);
	}
	check(pages_numbered(map(SIZE, MAP_SHARED, fd), SIZE, 3), "content");
	printf("%s: %lu bytes\n", argv[2], SIZE);
	return 0;
}
