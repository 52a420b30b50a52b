// SPDX-License-Identifier: GPL-2.0-only
/* IDs that root lends to a user's namespace, as newuidmap does, are the namespace's. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "ids.h"

#define LENT	"0 1000 1\n10 100000 10\n20 101000 10\n30 102000 10\n"	\
		"40 103000 10\n50 104000 10\n60 105000 10\n"
#define BELOW	"0 12 5\n"
#define ACROSS	"0 17 5\n"
#define GROUPS	60		/* more than one unit has */

static bool write_map(pid_t pid, const char *name, const char *text)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return !file_write(path, text);
}

/* A process in a namespace of its own, and what it does there when it has IDs. */
static pid_t start_inside(int (*run)(void), int *go)
{
	int ready[2], start[2];
	char byte;
	pid_t pid;

	if (pipe(ready) || pipe(start))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1) || write(ready[1], "r", 1) != 1 ||
		    read(start[0], &byte, 1) != 1)
			_exit(1);
		_exit(run());
	}
	close(ready[1]);
	*go = start[1];
	return read(ready[0], &byte, 1) == 1 ? pid : -1;
}

static bool end_inside(pid_t pid, int go)
{
	int status;

	return write(go, "g", 1) == 1 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool have_groups(void)
{
	gid_t groups[GROUPS], seen[GROUPS];
	int i;

	for (i = 0; i < GROUPS; i++)
		groups[i] = 10 + i;
	if (setgroups(GROUPS, groups) || getgroups(GROUPS, seen) != GROUPS)
		return false;
	for (i = 0; i < GROUPS && seen[i] == groups[i]; i++)
		;
	return i == GROUPS && setgroups(0, NULL) == 0;
}

static int be_lent(void)
{
	return setresgid(3, 3, 3) || setresuid(4, 4, 4) || getgid() != 3 || getuid() != 4;
}

/* Some of the IDs go to a namespace below; such as are not side by side outside do not. */
static bool lend_below(void)
{
	int go;
	pid_t pid = start_inside(be_lent, &go);

	return pid > 0 && !write_map(pid, "uid_map", ACROSS) &&
	       write_map(pid, "uid_map", BELOW) && write_map(pid, "gid_map", BELOW) &&
	       end_inside(pid, go);
}

/* Who makes a namespace must be somebody in the one above. */
static int use_ids(void)
{
	if (setresgid(0, 0, 0) || setresuid(0, 0, 0) || !have_groups())
		return 2;
	if (!lend_below())
		return 3;
	if (!setresuid(5, 5, 5) || setresgid(45, 45, 45) || setresuid(25, 25, 25))
		return 4;
	return getuid() != 25 || getegid() != 45 || !setuid(26);
}

enum job_outcome lent_ids(void)
{
	pid_t pid, status;
	int go;

	if (access("/proc/self/uid_map", F_OK))
		return skipped("the kernel has no user namespaces");
	pid = start_inside(use_ids, &go);
	if (pid < 0 || !write_map(pid, "uid_map", LENT) || !write_map(pid, "gid_map", LENT))
		return failed("cannot lend IDs: error %d", errno);
	if (write(go, "g", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return failed("who has them died");
	return WIFEXITED(status) && !WEXITSTATUS(status) ? passed() :
	       failed("IDs that were lent do not work: %#x", status);
}
