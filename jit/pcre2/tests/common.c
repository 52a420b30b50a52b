// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests.h"

pcre2_code *compile_jit(const char *text, int error)
{
	int number;
	PCRE2_SIZE at;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &number,
					 &at, NULL);

	CHECK(code);
	CHECK_EQUAL(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE), error);
	return code;
}

int match(const pcre2_code *code, const char *subject)
{
	pcre2_match_data *data = pcre2_match_data_create(8, NULL);
	int result;

	CHECK(data);
	result = pcre2_jit_match(code, (PCRE2_SPTR)subject, strlen(subject), 0, 0, data, NULL);
	pcre2_match_data_free(data);
	return result;
}

struct pattern make_pattern(int number)
{
	struct pattern pattern = { .number = number };
	char text[64];

	snprintf(text, sizeof(text), "^(?:a|bc)*<(%d)>[a-z]+(?=x)", number);
	pattern.code = compile_jit(text, 0);
	return pattern;
}

void check_pattern(struct pattern pattern)
{
	char subject[64];

	snprintf(subject, sizeof(subject), "abcbca<%d>qrsx", pattern.number);
	CHECK_EQUAL(match(pattern.code, subject), 2);
	snprintf(subject, sizeof(subject), "abcbca<%d>qrsx", pattern.number + 1);
	CHECK_EQUAL(match(pattern.code, subject), PCRE2_ERROR_NOMATCH);
}

void free_pattern(struct pattern pattern)
{
	pcre2_code_free(pattern.code);
}

void work(int first, int count)
{
	struct pattern pattern;
	int i;

	for (i = first; i < first + count; i++) {
		pattern = make_pattern(i);
		check_pattern(pattern);
		free_pattern(pattern);
	}
}

/* Memory that can be run and is of no file: but for one that sljit made. */
unsigned char *machine_code(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long start, end, found = 0;
	char line[512], rights[8], path[256];

	CHECK(file);
	while (!found && fgets(line, sizeof(line), file)) {
		*path = '\0';
		sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &start, &end, rights, path);
		if (rights[2] == 'x' && (!*path || strstr(path, "memfd:") || strstr(path, "/tmp/")))
			found = start;
	}
	fclose(file);
	return (unsigned char *)found;
}
