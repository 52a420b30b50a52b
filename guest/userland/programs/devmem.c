// SPDX-License-Identifier: GPL-2.0-only
/* /dev/mem: the BIOS can be mapped, memory of the system cannot. */
#include "part.h"

#define BIOS		0xf0000UL
#define BIOS_SIZE	0x10000UL
#define HIGH		(64UL << 20)
#ifdef __x86_64__
#define IS_PC		true
#else
#define IS_PC		false
#endif

static void bios(void)
{
	int fd = open("/dev/mem", O_RDONLY);
	char *copy = malloc(BIOS_SIZE), *mapped;

	need(IS_PC, "PCs alone have a BIOS");
	need(fd >= 0, "no /dev/mem");
	mapped = mmap(NULL, BIOS_SIZE, PROT_READ, MAP_SHARED, fd, BIOS);
	need(mapped != MAP_FAILED, "the BIOS cannot be mapped");
	check(pread(fd, copy, BIOS_SIZE, BIOS) == (ssize_t)BIOS_SIZE, "read of the BIOS");
	check(!memcmp(copy, mapped, BIOS_SIZE), "map and read of the BIOS differ");
	/* The reset vector: a far jump, and behind it the date. */
	check((mapped[0xfff0] & 0xff) == 0xea, "there is no jump at the reset vector");
	check(!in_child(check(!memcmp(copy, mapped, BIOS_SIZE), "child")), "child");
	check(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, HIGH) == MAP_FAILED, "memory of the system can be mapped");
	close(fd);
	printf("BIOS of %.8s\n", mapped + 0xfff5);
}

int main(void)
{
	bios();
	return 0;
}
