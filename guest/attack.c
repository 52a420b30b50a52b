// SPDX-License-Identifier: GPL-2.0-only
/*
 * attack [list|all|NAME...]: run attacks, each in a process of its own, and
 * say what became of them: LANDED, REPORTED or BLOCKED.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attacks/attack.h"
#include "attacks/objects.h"
#include "attacks/rooted.h"
#include "cpus.h"
#include "files.h"
#include "kpkeys.h"
#include "results.h"

#define ATTACK_SECONDS	60
#define EXIT_SECONDS	5
#define CLOCK_SECONDS	5
#define CLOCK		"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CLOCK_UNMEASURED "tsc-early"
#define OOM_SCORE	"/proc/self/oom_score_adj"
#define PF_EXITING	4	/* in the ninth field of /proc/PID/stat */

/* Shared with the attacking process. */
static struct report {
	enum outcome outcome;
	char evidence[512];
} *report;

static void tell(enum outcome outcome, const char *fmt, va_list args)
{
	vsnprintf(report->evidence, sizeof(report->evidence), fmt, args);
	report->outcome = outcome;
}

#define TELL(name, what)				\
enum outcome name(const char *fmt, ...)			\
{							\
	va_list args;					\
							\
	va_start(args, fmt);				\
	tell(what, fmt, args);				\
	va_end(args);					\
	return what;					\
}

TELL(won, WON)
TELL(lost, LOST)
TELL(skipped, SKIPPED)
TELL(broken, BROKEN)

/* The effective ones go with the user ID, the permitted ones stay. */
static int raise_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	int i;

	if (syscall(SYS_capget, &header, data))
		return -1;
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = data[i].permitted;
	return syscall(SYS_capset, &header, data);
}

static void become_attacker(bool keep_capabilities)
{
	const gid_t group = ATTACKER_UID;

	prctl(PR_SET_KEEPCAPS, keep_capabilities);
	if (setgroups(1, &group) || setresgid(ATTACKER_UID, ATTACKER_UID, ATTACKER_UID) ||
	    setresuid(ATTACKER_UID, ATTACKER_UID, ATTACKER_UID) ||
	    (keep_capabilities && raise_capabilities()))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

static void attacker(const struct attack *attack)
{
	setpgid(0, 0);
	file_write(OOM_SCORE, "0");
	run_on_any_cpu();
	alarm(ATTACK_SECONDS);
	if (attack->needs & NEEDS_VICTIM)
		victim_start();
	if (attack->needs & NEEDS_SETUID)
		setuid_program_create();
	if (attack->needs & NEEDS_HELPER)
		helper_start();
	if (attack->needs & NEEDS_HOTPLUG)
		hotplug_start();
	if (attack->needs & NEEDS_KCORE)
		kcore_open();
	if (attack->needs & NEEDS_LOG)
		kernel_log_watch();
	if (attack->needs & NEEDS_FILE)
		root_file_create();
	if (attack->needs & NEEDS_GROUPS)
		groups_start();
	if (attack->needs & NEEDS_SERVICE)
		service_start();
	become_attacker(attack->needs & NEEDS_CAPS);
	attack->run();
	_exit(0);
}

static bool is_exiting(pid_t pid)
{
	unsigned int flags = 0;
	char path[32];
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	if (fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(stat);
	return flags & PF_EXITING;
}

/*
 * Who dies in the kernel with a lock held may wait for it for ever as he
 * exits, and so may others. A guest that ends tells the host who did it. For
 * one who dies twice there is nothing to wait for.
 */
static int wait_for_attacker(pid_t pid)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = SIGKILL, exiting = 0;

	while (end.fd >= 0 && !poll(&end, 1, 1000)) {
		exiting = is_exiting(pid) ? exiting + 1 : 0;
		if (exiting > EXIT_SECONDS)
			file_write("/proc/sysrq-trigger", "b");
	}
	waitpid(pid, &status, 0);
	close(end.fd);
	return status;
}

/* Returns whether the kernel killed it: nobody else does before it ends. */
static bool run_attacker(const struct attack *attack)
{
	int status;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	snprintf(report->evidence, sizeof(report->evidence), "attack said nothing");
	fflush(NULL);
	pid = fork();
	if (!pid)
		attacker(attack);
	have_own_pages();
	status = wait_for_attacker(pid);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status) && report->outcome == BROKEN)
		snprintf(report->evidence, sizeof(report->evidence),
			 "attack killed by signal %d", WTERMSIG(status));
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* The last line of the kernel log that tells of a refused access, or "". */
static void kernel_complaint(int kmsg, char *line, size_t size)
{
	char record[8192];
	bool violation = false;
	char *text;
	ssize_t n;

	line[0] = '\0';
	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		text = strchr(record, ';');
		if (!text)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (strstr(text, "kpkeys: violation"))
			violation = true;
		else if (violation || !strstr(text, "BUG: unable to handle"))
			continue;
		snprintf(line, size, "%s", text + 1);
	}
}

static const char *verdict_of(enum outcome outcome, unsigned long violations)
{
	switch (outcome) {
	case WON:
		return violations ? "REPORTED" : "LANDED";
	case LOST:
		return "BLOCKED";
	case SKIPPED:
		return "SKIPPED";
	default:
		return "ERROR";
	}
}

static void tell_host(const struct attack *attack, const char *verdict,
		      unsigned long violations, const char *complaint)
{
	char evidence[1024], escaped[2048];

	if (!strcmp(verdict, "BLOCKED") && complaint[0])
		snprintf(evidence, sizeof(evidence), "%s; %s", complaint, report->evidence);
	else if (violations && complaint[0])
		snprintf(evidence, sizeof(evidence), "%s; %s", report->evidence, complaint);
	else if (violations)
		snprintf(evidence, sizeof(evidence), "%s; %lu violations counted",
			 report->evidence, violations);
	else
		snprintf(evidence, sizeof(evidence), "%s", report->evidence);
	json_escape(evidence, escaped, sizeof(escaped));
	result_json("{\"attack\": \"%s\", \"verdict\": \"%s\", \"violations\": %lu, \"evidence\": \"%s\"}",
		    attack->name, verdict, violations, escaped);

	if (report->outcome == SKIPPED)
		result_skip(attack->name, "%s", report->evidence);
	else if (report->outcome == BROKEN)
		result_fail(attack->name, "%s", report->evidence);
	else
		result_ok(attack->name);
}

/* The log of a machine that dies must say in which attack. */
static void announce(const struct attack *attack)
{
	char line[64];

	snprintf(line, sizeof(line), "<6>portcullis: attack %s\n", attack->name);
	file_write("/dev/kmsg", line);
}

static void run_attack(const struct attack *attack)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned long violations = kpkeys_stat("violations");
	char complaint[512] = "";
	bool killed;

	announce(attack);
	lseek(kmsg, 0, SEEK_END);
	killed = run_attacker(attack);
	/* What one who was killed still held. */
	corrupt_command("free");
	violations = kpkeys_stat("violations") - violations;
	kernel_complaint(kmsg, complaint, sizeof(complaint));
	/* For an entry that is refused the kernel kills whoever asked for it. */
	if (killed && report->outcome == BROKEN && strstr(complaint, "kpkeys: violation"))
		report->outcome = LOST;
	close(kmsg);
	tell_host(attack, verdict_of(report->outcome, violations), violations, complaint);
}

static const struct attack *find_attack(const char *name)
{
	const struct attack *attack;

	for (attack = attacks; attack->name; attack++)
		if (!strcmp(attack->name, name))
			return attack;
	return NULL;
}

static void run_all(void)
{
	const struct attack *attack;

	for (attack = attacks; attack->name; attack++)
		run_attack(attack);
}

/* In the order given, so that the host knows who ended the guest. */
static void run_named(int count, char **names)
{
	const struct attack *attack;
	int i;

	for (i = 0; i < count; i++) {
		attack = find_attack(names[i]);
		if (attack)
			run_attack(attack);
		else if (!strcmp(names[i], "all"))
			run_all();
		else
			result_fail(names[i], "no such attack; try: attack list");
	}
}

/*
 * When the kernel has measured the TSC it stops all CPUs to change its clock. An
 * attack that has one CPU wait for what it does on another would never end.
 */
static void wait_for_clock(void)
{
	char clock[32];
	int i;

	for (i = 0; i < CLOCK_SECONDS * 100; i++) {
		if (file_read(CLOCK, clock, sizeof(clock)) < 0 ||
		    strncmp(clock, CLOCK_UNMEASURED, strlen(CLOCK_UNMEASURED)))
			return;
		usleep(10000);
	}
}

static int list_attacks(void)
{
	const struct attack *attack;

	for (attack = attacks; attack->name; attack++)
		puts(attack->name);
	return 0;
}

int main(int argc, char **argv)
{
	char mode[16], backend[16];
	int err;

	if (is_rooted(argv[0]))
		return rooted();
	if (argc > 1 && !strcmp(argv[1], "list"))
		return list_attacks();

	results_begin();
	err = corrupt_open();
	if (err) {
		result_fail("attack component", "%s", strerror(-err));
		results_end();
		return 2;
	}
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	kpkeys_mode(mode, sizeof(mode));
	kpkeys_backend(backend, sizeof(backend));
	result_json("{\"mode\": \"%s\", \"backend\": \"%s\"}", mode, backend);
	/* An attack may leave another CPU to itself for ever, and use up all memory. */
	stay_on_cpu(0);
	file_write(OOM_SCORE, "-1000");
	wait_for_clock();
	if (argc > 1)
		run_named(argc - 1, argv + 1);
	else
		run_all();
	return results_end();
}
