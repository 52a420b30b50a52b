// SPDX-License-Identifier: GPL-2.0-only
/* Runs the programs named on the command line; their output becomes comments, their exit status the result. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results.h"

#define KSFT_SKIP 4

/* Starts a program; returns its output as a stream. */
static FILE *start(const char *name, pid_t *pid)
{
	char path[128];
	int ends[2];

	snprintf(path, sizeof(path), "/bin/%s", name);
	if (pipe(ends))
		return NULL;
	*pid = fork();
	if (!*pid) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* Some start a program of theirs from the current folder. */
		if (chdir("/bin"))
			_exit(127);
		execl(path, name, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static void run(const char *name)
{
	char line[4096], last[256] = "no output";
	FILE *output;
	int status;
	pid_t pid;

	output = start(name, &pid);
	if (!output) {
		result_fail(name, "cannot start it");
		return;
	}
	while (fgets(line, sizeof(line), output)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line)
			snprintf(last, sizeof(last), "%.255s", line);
		result_comment("%s: %s", name, line);
	}
	fclose(output);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		result_ok(name);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		result_skip(name, "%s", last);
	else
		result_fail(name, "wait status %#x, last line: %s", status, last);
}

int main(int argc, char **argv)
{
	results_begin();
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return results_end();
}
