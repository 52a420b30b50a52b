// SPDX-License-Identifier: GPL-2.0-only
/* A root process that has the kernel patch its own text, by way of BPF. */
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "bpf.h"
#include "files.h"

static int helper = -1;
static pid_t last_process;

static bool has_input(int fd)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };

	return poll(&input, 1, 0) != 0;
}

/*
 * Text that nothing runs: under QEMU a CPU may run into what was there before
 * when existing code is patched, and the function tracer patches the scheduler.
 */
static void patch_text(int fd)
{
	bpf_jit_on();
	while (!has_input(fd))
		close(bpf_load(0));
}

/* Returns the other end of what it reads. */
static int start_process(void (*run)(int fd))
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		_exit(1);
	last_process = fork();
	if (!last_process) {
		close(fds[0]);
		run(fds[1]);
	}
	close(fds[1]);
	return fds[0];
}

static void helper_main(int fd)
{
	char go;

	while (read(fd, &go, 1) == 1) {
		patch_text(fd);
		if (read(fd, &go, 1) != 1 || write(fd, &go, 1) != 1)
			break;
	}
	_exit(0);
}

void helper_start(void)
{
	helper = start_process(helper_main);
}

int helper_pid(void)
{
	return last_process;
}

static void tell_helper(void)
{
	if (write(helper, "p", 1) != 1)
		_exit(1);
}

void helper_patch_text(void)
{
	tell_helper();
}

void helper_stop(void)
{
	char done;

	tell_helper();
	if (read(helper, &done, 1) != 1)
		_exit(1);
}

/* ---- a root process that takes a CPU off and back ---- */

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static int hotplug = -1;

static void hotplug_main(int fd)
{
	char go;

	while (read(fd, &go, 1) == 1) {
		file_write(ONLINE, go ? "1" : "0");
		if (write(fd, &go, 1) != 1)
			break;
	}
	_exit(0);
}

void hotplug_start(void)
{
	hotplug = start_process(hotplug_main);
}

void hotplug_cpu(bool online)
{
	char go = online;

	if (write(hotplug, &go, 1) != 1 || read(hotplug, &go, 1) != 1)
		_exit(1);
}

/* ---- a root process that has lists of groups made ---- */

#define LISTS	48

static int lists = -1;

static void have_list(void)
{
	const gid_t root = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!setgroups(1, &root))
		pause();
	_exit(1);
}

static void groups_main(int fd)
{
	char go;
	int i;

	while (read(fd, &go, 1) == 1) {
		for (i = 0; i < LISTS; i++)
			if (!fork())
				have_list();
		usleep(LISTS * 10000);
		if (write(fd, &go, 1) != 1)
			break;
	}
	_exit(0);
}

void groups_start(void)
{
	lists = start_process(groups_main);
}

void groups_take(void)
{
	char go = 0;

	if (write(lists, &go, 1) != 1 || read(lists, &go, 1) != 1)
		_exit(1);
}

/* ---- a root process in a user namespace of its own ---- */

static void service_main(int fd)
{
	char ready = !unshare(CLONE_NEWUSER) && !file_write("/proc/self/uid_map", "0 0 1") &&
		     !file_write("/proc/self/setgroups", "deny") &&
		     !file_write("/proc/self/gid_map", "0 0 1");

	if (write(fd, &ready, 1) == 1 && ready)
		pause();
	_exit(1);
}

void service_start(void)
{
	char ready;

	if (read(start_process(service_main), &ready, 1) != 1 || !ready)
		_exit(1);
}

pid_t service_pid(void)
{
	return last_process;
}
