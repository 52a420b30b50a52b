// SPDX-License-Identifier: GPL-2.0-only
/* memfd_secret: pages that leave the kernel's linear map, and come back. */
#include <sys/uio.h>

#include "part.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif
#define PAGES	256
#define SIZE	(PAGES * PAGE)
#define ROUNDS	8

static ssize_t read_by_kernel(void *from, size_t size)
{
	char *copy = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct iovec local = { copy, size }, remote = { from, size };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	munmap(copy, size);
	return got;
}

static void one_round(unsigned int seed)
{
	int fd = syscall(SYS_memfd_secret, O_CLOEXEC);
	int other = open("/dev/zero", O_RDONLY);
	char *memory;

	need(fd >= 0, "no memfd_secret");
	check(!ftruncate(fd, SIZE), "size");
	memory = map(SIZE, MAP_SHARED, fd);
	number_pages(memory, SIZE, seed);
	check(pages_numbered(memory, SIZE, seed), "content");
	check(read_by_kernel(memory, PAGE) < 0, "the kernel reads secret memory");
	check(read(other, memory, PAGE) == PAGE, "a copy to user space is not the linear map's affair");
	check(!in_child(number_pages(memory, SIZE, seed + 1)), "child");
	check(pages_numbered(memory, SIZE, seed + 1), "a shared write");
	munmap(memory, SIZE);
	close(fd);
	close(other);
}

int main(void)
{
	char *plain = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned int i;

	check(read_by_kernel(plain, PAGE) == PAGE, "process_vm_readv of plain memory");
	for (i = 0; i < ROUNDS; i++)
		one_round(i * 100);
	printf("%d times %d pages\n", ROUNDS, PAGES);
	return 0;
}
