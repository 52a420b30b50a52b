// SPDX-License-Identifier: GPL-2.0-only
/* Memory of a PCI device, mapped through sysfs: argument 1 is the file of a resource. */
#include <sys/stat.h>

#include "part.h"

#define MOST	(4UL << 20)

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	struct stat status;
	char *one, *two;
	size_t size;

	need(fd >= 0 && !fstat(fd, &status), "no such resource");
	size = (size_t)status.st_size < MOST ? (size_t)status.st_size : MOST;
	one = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(one != MAP_FAILED, "a driver has it");
	two = map(size, MAP_SHARED, fd);
	check_shared(one, two, size, 77);
	mprotect(one, size / 2, PROT_READ);
	check(pages_numbered(one, size, 78), "after mprotect");
	munmap(one, size);
	munmap(two, size);
	printf("%zu bytes\n", size);
	return 0;
}
