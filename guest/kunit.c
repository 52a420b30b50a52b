// SPDX-License-Identifier: GPL-2.0-only
/* Hand on what KUnit left in debugfs: one result line per suite. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "kpkeys.h"
#include "results.h"

#define KUNIT_DIR	"/sys/kernel/debug/kunit"

static void suite(const char *name)
{
	static char text[1 << 17];
	char path[512], failed[256] = "";
	char *line, *rest = text;
	int tests = 0;

	snprintf(path, sizeof(path), KUNIT_DIR "/%s/results", name);
	if (file_read(path, text, sizeof(text)) <= 0) {
		result_fail(name, "no results");
		return;
	}
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		result_comment("%s", line);
		tests += !strncmp(line, "    ok ", 7);
		if (strstr(line, "not ok ") && !failed[0])
			snprintf(failed, sizeof(failed), "%s", line + strspn(line, " "));
	}
	if (failed[0])
		result_fail(name, "%s", failed);
	else if (!tests)
		result_fail(name, "no test ran");
	else
		result_ok(name);
}

/* The kernel logs it, too; the host looks for that. */
static void left_open(const char *domain, const char *level)
{
	unsigned long before = kpkeys_stat("left_open"), noticed;
	char name[64];
	int i;

	if (access(KPKEYS_DIR "leave_open", F_OK) || !kpkeys_stat("boot_pages"))
		return;
	snprintf(name, sizeof(name), "section for %s left open", domain);
	/* More than once: preemption may get there before the way out. */
	for (i = 0; i < 3; i++)
		file_write(KPKEYS_DIR "leave_open", level);
	noticed = kpkeys_stat("left_open") - before;
	if (noticed)
		result_ok(name);
	else
		result_fail(name, "none of 3 noticed");
}

int main(void)
{
	struct dirent *entry;
	DIR *dir = opendir(KUNIT_DIR);
	int suites = 0;

	results_begin();
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		suite(entry->d_name);
		suites++;
	}
	if (dir)
		closedir(dir);
	left_open("page tables", "1");
	if (kpkeys_stat("secret_pages"))
		left_open("secrets", "2");
	left_open("the register alone", "255");
	if (!suites && access(KPKEYS_DIR "stats", F_OK))
		result_skip("kunit", "a kernel without kpkeys has no suites");
	else if (!suites)
		result_fail("kunit", "no suite ran; is kunit.enable=1 given?");
	return results_end();
}
