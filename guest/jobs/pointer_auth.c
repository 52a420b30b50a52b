// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which keys of pointer authentication a task has and may use: what prctl()
 * takes, what fork and exec hand on, and that what is disabled stays so over
 * everything that switches SCTLR_EL1, POR_EL1 or tasks.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "job.h"
#include "pauth.h"

#define MASKS		(PAUTH_ALL + 1)
#define SWITCH_SECONDS	4
#define ROUNDS		20
#define SPIN		200000

static long set_enabled(unsigned long affected, unsigned long enabled)
{
	return raw_syscall(SYS_prctl, PR_PAC_SET_ENABLED_KEYS, affected, enabled, 0, 0);
}

static long get_enabled(void)
{
	return raw_syscall(SYS_prctl, PR_PAC_GET_ENABLED_KEYS, 0, 0, 0, 0);
}

static long reset_keys(unsigned long keys)
{
	return raw_syscall(SYS_prctl, PR_PAC_RESET_KEYS, keys, 0, 0, 0);
}

static bool is_refused(unsigned long affected, unsigned long enabled)
{
	long before = get_enabled();

	return set_enabled(affected, enabled) == -EINVAL && get_enabled() == before;
}

static enum job_outcome refuse_unknown_keys(void)
{
	unsigned long bit;
	int n;

	for (n = PAUTH_SWITCHED; n < 64; n++) {
		bit = 1UL << n;
		if (!is_refused(bit, 0) || !is_refused(bit, bit) ||
		    !is_refused(PAUTH_ALL | bit, PAUTH_ALL) || !is_refused(PAUTH_ALL, bit))
			return failed("a mask with the unknown bit %d was taken", n);
	}
	if (!is_refused(~0UL, 0) || !is_refused(~0UL, ~0UL) ||
	    !is_refused(~0UL, PAUTH_ALL) || !is_refused(PAUTH_ALL, ~0UL))
		return failed("a mask of all ones was taken");
	return passed();
}

static enum job_outcome refuse_arguments(void)
{
	int option = PR_PAC_GET_ENABLED_KEYS, n;

	if (raw_syscall(SYS_prctl, PR_PAC_SET_ENABLED_KEYS, PAUTH_ALL, 0, 1, 0) != -EINVAL ||
	    raw_syscall(SYS_prctl, PR_PAC_SET_ENABLED_KEYS, PAUTH_ALL, 0, 0, 1) != -EINVAL)
		return failed("PR_PAC_SET_ENABLED_KEYS took an argument too many");
	for (n = 0; n < 4; n++)
		if (raw_syscall(SYS_prctl, option, n == 0, n == 1, n == 2, n == 3) != -EINVAL)
			return failed("PR_PAC_GET_ENABLED_KEYS took argument %d", n + 2);
	return get_enabled() == PAUTH_ALL ? passed() : failed("what was refused had an effect");
}

static bool sets(unsigned long before, unsigned long affected, unsigned long enabled)
{
	unsigned long wanted = (before & ~affected) | enabled;

	return !set_enabled(PAUTH_ALL, before) && !set_enabled(affected, enabled) &&
	       get_enabled() == (long)wanted && pauth_signing() == wanted;
}

static enum job_outcome try_masks(unsigned long before)
{
	unsigned long affected, enabled;

	for (affected = 0; affected < MASKS; affected++) {
		for (enabled = 0; enabled < MASKS; enabled++) {
			if (enabled & ~affected) {
				if (!is_refused(affected, enabled))
					return failed("keys %#lx enabled, only %#lx affected",
						      enabled, affected);
			} else if (!sets(before, affected, enabled)) {
				return failed("from %#lx, %#lx set to %#lx: enabled are %#lx, "
					      "signing %#lx", before, affected, enabled,
					      get_enabled(), pauth_signing());
			}
		}
	}
	return passed();
}

enum job_outcome pauth_masks(void)
{
	enum job_outcome outcome;
	unsigned long before;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (get_enabled() != PAUTH_ALL)
		return failed("a process starts with keys %#lx", get_enabled());
	outcome = refuse_unknown_keys();
	if (outcome == JOB_PASSED)
		outcome = refuse_arguments();
	for (before = 0; before < MASKS && outcome == JOB_PASSED; before++)
		outcome = try_masks(before);
	set_enabled(PAUTH_ALL, PAUTH_ALL);
	return outcome;
}

/* Which keys differ between two states. */
static unsigned long changed(const struct pauth_state *one, const struct pauth_state *other)
{
	unsigned long mask = 0;
	int key;

	for (key = 0; key < PAUTH_KEYS; key++)
		if (one->signature[key] != other->signature[key])
			mask |= 1UL << key;
	return mask;
}

static unsigned long changed_by_reset(unsigned long keys, long *result)
{
	struct pauth_state before, after;

	pauth_state(&before);
	*result = reset_keys(keys);
	pauth_state(&after);
	return changed(&before, &after);
}

static enum job_outcome refuse_resets(void)
{
	long result = 0;
	int n;

	for (n = PAUTH_KEYS; n < 64; n++)
		if (changed_by_reset(1UL << n | 1, &result) || result != -EINVAL)
			return failed("PR_PAC_RESET_KEYS took the unknown bit %d", n);
	if (changed_by_reset(~0UL, &result) || result != -EINVAL)
		return failed("PR_PAC_RESET_KEYS took all ones");
	if (raw_syscall(SYS_prctl, PR_PAC_RESET_KEYS, 1, 1, 0, 0) != -EINVAL)
		return failed("PR_PAC_RESET_KEYS took an argument too many");
	return passed();
}

/* Nothing that was called before may be returned to, but for our own code. */
enum job_outcome pauth_reset(void)
{
	unsigned long keys, wanted, got;
	long result = 0;

	if (!pauth_present())
		return skipped("no pointer authentication");
	for (keys = 0; keys < 1UL << PAUTH_KEYS; keys++) {
		wanted = keys ?: (1UL << PAUTH_KEYS) - 1;
		got = changed_by_reset(keys, &result);
		if (result || got != wanted)
			return failed("reset of keys %#lx changed %#lx", wanted, got);
	}
	return refuse_resets();
}

static bool same(const struct pauth_state *one, const struct pauth_state *other)
{
	return !memcmp(one, other, sizeof(*one));
}

static struct pauth_state *shared_state(void)
{
	return mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static enum job_outcome inherit_by_fork(void)
{
	struct pauth_state *child = shared_state(), before, after;
	pid_t pid;

	pauth_state(&before);
	pid = fork();
	if (!pid) {
		pauth_state(child);
		set_enabled(PAUTH_ALL, ~before.enabled & PAUTH_ALL);
		reset_keys(0);
		raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0);
	}
	waitpid(pid, NULL, 0);
	pauth_state(&after);
	if (!same(&before, child))
		return failed("fork: keys %#lx became %#lx, %#lx changed", before.enabled,
			      child->enabled, changed(&before, child));
	return same(&before, &after) ? passed() : failed("a child changed its parent's keys");
}

static void *thread_state(void *state)
{
	pauth_state(state);
	return NULL;
}

static enum job_outcome inherit_by_clone(void)
{
	struct pauth_state mine, its;
	pthread_t thread;

	pauth_state(&mine);
	if (pthread_create(&thread, NULL, thread_state, &its))
		return failed("no thread");
	pthread_join(thread, NULL);
	return same(&mine, &its) ? passed() : failed("a thread has keys %#lx, %#lx changed",
						     its.enabled, changed(&mine, &its));
}

/* What a program finds at its start: see main(). */
int pauth_show_state(void)
{
	struct pauth_state state;

	pauth_state(&state);
	return write(STDOUT_FILENO, &state, sizeof(state)) != sizeof(state);
}

static bool state_after_exec(unsigned long enabled, struct pauth_state *state)
{
	ssize_t got;
	int ends[2];

	if (pipe(ends))
		return false;
	if (!fork()) {
		dup2(ends[1], STDOUT_FILENO);
		set_enabled(PAUTH_ALL, enabled);
		execl("/proc/self/exe", "stress", "pauth-state", (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	got = read(ends[0], state, sizeof(*state));
	close(ends[0]);
	return !reap_children() && got == sizeof(*state);
}

static enum job_outcome reset_by_exec(unsigned long enabled)
{
	struct pauth_state mine, its;

	pauth_state(&mine);
	if (!state_after_exec(enabled, &its))
		return failed("the program could not be started");
	if (its.enabled != PAUTH_ALL || its.signing != PAUTH_ALL)
		return failed("keys %#lx before exec, %#lx after, signing %#lx", enabled,
			      its.enabled, its.signing);
	if (changed(&mine, &its) != (1UL << PAUTH_KEYS) - 1)
		return failed("exec changed only keys %#lx", changed(&mine, &its));
	return passed();
}

enum job_outcome pauth_inherit(void)
{
	enum job_outcome outcome = JOB_PASSED;
	unsigned long mask;

	if (!pauth_present())
		return skipped("no pointer authentication");
	for (mask = 0; mask < MASKS && outcome == JOB_PASSED; mask++) {
		set_enabled(PAUTH_ALL, mask);
		outcome = inherit_by_fork();
		if (outcome == JOB_PASSED)
			outcome = inherit_by_clone();
		set_enabled(PAUTH_ALL, PAUTH_ALL);
		if (outcome == JOB_PASSED)
			outcome = reset_by_exec(mask);
	}
	return outcome;
}

/* What can come between a task and its keys. */
static void no_event(int partner[2])
{
	(void)partner;
}

static void system_call(int partner[2])
{
	(void)partner;
	raw_syscall(SYS_getppid, 0, 0, 0, 0, 0);
}

static void page_fault(int partner[2])
{
	char *memory = map_memory(PAGE_SIZE);

	(void)partner;
	touch_pages(memory, PAGE_SIZE);
	munmap(memory, PAGE_SIZE);
}

/* The partner runs on this CPU before it answers. */
static void task_switch(int partner[2])
{
	char byte = 0;

	if (write(partner[1], &byte, 1) == 1 && read(partner[0], &byte, 1) == 1)
		return;
}

static void interrupts(int partner[2])
{
	volatile int i;

	(void)partner;
	for (i = 0; i < SPIN; i++)
		;
}

static const struct {
	const char *name;
	void (*happen)(int partner[2]);
} events[] = {
	{ "prctl()", no_event },
	{ "a system call", system_call },
	{ "a page fault", page_fault },
	{ "a task switch", task_switch },
	{ "interrupts", interrupts },
};

/* Answers each byte, with other keys enabled than the one that sent it. */
static int start_partner(unsigned long enabled, int ends[2])
{
	int in[2], out[2], bad = 0;
	pid_t pid;

	if (pipe(in) || pipe(out))
		return -1;
	pid = fork();
	if (!pid) {
		close(in[1]);
		close(out[0]);
		set_enabled(PAUTH_ALL, enabled);
		while (read(in[0], &pid, 1) == 1 && write(out[1], &pid, 1) == 1)
			bad |= pauth_signing() != enabled;
		raw_syscall(SYS_exit_group, bad, 0, 0, 0, 0);
	}
	close(in[0]);
	close(out[1]);
	ends[0] = out[0];
	ends[1] = in[1];
	return pid;
}

static enum job_outcome keep_disabled(unsigned long enabled, int partner[2])
{
	struct pauth_state before, after;
	unsigned int i;
	int round;

	set_enabled(PAUTH_ALL, enabled);
	pauth_state(&before);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
			events[i].happen(partner);
			pauth_state(&after);
			if (after.signing != enabled || !same(&before, &after))
				return failed("keys %#lx enabled, after %s %#lx sign, %#lx changed",
					      enabled, events[i].name, after.signing,
					      changed(&before, &after));
		}
	}
	return passed();
}

enum job_outcome pauth_disabled(void)
{
	enum job_outcome outcome = JOB_PASSED;
	unsigned long mask;
	int partner[2];

	if (!pauth_present())
		return skipped("no pointer authentication");
	stay_on_cpu(0);
	for (mask = 0; mask < MASKS && outcome == JOB_PASSED; mask++) {
		set_enabled(PAUTH_ALL, PAUTH_ALL);
		if (start_partner(~mask & PAUTH_ALL, partner) < 0)
			return failed("no partner");
		outcome = keep_disabled(mask, partner);
		set_enabled(PAUTH_ALL, PAUTH_ALL);
		close(partner[0]);
		close(partner[1]);
		if (reap_children() && outcome == JOB_PASSED)
			return failed("a partner with keys %#lx saw others", ~mask & PAUTH_ALL);
	}
	return outcome;
}

/* With keys of its own; the exit status is how it found them changed. */
static void switch_until(double end, unsigned long enabled)
{
	struct pauth_state before, after;

	reset_keys(0);
	set_enabled(PAUTH_ALL, enabled);
	pauth_state(&before);
	while (now() < end) {
		sched_yield();
		pauth_state(&after);
		if (!same(&before, &after))
			raw_syscall(SYS_exit_group, 1, 0, 0, 0, 0);
		churn_memory(16 * PAGE_SIZE);
	}
	raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0);
}

/* POR_EL1 opens and shuts for page tables while SCTLR_EL1 goes from task to task. */
enum job_outcome pauth_switching(void)
{
	double end = now() + SWITCH_SECONDS;
	int bad = 0, churn, status;
	unsigned long mask;
	pid_t pid;

	if (!pauth_present())
		return skipped("no pointer authentication");
	churn = start_churn();
	for (mask = 0; mask < 2 * MASKS; mask++)
		if (!fork())
			switch_until(end, mask % MASKS);
	for (mask = 0; mask < 2 * MASKS; mask++) {
		pid = wait(&status);
		bad += pid < 0 || status;
	}
	stop_churn(churn);
	return bad ? failed("%d of %lu tasks lost their keys", bad, 2 * MASKS) : passed();
}
