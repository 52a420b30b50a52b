// SPDX-License-Identifier: GPL-2.0-only
/*
 * stress [NAME...]: everything that makes, changes and frees page tables, one
 * result line each, and the checker at the end. Without names: all jobs that
 * need no help from the host.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/job.h"
#include "kpkeys.h"
#include "results.h"

#define JOB_SECONDS	60

static const struct job {
	const char *name;
	enum job_outcome (*run)(void);
	bool by_default;
} jobs[] = {
#define X(function, name, by_default) { name, function, by_default },
	JOBS(X)
#undef X
	{ 0 }
};

/* Shared with the process of the job. */
static struct report {
	enum job_outcome outcome;
	char reason[256];
} *report;

enum job_outcome passed(void)
{
	return JOB_PASSED;
}

enum job_outcome failed(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(report->reason, sizeof(report->reason), fmt, args);
	va_end(args);
	return JOB_FAILED;
}

enum job_outcome skipped(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(report->reason, sizeof(report->reason), fmt, args);
	va_end(args);
	return JOB_SKIPPED;
}

static void run_in_child(const struct job *job)
{
	int status;
	pid_t pid;

	report->outcome = JOB_DIED;
	report->reason[0] = '\0';
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		alarm(JOB_SECONDS);
		report->outcome = job->run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status)) {
		report->outcome = JOB_DIED;
		snprintf(report->reason, sizeof(report->reason), "killed by signal %d",
			 WTERMSIG(status));
	}
}

static void run_job(const struct job *job)
{
	double start = now();

	run_in_child(job);
	switch (report->outcome) {
	case JOB_PASSED:
		result_ok(job->name);
		break;
	case JOB_SKIPPED:
		result_skip(job->name, "%s", report->reason);
		break;
	default:
		result_fail(job->name, "%s", report->reason);
	}
	result_comment("%s took %.1f s", job->name, now() - start);
}

static bool wanted(const struct job *job, int count, char **names)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], job->name))
			return true;
	return !count && job->by_default;
}

static bool known(const char *name)
{
	const struct job *job;

	for (job = jobs; job->name; job++)
		if (!strcmp(job->name, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	unsigned long violations = kpkeys_stat("violations");
	const struct job *job;
	char reason[512], backend[16];
	int i;

	/* What fork-exec starts, over and over. */
	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "pauth-state"))
		return pauth_show_state();
	if (argc == 2 && !strcmp(argv[1], "ids"))
		return show_ids();

	results_begin();
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	kpkeys_backend(backend, sizeof(backend));
	result_comment("backend %s", backend);
	kpkeys_print_linear_map("before");
	for (i = 1; i < argc; i++)
		if (!known(argv[i]))
			result_fail(argv[i], "no such job");
	for (job = jobs; job->name; job++)
		if (wanted(job, argc - 1, argv + 1))
			run_job(job);

	kpkeys_print_linear_map("after");

	violations = kpkeys_stat("violations") - violations;
	if (violations)
		result_fail("no violations", "%lu violations", violations);
	else
		result_ok("no violations");
	if (kpkeys_check(reason, sizeof(reason)))
		result_ok("checker");
	else
		result_fail("checker", "%s", reason);
	return results_end();
}
