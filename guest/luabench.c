// SPDX-License-Identifier: GPL-2.0-only
/*
 * luabench FOLDER [iterations=N] [size=quick|default|N] [seeds=N] [regions=0]
 * VARIANT... NAME...: runs benchmarks of jit/luajit/bench in FOLDER on interpreters that are there as
 * FOLDER/luajit-VARIANT. Each runs twice: once for the emulator's plugin, in a region
 * "NAME/VARIANT", and once traced, to count its system calls by number.
 *
 * LuaJIT decides by random numbers when to try a trace again, and where to look for
 * memory. Both runs, and all variants, start with the same: the bytes that it asks the
 * kernel for are replaced, by others for each seed. What comes before that, starting a
 * program, is in no count.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "mark.h"
#include "results.h"
#include "steady.h"

#define SEED_SIZE	32	/* of what LuaJIT asks for at its start; the C library asks for less */
#define MAX_VARIANTS	4
#define OUTPUT		"/tmp/luabench.out"
#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"
#define SYSCALL_STOP	(SIGTRAP | 0x80)

static const struct {
	const char *name;
	long number;
} watched[] = {
	{ "mprotect", SYS_mprotect }, { "pkey_mprotect", SYS_pkey_mprotect },
	{ "pkey_alloc", SYS_pkey_alloc }, { "mmap", SYS_mmap }, { "munmap", SYS_munmap },
	{ "mremap", SYS_mremap }, { "brk", SYS_brk }, { "madvise", SYS_madvise },
	{ "rt_sigprocmask", SYS_rt_sigprocmask },
};

#define NR_WATCHED	(sizeof(watched) / sizeof(watched[0]))

struct calls {
	long all, by_number[NR_WATCHED];
};

struct bench {
	const char *folder, *variant, *name;
	const char *iterations, *size, *count;
	unsigned long seed;
};

static bool regions = true;

static void child(const struct bench *bench)
{
	char program[256];
	const char *args[] = {
		program, "run.lua", ".", bench->name, bench->iterations, bench->size,
		bench->count, NULL
	};
	int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	snprintf(program, sizeof(program), "./luajit-%s", bench->variant);
	if (out < 0 || chdir(bench->folder))
		_exit(126);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close(out);
	if (regions)
		stay_ahead_on_one_cpu();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execv(program, (char **)args);
	_exit(127);
}

/* Runs to the next entry or exit of a system call; false when the program has ended. */
static bool next_stop(pid_t pid, struct __ptrace_syscall_info *info, int *status)
{
	int signal = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, signal) || waitpid(pid, status, 0) != pid)
			return false;
		if (!WIFSTOPPED(*status))
			return false;
		if (WSTOPSIG(*status) == SYSCALL_STOP)
			break;
		signal = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
	}
	return ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(*info), info) > 0;
}

static void write_seed(const struct bench *bench, pid_t pid, unsigned long at)
{
	size_t i;

	for (i = 0; i < SEED_SIZE; i += sizeof(long))
		ptrace(PTRACE_POKEDATA, pid, at + i,
		       0x9e3779b97f4a7c15ul * (SEED_SIZE * bench->seed + i + 1));
}

/* To where the interpreter has its random numbers. */
static bool run_to_seed(const struct bench *bench, pid_t pid, int *status)
{
	struct __ptrace_syscall_info info;
	unsigned long at = 0;

	if (waitpid(pid, status, 0) != pid || !WIFSTOPPED(*status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		return false;
	while (next_stop(pid, &info, status)) {
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			at = info.entry.nr == SYS_getrandom && info.entry.args[1] == SEED_SIZE ?
			     info.entry.args[0] : 0;
		else if (info.op == PTRACE_SYSCALL_INFO_EXIT && at) {
			write_seed(bench, pid, at);
			return true;
		}
	}
	return false;
}

static void count_calls(pid_t pid, struct calls *calls, int *status)
{
	struct __ptrace_syscall_info info;
	size_t i;

	while (next_stop(pid, &info, status)) {
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		calls->all++;
		for (i = 0; i < NR_WATCHED; i++)
			if (info.entry.nr == (unsigned long)watched[i].number)
				calls->by_number[i]++;
	}
}

/* What the plugin counts in between is the program's, and how it ends. */
static void run_in_region(const struct bench *bench, pid_t pid, int *status)
{
	char region[MARK_NAME_SIZE];

	snprintf(region, sizeof(region), "%s/%s", bench->name, bench->variant);
	mark_open(region);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	waitpid(pid, status, 0);
	mark_close();
}

static void run(const struct bench *bench, struct calls *calls, char *said, int size)
{
	char test[96];
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		child(bench);
	*said = '\0';
	snprintf(test, sizeof(test), "%s/%s", bench->name, bench->variant);
	if (!run_to_seed(bench, pid, &status))
		kill(pid, SIGKILL);
	else if (calls)
		count_calls(pid, calls, &status);
	else
		run_in_region(bench, pid, &status);
	file_read(OUTPUT, said, size);
	said[strcspn(said, "\n")] = calls ? ' ' : '\0';
	said[strcspn(said, "\n")] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		result_fail(test, "it ended with status %#x and said: %s", status, said);
	else
		result_ok(test);
}

static long traces_in(const char *said)
{
	const char *at = strstr(said, "traces ");

	return at ? atol(at + strlen("traces ")) : -1;
}

static void tell(const struct bench *bench, const char *said, const struct calls *calls)
{
	char text[512], sum[128];
	size_t i, n = 0;

	for (i = 0; i < NR_WATCHED; i++)
		n += snprintf(text + n, sizeof(text) - n, ", \"%s\": %ld", watched[i].name,
			      calls->by_number[i]);
	json_escape(said, sum, sizeof(sum));
	result_json("{\"luabench\": \"%s\", \"variant\": \"%s\", \"said\": \"%s\", \"traces\": %ld, \"calls\": %ld%s}",
		    bench->name, bench->variant, sum, traces_in(said), calls->all, text);
}

static void run_both(struct bench *bench)
{
	struct calls calls = { 0 };
	char said[512];

	if (regions) {
		/* Real-time programs may take all of the CPU, without a break now and then. */
		file_write(RT_RUNTIME, "-1");
		/* As long as the other word: then everything has the same place in memory. */
		bench->count = "silent";
		run(bench, NULL, said, sizeof(said));
	}
	/* Where nothing is compared with a region, traces that were flushed count as well. */
	bench->count = regions ? "traces" : "events";
	run(bench, &calls, said, sizeof(said));
	tell(bench, said, &calls);
}

static void run_all(const struct bench *options, const char **variants, int count)
{
	struct bench bench = *options;
	int each;

	if (!count || !options->seed)
		result_fail(bench.name, "there is no interpreter or no seed for it");
	for (bench.seed = 1; bench.seed <= options->seed; bench.seed++)
		for (each = 0; each < count; each++) {
			bench.variant = variants[each];
			run_both(&bench);
		}
}

/* True when a word is an option, or the name of an interpreter, which are remembered. */
static bool take(char *word, struct bench *bench, const char **variants, int *count)
{
	char path[256];

	if (!strncmp(word, "iterations=", 11)) {
		bench->iterations = word + 11;
		return true;
	}
	if (!strncmp(word, "size=", 5)) {
		bench->size = word + 5;
		return true;
	}
	if (!strncmp(word, "seeds=", 6)) {
		bench->seed = strtoul(word + 6, NULL, 10);
		return true;
	}
	if (!strcmp(word, "regions=0")) {
		regions = false;
		return true;
	}
	snprintf(path, sizeof(path), "%s/luajit-%s", bench->folder, word);
	if (access(path, X_OK) || *count == MAX_VARIANTS)
		return false;
	variants[(*count)++] = word;
	return true;
}

int main(int argc, char **argv)
{
	const char *variants[MAX_VARIANTS];
	struct bench bench = { .iterations = "30", .size = "default", .seed = 1 };
	int i, count = 0;

	if (argc < 2)
		return 2;
	fix_layout(argv);
	bench.folder = argv[1];
	results_begin();
	for (i = 2; i < argc; i++) {
		if (take(argv[i], &bench, variants, &count))
			continue;
		bench.name = argv[i];
		run_all(&bench, variants, count);
	}
	return results_end();
}
