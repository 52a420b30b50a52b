// SPDX-License-Identifier: GPL-2.0-only
/*
 * What asks for credentials, changes them, or switches between tasks that have
 * others. Children run on this CPU, so that what they execute is counted.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define USER		1000
#define PROGRAM		"/bin/lab"
#define SET_ID_PROGRAM	"/tmp/lab-set-id"
#define GROUP		10	/* senders, and as many receivers */
#define MESSAGE		100	/* bytes */

static long done(const struct load *load, long good)
{
	if (good != load->times)
		load_failed("%ld of %ld calls good", good, load->times);
	return load->times;
}

static long getuid_round(const struct load *load)
{
	long i, good = 0;

	load_open(load);
	for (i = 0; i < load->times; i++)
		good += !syscall(SYS_getuid);
	load_close();
	return done(load, good);
}

/* As somebody else asks whether he could: with credentials for that call. */
static long access_round(const struct load *load)
{
	long i, good = 0;

	if (setresuid(-1, USER, -1)) {
		load_failed("not another user");
		return 0;
	}
	load_open(load);
	for (i = 0; i < load->times; i++)
		good += !access(PROGRAM, X_OK);
	load_close();
	if (setresuid(-1, 0, -1))
		load_failed("not root again");
	return done(load, good);
}

static long open_round(const struct load *load)
{
	long i, good = 0;

	load_open(load);
	for (i = 0; i < load->times; i++)
		good += !close(open(PROGRAM, O_RDONLY));
	load_close();
	return done(load, good);
}

/* The effective ID is another one, and root's again. */
static long setresuid_round(const struct load *load)
{
	long i, good = 0;

	load_open(load);
	for (i = 0; i < load->times; i++)
		good += !setresuid(-1, i % 2 ? 0 : USER, -1);
	load_close();
	if (setresuid(-1, 0, -1))
		load_failed("not root again");
	return done(load, good);
}

static bool make_program(void)
{
	static char page[LOAD_PAGE];
	int from = open(PROGRAM, O_RDONLY), to = open(SET_ID_PROGRAM, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	ssize_t size;
	bool good;

	while ((size = read(from, page, sizeof(page))) > 0)
		if (write(to, page, size) != size)
			break;
	good = !size && !fchown(to, USER, USER) && !fchmod(to, 06755);
	close(from);
	close(to);
	return good;
}

static void be_set_id_program(void)
{
	execl(SET_ID_PROGRAM, "lab", "nothing", (char *)NULL);
}

static long set_id_program_round(const struct load *load)
{
	long times;

	if (!make_program()) {
		load_failed("no set-user-ID program");
		return 0;
	}
	times = load_processes(load, be_set_id_program);
	unlink(SET_ID_PROGRAM);
	return times;
}

/* ---- messages between processes, as hackbench sends them ---- */

struct group {
	int pairs[GROUP][2];
	int go[2];
	long times;
	bool users;
};

static bool send_messages(const struct group *group)
{
	char message[MESSAGE] = { 0 };
	long i, to;

	for (i = 0; i < group->times; i++)
		for (to = 0; to < GROUP; to++)
			if (write(group->pairs[to][0], message, MESSAGE) != MESSAGE)
				return false;
	return true;
}

static bool receive_messages(const struct group *group, int at)
{
	char message[MESSAGE];
	long i;

	for (i = 0; i < group->times * GROUP; i++)
		if (recv(group->pairs[at][1], message, MESSAGE, MSG_WAITALL) != MESSAGE)
			return false;
	return true;
}

/* So that who waits for a message learns that nobody is left to send one. */
static void close_others(const struct group *group, int number)
{
	int i;

	for (i = 0; i < GROUP; i++) {
		if (number < GROUP || i != number - GROUP)
			close(group->pairs[i][1]);
		if (number >= GROUP)
			close(group->pairs[i][0]);
	}
}

/* Nothing is to run while one waits for its turn: it would be taken for an interrupt, and not counted. */
static void start_process(const struct group *group, int number)
{
	struct sched_param first = { .sched_priority = 1 };
	char byte;
	bool good;

	if (fork())
		return;
	close_others(group, number);
	sched_setscheduler(0, SCHED_FIFO, &first);
	good = !group->users || !setresuid(USER + number, USER + number, USER + number);
	/* Not before: another ID takes it away. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	good = good && read(group->go[0], &byte, 1) == 1;
	if (good && number < GROUP)
		good = send_messages(group);
	else if (good)
		good = receive_messages(group, number - GROUP);
	_exit(!good);
}

static void close_pairs(const struct group *group, int pairs)
{
	while (pairs--) {
		close(group->pairs[pairs][0]);
		close(group->pairs[pairs][1]);
	}
}

static bool wait_for_all(void)
{
	int status, i, bad = 0;

	for (i = 0; i < 2 * GROUP; i++)
		bad += wait(&status) < 0 || status;
	return !bad;
}

static long messages_between(const struct load *load, bool users)
{
	static const char bytes[2 * GROUP];
	struct group group = { .times = load->times / (GROUP * GROUP), .users = users };
	int i;

	if (pipe(group.go)) {
		load_failed("no pipe");
		return 0;
	}
	for (i = 0; i < GROUP; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, group.pairs[i])) {
			load_failed("no sockets");
			close_pairs(&group, i);
			goto out;
		}
	for (i = 0; i < 2 * GROUP; i++)
		start_process(&group, i);
	close_pairs(&group, GROUP);
	load_open(load);
	if (write(group.go[1], bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || !wait_for_all())
		load_failed("messages were lost");
	load_close();
out:
	close(group.go[0]);
	close(group.go[1]);
	return load->times;
}

static long messages_round(const struct load *load)
{
	return messages_between(load, false);
}

static long messages_of_users_round(const struct load *load)
{
	return messages_between(load, true);
}

const struct load user_loads[] = {
	{ .name = "getuid", .round = getuid_round, .times = 10000 },
	{ .name = "open-file", .round = open_round, .times = 1000 },
	{ .name = "access-as", .round = access_round, .times = 1000 },
	{ .name = "setresuid", .round = setresuid_round, .times = 1000 },
	{ .name = "set-id-program", .round = set_id_program_round, .times = 20 },
	{ .name = "messages", .round = messages_round, .times = 10000 },
	{ .name = "messages-users", .round = messages_of_users_round, .times = 10000 },
	{ .name = NULL },
};
