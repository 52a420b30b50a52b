// SPDX-License-Identifier: GPL-2.0-only
/*
 * pcrebench FOLDER TIMES INPUT VARIANT...: runs PCRE2's own speed tests in FOLDER, by
 * programs that are there as FOLDER/pcre2test-VARIANT, each in regions for the
 * emulator's plugin: "start/VARIANT" with no pattern, "match/VARIANT" where each
 * pattern of INPUT is compiled once and matched TIMES times, and "compile/VARIANT"
 * where it is compiled so often as well.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "mark.h"
#include "results.h"
#include "steady.h"

#define OUTPUT	"/tmp/pcrebench.out"
#define NOTHING	"/dev/null"
#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"

struct bench {
	const char *folder, *times, *input;
};

static void child(const struct bench *bench, const char *variant, const char *option)
{
	char program[64];
	const char *args[] = { program, "-q", "-8", "-jit", option, bench->times,
			       option ? bench->input : NOTHING, OUTPUT, NULL };
	const char *bare[] = { program, "-q", "-8", "-jit", NOTHING, OUTPUT, NULL };
	int out = open(NOTHING, O_WRONLY);

	snprintf(program, sizeof(program), "./pcre2test-%s", variant);
	if (out < 0 || chdir(bench->folder))
		_exit(126);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	stay_ahead_on_one_cpu();
	execv(program, (char **)(option ? args : bare));
	_exit(127);
}

static void run(const struct bench *bench, const char *variant, const char *name,
		const char *option)
{
	char region[MARK_NAME_SIZE];
	int status = -1;
	pid_t pid;

	snprintf(region, sizeof(region), "%s/%s", name, variant);
	mark_open(region);
	pid = fork();
	if (!pid)
		child(bench, variant, option);
	waitpid(pid, &status, 0);
	mark_close();
	if (status)
		result_fail(region, "it ended with wait status %#x", status);
	else
		result_ok(region);
}

int main(int argc, char **argv)
{
	struct bench bench;
	int i;

	if (argc < 5)
		return 2;
	fix_layout(argv);
	bench = (struct bench){ .folder = argv[1], .times = argv[2], .input = argv[3] };
	results_begin();
	/* Real-time programs may take all of the CPU, without a break now and then. */
	file_write(RT_RUNTIME, "-1");
	for (i = 4; i < argc; i++) {
		run(&bench, argv[i], "start", NULL);
		run(&bench, argv[i], "match", "-tm");
		run(&bench, argv[i], "compile", "-t");
	}
	return results_end();
}
