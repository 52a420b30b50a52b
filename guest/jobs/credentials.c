// SPDX-License-Identifier: GPL-2.0-only
/* System calls that change what a task may do give what they should, and no more. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "ids.h"

#define DEPTH		4
#define CHANGERS	4
#define CHANGES		400
#define SET_USER_ID	"/set-user-id"

/* ---- what others use ---- */

bool become_user(void)
{
	return !setgroups(0, NULL) && !setresgid(USER, USER, USER) &&
	       !setresuid(USER, USER, USER) && !prctl(PR_SET_DUMPABLE, 1);
}

enum job_outcome as_user(enum job_outcome (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(become_user() ? run() : failed("cannot become a user"));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return failed("who tried it died");
	return WEXITSTATUS(status);
}

bool make_file(const char *path, unsigned int owner, unsigned int mode)
{
	int fd = open(path, O_WRONLY | O_CREAT, mode);
	bool made = fd >= 0 && write(fd, path, strlen(path)) > 0 && !fchown(fd, owner, owner) &&
		    !fchmod(fd, mode);

	close(fd);
	return made;
}

bool make_secret(void)
{
	return make_file(SECRET, 0, 0600);
}

bool may_read_secret(void)
{
	int fd = open(SECRET, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int show_ids(void)
{
	return (geteuid() ? 0 : EFFECTIVE_ROOT) | (getuid() ? 0 : REAL_ROOT) |
	       (may_read_secret() ? READS_SECRET : 0);
}

/* What a program finds that is run like this, or -1. */
static int ids_of(const char *path, void (*before)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (before)
			before();
		execl(path, "stress", "ids", (char *)NULL);
		_exit(0xff);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	/* Who is traced stops when he has got the program. */
	if (WIFSTOPPED(status) && (ptrace(PTRACE_CONT, pid, NULL, NULL) ||
				   waitpid(pid, &status, 0) != pid))
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) != 0xff ? WEXITSTATUS(status) : -1;
}

/* ---- user namespaces ---- */

static bool map_to_root(const char *file, unsigned int id)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1\n", id);
	return !file_write(file, map);
}

static bool enter_namespace(void)
{
	unsigned int uid = geteuid(), gid = getegid();

	return !unshare(CLONE_NEWUSER) && !file_write("/proc/self/setgroups", "deny") &&
	       map_to_root("/proc/self/uid_map", uid) && map_to_root("/proc/self/gid_map", gid);
}

static enum job_outcome be_root_inside(void)
{
	int depth;

	for (depth = 1; depth <= DEPTH; depth++) {
		if (!enter_namespace())
			return failed("no namespace at depth %d: error %d", depth, errno);
		if (getuid() || setresuid(0, 0, 0))
			return failed("not root inside, at depth %d", depth);
		if (!sethostname("inside", 6) || may_read_secret())
			return failed("root outside, at depth %d", depth);
		if (ids_of("/proc/self/exe", NULL) != (EFFECTIVE_ROOT | REAL_ROOT))
			return failed("a program is not root inside, at depth %d", depth);
	}
	if (unshare(CLONE_NEWUTS) || sethostname("inside", 6))
		return failed("root inside may not name the machine inside");
	return passed();
}

enum job_outcome user_namespaces(void)
{
	if (access("/proc/self/uid_map", F_OK))
		return skipped("the kernel has no user namespaces");
	return make_secret() ? as_user(be_root_inside) : failed("no secret");
}

/* ---- programs that set their user ID ---- */

static bool make_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to;
	struct stat stat;
	bool made;

	unlink(SET_USER_ID);
	to = open(SET_USER_ID, O_WRONLY | O_CREAT | O_EXCL, 0700);
	made = from >= 0 && to >= 0 && !fstat(from, &stat) &&
	       sendfile(to, from, NULL, stat.st_size) == stat.st_size && !fchmod(to, 04755);
	close(from);
	close(to);
	return made;
}

static void be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void be_bounded(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void be_elsewhere(void)
{
	enter_namespace();
}

static enum job_outcome try_programs(void)
{
	const struct {
		const char *how;
		void (*before)(void);
		int ids;
	} tries[] = {
		{ "as it is",			NULL,		EFFECTIVE_ROOT | READS_SECRET },
		{ "traced by a user",		be_traced,	0 },
		{ "without new privileges",	be_bounded,	0 },
		{ "from another namespace",	be_elsewhere,	EFFECTIVE_ROOT | REAL_ROOT },
	};
	unsigned int i;
	int ids;

	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		ids = ids_of(SET_USER_ID, tries[i].before);
		if (ids != tries[i].ids)
			return failed("%s: %d, not %d", tries[i].how, ids, tries[i].ids);
	}
	return passed();
}

enum job_outcome set_user_id(void)
{
	enum job_outcome outcome;

	if (!make_secret() || !make_program())
		return failed("cannot make the program");
	outcome = as_user(try_programs);
	unlink(SET_USER_ID);
	return outcome;
}

/* ---- keyrings ---- */

static long keyctl(int what, unsigned long a, unsigned long b, unsigned long c)
{
	return syscall(SYS_keyctl, what, a, b, c, 0);
}

static bool add_key(const char *name, int keyring)
{
	return syscall(SYS_add_key, "user", name, name, strlen(name), keyring) > 0;
}

static bool has_key(const char *name, int keyring)
{
	return keyctl(KEYCTL_SEARCH, keyring, (unsigned long)"user", (unsigned long)name) > 0;
}

static void *look_at_keys(void *wrong)
{
	if (has_key("thread", KEY_SPEC_THREAD_KEYRING) || !add_key("own", KEY_SPEC_THREAD_KEYRING))
		return wrong;
	return has_key("process", KEY_SPEC_PROCESS_KEYRING) ? NULL : wrong;
}

/* The parent's credentials change, when it next leaves the kernel. */
static bool give_session_to_parent(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0) < 0 ||
		      !add_key("given", KEY_SPEC_SESSION_KEYRING) ||
		      keyctl(KEYCTL_SESSION_TO_PARENT, 0, 0, 0));
	return waitpid(pid, &status, 0) == pid && !status;
}

static enum job_outcome use_keyrings(void)
{
	pthread_t thread;
	void *wrong;

	if (keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0) < 0 ||
	    !add_key("session", KEY_SPEC_SESSION_KEYRING))
		return failed("no session: error %d", errno);
	if (!give_session_to_parent() || !has_key("given", KEY_SPEC_SESSION_KEYRING))
		return failed("a child gives no session");
	if (has_key("session", KEY_SPEC_SESSION_KEYRING))
		return failed("the session before is still there");
	if (!add_key("process", KEY_SPEC_PROCESS_KEYRING) ||
	    !add_key("thread", KEY_SPEC_THREAD_KEYRING))
		return failed("no keyring of the process or thread: error %d", errno);
	if (pthread_create(&thread, NULL, look_at_keys, &wrong) || pthread_join(thread, &wrong) ||
	    wrong)
		return failed("a thread has other keys than it should");
	return passed();
}

enum job_outcome keyrings(void)
{
	if (keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1, 0) < 0)
		return skipped("the kernel has no keys");
	return as_user(use_keyrings);
}

/* ---- what one says of oneself to others ---- */

static int send_as(int socket, uid_t uid)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] = { 0 };
	struct ucred ucred = { .pid = getpid(), .uid = uid, .gid = getegid() };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&msg);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof(ucred));
	memcpy(CMSG_DATA(header), &ucred, sizeof(ucred));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static long received_from(int socket)
{
	char control[CMSG_SPACE(sizeof(struct ucred))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct ucred ucred;

	if (recvmsg(socket, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&ucred, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(ucred));
	return ucred.uid;
}

static enum job_outcome tell_others(void)
{
	int sockets[2], on = 1;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) ||
	    setsockopt(sockets[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return failed("no sockets: error %d", errno);
	if (send_as(sockets[0], 0) != -EPERM)
		return failed("a user says that it is root");
	if (send_as(sockets[0], USER) || received_from(sockets[1]) != USER)
		return failed("a user does not arrive as what it is");
	if (getsockopt(sockets[0], SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != USER)
		return failed("the other end is not who made it");
	return passed();
}

enum job_outcome told_ids(void)
{
	return as_user(tell_others);
}

/* ---- threads that change theirs, each for itself ---- */

static void *change_ids(void *wrong)
{
	char status[64];
	int i;

	snprintf(status, sizeof(status), "/proc/self/task/%d/status", gettid());
	for (i = 0; i < CHANGES; i++) {
		if (syscall(SYS_setresuid, -1, USER, -1) || geteuid() != USER || may_read_secret())
			return wrong;
		if (i % 64 == 0 && ids_of("/proc/self/exe", NULL) != REAL_ROOT)
			return wrong;
		if (syscall(SYS_setresuid, -1, 0, -1) || geteuid() || !may_read_secret())
			return wrong;
		if (access(status, R_OK))
			return wrong;
	}
	return NULL;
}

enum job_outcome changing_ids(void)
{
	pthread_t threads[CHANGERS];
	int i, bad = 0;
	void *wrong;

	if (!make_secret())
		return failed("no secret");
	for (i = 0; i < CHANGERS; i++)
		if (pthread_create(&threads[i], NULL, change_ids, threads))
			return failed("no thread");
	for (i = 0; i < CHANGERS; i++)
		bad += pthread_join(threads[i], &wrong) || wrong;
	return bad ? failed("%d threads had other IDs than they should", bad) : passed();
}
