// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "kpkeys.h"
#include "results.h"

#define LINEAR_MAP	KPKEYS_DIR "linear_map"

static unsigned long value_in(const char *path, const char *name)
{
	size_t len = strlen(name);
	char text[8192];
	char *line, *rest = text;

	if (file_read(path, text, sizeof(text)) < 0)
		return 0;
	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtoul(line + len, NULL, 10);
	}
	return 0;
}

unsigned long kpkeys_stat(const char *name)
{
	return value_in(KPKEYS_DIR "stats", name);
}

static void take_stat(const char *line, const char * const *names, long *values, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(line, names[i], len) && line[len] == ' ')
			values[i] = atol(line + len);
	}
}

void kpkeys_read_stats(const char * const *names, long *values, size_t nr)
{
	static char text[8192];
	char *line, *rest = text;

	memset(values, 0xff, nr * sizeof(*values));
	if (file_read(KPKEYS_DIR "stats", text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&rest, "\n")))
		take_stat(line, names, values, nr);
}

unsigned long kpkeys_linear_map(const char *name)
{
	return value_in(LINEAR_MAP, name);
}

void kpkeys_print_linear_map(const char *when)
{
	char text[2048];
	char *line, *rest = text;

	if (file_read(LINEAR_MAP, text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			result_comment("linear map %s: %s", when, line);
}

/* The one line of a file, or what is said when there is no such file. */
static void word_in(const char *path, const char *otherwise, char *word, size_t size)
{
	char text[64];

	if (file_read(path, text, sizeof(text)) <= 0)
		strcpy(text, otherwise);
	snprintf(word, size, "%.*s", (int)strcspn(text, "\n"), text);
}

void kpkeys_mode(char *mode, size_t size)
{
	word_in(KPKEYS_DIR "mode", "off", mode, size);
}

void kpkeys_backend(char *backend, size_t size)
{
	word_in(KPKEYS_DIR "backend", "none", backend, size);
}

/* First line of text that starts with prefix, or "". */
static void first_line(const char *text, const char *prefix, char *line, size_t size)
{
	const char *at = text;

	snprintf(line, size, "%s", "");
	while (at && *at) {
		if (!strncmp(at, prefix, strlen(prefix))) {
			snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
			return;
		}
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
}

static bool check_verdict(bool on, char *reason, size_t size)
{
	char text[16384], verdict[64], finding[256];

	if (file_read(KPKEYS_DIR "check", text, sizeof(text)) <= 0) {
		snprintf(reason, size, "no checker in this kernel");
		return !on;
	}
	first_line(text, "verdict ", verdict, sizeof(verdict));
	if (!strcmp(verdict, on ? "verdict ok" : "verdict off"))
		return true;

	first_line(text, "UNKEYED", finding, sizeof(finding));
	if (!finding[0])
		first_line(text, "FOREIGN", finding, sizeof(finding));
	snprintf(reason, size, "checker says '%.60s' %.200s", verdict, finding);
	return false;
}

bool kpkeys_check(char *reason, size_t size)
{
	char mode[16], expect[16];

	snprintf(reason, size, "%s", "");
	kpkeys_mode(mode, sizeof(mode));
	if (!cmdline_value("portcullis.expect", expect, sizeof(expect)))
		snprintf(expect, sizeof(expect), "%s", mode);
	if (strcmp(mode, expect)) {
		snprintf(reason, size, "boot asked for %s and got %s", expect, mode);
		return false;
	}
	return check_verdict(strcmp(mode, "off"), reason, size);
}
