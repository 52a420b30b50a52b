// SPDX-License-Identifier: GPL-2.0-only
/* Print the checker's report and the counters; fail on a bad verdict. */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "kpkeys.h"
#include "results.h"

static void print_file(const char *path)
{
	char text[16384];
	char *line, *rest = text;

	if (file_read(path, text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			result_comment("%s", line);
}

int main(void)
{
	char reason[512], mode[16];

	results_begin();
	kpkeys_mode(mode, sizeof(mode));
	result_comment("mode %s", mode);
	print_file(KPKEYS_DIR "check");
	print_file(KPKEYS_DIR "stats");
	kpkeys_print_linear_map("now");
	if (kpkeys_check(reason, sizeof(reason)))
		result_ok("checker");
	else
		result_fail("checker", "%s", reason);
	return results_end();
}
