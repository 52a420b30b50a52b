// SPDX-License-Identifier: GPL-2.0-only
/* Print the checker's report and the counters; fail on a bad verdict. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The image of a machine that hibernates has all secrets in it. */
static void check_hibernation(void)
{
	unsigned long secrets = kpkeys_stat("secret_pages");
	char states[64];

	if (access("/sys/power/disk", F_OK)) {
		result_skip("hibernation", "not in this kernel");
		return;
	}
	file_read("/sys/power/state", states, sizeof(states));
	if (!strstr(states, "disk") == !!secrets)
		result_ok("hibernation");
	else
		result_fail("hibernation", "%s with %lu pages of secrets",
			    secrets ? "allowed" : "refused", secrets);
}

int main(void)
{
	char reason[512], mode[16], backend[16];

	results_begin();
	kpkeys_mode(mode, sizeof(mode));
	kpkeys_backend(backend, sizeof(backend));
	result_comment("mode %s, backend %s", mode, backend);
	print_file(KPKEYS_DIR "check");
	print_file(KPKEYS_DIR "stats");
	kpkeys_print_linear_map("now");
	if (kpkeys_check(reason, sizeof(reason)))
		result_ok("checker");
	else
		result_fail("checker", "%s", reason);
	check_hibernation();
	return results_end();
}
