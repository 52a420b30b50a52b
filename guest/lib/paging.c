// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "paging.h"

size_t page_size(void)
{
	static size_t size;

	if (!size)
		size = sysconf(_SC_PAGESIZE);
	return size;
}

size_t table_entries(void)
{
	return page_size() / sizeof(uint64_t);
}

uint64_t entry_size(int level)
{
	uint64_t size = page_size();

	while (--level > 0)
		size *= table_entries();
	return size;
}
