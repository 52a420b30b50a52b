// SPDX-License-Identifier: MIT
/* Programs of PCRE2 itself, in guests; on other machines they are run as the package does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

#define OUTPUT	"/tmp/pcre2-tests.out"

/* Returns the wait status; what it says goes to a file. */
static int run_program(const char *const words[])
{
	int status, out;
	pid_t pid = fork();

	if (!pid) {
		out = open(OUTPUT ".said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		execv(words[0], (char **)words);
		_exit(127);
	}
	CHECK(pid > 0);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	return status;
}

void jit_test(void)
{
	static const char *const words[] = { "/bin/pcre2_jit_test", NULL };

	CHECK_EQUAL(run_program(words), 0);
}

/* The first line that differs; 0 when none does. */
static int different_line(const char *one, const char *other)
{
	FILE *files[2] = { fopen(one, "r"), fopen(other, "r") };
	int here, there, line = 1;

	CHECK(files[0] && files[1]);
	do {
		here = getc(files[0]);
		there = getc(files[1]);
		line += here == '\n' && here == there;
	} while (here == there && here != EOF);
	fclose(files[0]);
	fclose(files[1]);
	return here == there ? 0 : line;
}

/* As RunTest does with JIT; the names are those of testdata, of which guests have some. */
void testinputs(void)
{
	char input[32], expected[32];
	const char *const words[] = { "/bin/pcre2test", "-q", "-8", "-jit", input, OUTPUT, NULL };
	int number, done = 0, line;

	CHECK(!chdir("/bin"));
	for (number = 1; number < 30; number++) {
		snprintf(input, sizeof(input), "testinput%d", number);
		snprintf(expected, sizeof(expected), "testoutput%d", number);
		if (access(input, R_OK))
			continue;
		CHECK_EQUAL(run_program(words), 0);
		line = different_line(expected, OUTPUT);
		if (line)
			fail_at(__FILE__, __LINE__, "%s, line %d", expected, line);
		done++;
	}
	CHECK(done >= 4);
}
