// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paging.h"
#include "tracee.h"

int get_regs(const struct tracee *tracee, int type, void *buf, size_t size)
{
	struct iovec io = { buf, size };

	if (ptrace(PTRACE_GETREGSET, tracee->pid, type, &io))
		return -errno;
	return io.iov_len == size ? 0 : -EIO;
}

int set_regs(const struct tracee *tracee, int type, const void *buf, size_t size)
{
	struct iovec io = { (void *)buf, size };

	return ptrace(PTRACE_SETREGSET, tracee->pid, type, &io) ? -errno : 0;
}

int get_keys(const struct tracee *tracee, struct keys *keys)
{
	return get_regs(tracee, NT_ARM_PACA_KEYS, &keys->address, sizeof(keys->address)) ?:
	       get_regs(tracee, NT_ARM_PACG_KEYS, &keys->ga, sizeof(keys->ga));
}

int set_keys(const struct tracee *tracee, const struct keys *keys)
{
	return set_regs(tracee, NT_ARM_PACA_KEYS, &keys->address, sizeof(keys->address)) ?:
	       set_regs(tracee, NT_ARM_PACG_KEYS, &keys->ga, sizeof(keys->ga));
}

/* No frame of the C library is left while the tracer changes the keys. */
static void be_traced(struct pauth_state *state)
{
	long self = raw_syscall(SYS_getpid, 0, 0, 0, 0, 0);

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (;;) {
		raw_syscall(SYS_kill, self, SIGSTOP, 0, 0, 0);
		pauth_state(state);
	}
}

bool start_tracee(struct tracee *tracee)
{
	int status;

	tracee->state = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tracee->pid = fork();
	if (!tracee->pid)
		be_traced(tracee->state);
	return waitpid(tracee->pid, &status, 0) == tracee->pid && WIFSTOPPED(status);
}

bool step_tracee(const struct tracee *tracee)
{
	int status;

	return !ptrace(PTRACE_CONT, tracee->pid, NULL, NULL) &&
	       waitpid(tracee->pid, &status, 0) == tracee->pid && WIFSTOPPED(status);
}

void end_tracee(const struct tracee *tracee)
{
	kill(tracee->pid, SIGKILL);
	waitpid(tracee->pid, NULL, 0);
}
