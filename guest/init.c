// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of the test guest: mounts what the jobs need, runs
 * portcullis.job=NAME[,ARG...] as /bin/NAME ARG..., reports "#done STATUS" on
 * the results port and powers off.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "files.h"
#include "words.h"

#define RESULTS_PORT	"portcullis.results"
#define PORTS		"/sys/class/virtio-ports"
#define PORT_DEVICE	"/sys/bus/virtio/devices/virtio0"
#define PORT_TRIES	1000	/* for 10 ms each */

static const struct {
	const char *type, *dir, *options;
} mounts[] = {
	{ "proc", "/proc", NULL },
	{ "sysfs", "/sys", NULL },
	{ "devtmpfs", "/dev", NULL },
	{ "debugfs", "/sys/kernel/debug", NULL },
	{ "tracefs", "/sys/kernel/tracing", NULL },
	{ "cgroup2", "/sys/fs/cgroup", NULL },
	{ "tmpfs", "/tmp", "mode=1777" },
	{ "efivarfs", "/sys/firmware/efi/efivars", NULL },	/* where there is EFI */
};

static void mount_all(void)
{
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (mkdir(mounts[i].dir, 0755) && errno == ENOENT)
			continue;
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0,
			  mounts[i].options) && errno != EBUSY)
			fprintf(stderr, "init: mount %s: %s\n", mounts[i].dir, strerror(errno));
	}
}

static void use_as_standard(int fd)
{
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	if (fd >= 0)
		use_as_standard(fd);
}

static int open_port(const char *port)
{
	char path[512], name[128];

	snprintf(path, sizeof(path), PORTS "/%s/name", port);
	file_read(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	if (strcmp(name, RESULTS_PORT))
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", port);
	return open(path, O_WRONLY);
}

static int find_port(void)
{
	struct dirent *entry;
	DIR *dir = opendir(PORTS);
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir)))
		fd = open_port(entry->d_name);
	if (dir)
		closedir(dir);
	return fd;
}

/*
 * The kernel learns of a port some time after it finds the device. Returns
 * standard output when the host gave us none.
 */
static int open_results(void)
{
	int fd = find_port(), tries = PORT_TRIES;

	while (fd < 0 && !access(PORT_DEVICE, F_OK) && tries--) {
		usleep(10000);
		fd = find_port();
	}
	return fd < 0 ? STDOUT_FILENO : fd;
}

/* On the real terminal behind the console, for job control. */
static void run_shell(void)
{
	char name[64], path[80];
	int fd;

	setsid();
	file_read("/sys/class/tty/console/active", name, sizeof(name));
	snprintf(path, sizeof(path), "/dev/%.*s", (int)strcspn(name, " \n"), name);
	fd = open(path, O_RDWR);
	if (fd >= 0) {
		ioctl(fd, TIOCSCTTY, 1);
		use_as_standard(fd);
	}
	execl("/bin/busybox", "sh", (char *)NULL);
	_exit(127);
}

static void run_job(char *job)
{
	char *args[MAX_WORDS + 1];
	char path[256];

	if (words_split(job, args) < 0) {
		fprintf(stderr, "init: the job has more than %d words\n", MAX_WORDS);
		_exit(127);
	}
	if (!strcmp(args[0], "shell"))
		run_shell();
	snprintf(path, sizeof(path), "/bin/%s", args[0]);
	execv(path, args);
	fprintf(stderr, "init: %s: %s\n", path, strerror(errno));
	_exit(127);
}

/* Reaps everything, as PID 1 must; returns the exit status of the job. */
static int wait_for_job(pid_t job)
{
	int status, result = 255;
	pid_t pid;

	while ((pid = wait(&status)) != job)
		if (pid < 0 && errno == ECHILD)
			return 255;
	if (WIFEXITED(status))
		result = WEXITSTATUS(status);
	else if (WIFSIGNALED(status))
		result = 128 + WTERMSIG(status);
	return result;
}

static int run(char *job, int results)
{
	char number[16];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", results);
	setenv("RESULTS_FD", number, 1);
	setenv("PATH", "/bin", 1);
	pid = fork();
	if (!pid)
		run_job(job);
	/* A job may leave another CPU to itself for ever, and its end has to be told. */
	stay_on_cpu(0);
	return wait_for_job(pid);
}

/* A PC without ACPI cannot be switched off; QEMU ends when it restarts, too. */
static int last_command(void)
{
#ifdef __x86_64__
	if (access("/sys/firmware/acpi", F_OK))
		return RB_AUTOBOOT;
#endif
	return RB_POWER_OFF;
}

int main(void)
{
	char job[COMMAND_LINE_SIZE];
	int results, status;

	mount_all();
	open_console();
	results = open_results();
	if (!cmdline_value("portcullis.job", job, sizeof(job)))
		strcpy(job, "shell");
	status = run(job, results);
	dprintf(results, "#done %d\n", status);
	if (results != STDOUT_FILENO)
		close(results);
	sync();
	reboot(last_command());
	return 1;
}
