// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compile jobs. Every round compiles all files. With tcc, which runs once for each
 * file that COMPILE/files lists, one after the other; or with make, which runs
 * several gcc at once, each of which runs a compiler and an assembler.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define COMPILE		"/compile"
#define COMPILER	COMPILE "/bin/tcc"
#define OBJECT		"/tmp/object.o"
#define MAKE		"/usr/bin/make"
#define OBJECTS		"/tmp/objects"
#define MAX_FILES	128
#define MAX_ARGS	32
#define MAX_TEXT	16384

/* Lines of a small file. Returns how many. */
static int read_lines(const char *path, char *text, char **lines, int max)
{
	int n = 0, fd = open(path, O_RDONLY);
	ssize_t got = read(fd, text, MAX_TEXT - 1);
	char *line, *rest = text;

	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	while (n < max && (line = strsep(&rest, "\n")))
		if (*line)
			lines[n++] = line;
	return n;
}

static void exec_compiler(char *file)
{
	static char text[MAX_TEXT];
	char *args[MAX_ARGS + 5] = { COMPILER, "-c", "-o", OBJECT, file };

	read_lines(COMPILE "/flags", text, args + 5, MAX_ARGS - 1);
	setenv("LD_LIBRARY_PATH", COMPILE "/lib", 1);
	execv(COMPILER, args);
	_exit(127);
}

static int compile(char *file)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		exec_compiler(file);
	waitpid(pid, &status, 0);
	return status;
}

static bool is_object(const char *path)
{
	char magic[4] = "";
	int fd = open(path, O_RDONLY);
	bool good = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		    !memcmp(magic, "\177ELF", sizeof(magic));

	close(fd);
	unlink(path);
	return good;
}

static long compile_round(const struct load *load)
{
	static char text[MAX_TEXT];
	char *files[MAX_FILES];
	int i, n, bad = 0;

	if (access(COMPILER, X_OK)) {
		load_skipped("no compiler in this guest");
		return 0;
	}
	n = read_lines(COMPILE "/files", text, files, MAX_FILES);
	load_open(load);
	for (i = 0; i < n; i++)
		if (compile(files[i]) || !is_object(OBJECT))
			bad++;
	load_close();
	if (bad)
		load_failed("%d of %d files did not compile", bad, n);
	return n;
}

static int make(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		setenv("PATH", "/usr/bin", 1);
		execl(MAKE, "make", "-s", "-C", COMPILE, "O=" OBJECTS, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int count_objects(void)
{
	char path[64];
	int n = 0;

	do
		snprintf(path, sizeof(path), OBJECTS "/%d.o", n);
	while (is_object(path) && ++n);
	return n;
}

static long make_round(const struct load *load)
{
	int n, status;

	if (access(MAKE, X_OK)) {
		load_skipped("no make in this guest");
		return 0;
	}
	mkdir(OBJECTS, 0755);
	load_open(load);
	status = make();
	load_close();
	n = count_objects();
	if (status)
		load_failed("make ended with 0x%x, behind %d files", status, n);
	return n;
}

const struct load compile_loads[] = {
	{ .name = "kernbench", .round = compile_round },
	{ .name = "kernbench-gcc", .round = make_round },
	{ .name = NULL },
};
