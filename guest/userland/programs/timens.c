// SPDX-License-Identifier: GPL-2.0-only
/* A time namespace: another page of the vDSO's data, which entering replaces. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#include "part.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif
#define OFFSET		500000	/* seconds */
#define ROUNDS		50

/* From here on only the vDSO can tell the time. */
static void refuse_the_call(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
	check(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &(struct timespec){}) < 0, "the call still works");
}

static time_t now(void)
{
	struct timespec time;

	check(!clock_gettime(CLOCK_MONOTONIC_COARSE, &time), "no time from the vDSO");
	return time.tv_sec;
}

static void inside(time_t outside, bool by_vdso)
{
	if (by_vdso)
		refuse_the_call();
	check(now() >= outside + OFFSET && now() < outside + OFFSET + 100, "time inside is not %d s later", OFFSET);
}

int main(void)
{
	int ours = open("/proc/self/ns/time", O_RDONLY), other, i;
	time_t outside = now();
	char text[64];

	need(ours >= 0 && !unshare(CLONE_NEWTIME), "no time namespaces");
	snprintf(text, sizeof(text), "monotonic %d 0\n", OFFSET);
	check(write_file("/proc/self/timens_offsets", text), "offsets of the namespace");
	other = open("/proc/self/ns/time_for_children", O_RDONLY);
	check(now() < outside + 100, "the namespace is for children");
	check(!in_child(inside(outside, false); inside(outside, true)), "a child that is born inside");
	/* Entering zaps the entries of the data, leaving does again. */
	for (i = 0; i < ROUNDS; i++) {
		check(!setns(other, CLONE_NEWTIME), "enter");
		inside(outside, false);
		check(!setns(ours, CLONE_NEWTIME), "leave");
		check(now() < outside + 100, "time outside");
	}
	check(!in_child(check(!setns(other, CLONE_NEWTIME), "enter"); inside(outside, true)), "a child that enters");
	printf("%d times in and out\n", ROUNDS);
	return 0;
}
