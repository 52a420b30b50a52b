// SPDX-License-Identifier: MIT
/* Looks at what the kernel has really mapped where the areas are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "lines.h"

typedef void report_t(const void *start, size_t size, const char *what, void *data);

struct checker {
	report_t *report;
	void *data;
	int wrong;
	bool keys_told;
};

static void complain(struct checker *checker, uintptr_t start, size_t size, const char *what)
{
	checker->wrong++;
	if (checker->report)
		checker->report((const void *)start, size, what, checker->data);
}

static const char *judge_used(const struct jitgate_area *area, const struct mapping *mapping,
			      int key)
{
	if (have_key() && key != DECISION->key)
		return "has not the key";
	if (pages_open(area))
		return NULL;
	if (strncmp(mapping->permissions, have_key() ? "rwx" : "r-x", 3))
		return "has other permissions";
	return NULL;
}

static const char *judge_reserve(const struct mapping *mapping)
{
	return strncmp(mapping->permissions, "---", 3) ? "is in use beyond the area" : NULL;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

static uintptr_t smaller(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

/* The part of a mapping between two addresses of an area. */
static void check_part(struct checker *checker, struct jitgate_area *area,
		       const struct mapping *mapping, int key, bool used)
{
	uintptr_t base = (uintptr_t)area->base, middle = base + area->size;
	uintptr_t start = larger(mapping->start, used ? base : middle);
	uintptr_t end = smaller(mapping->end, used ? middle : base + area->reserve);
	const char *what;

	if (start >= end)
		return;
	upkeep_of(area)->seen += end - start;
	what = used ? judge_used(area, mapping, key) : judge_reserve(mapping);
	if (what)
		complain(checker, start, end - start, what);
}

static void check_mapping(struct checker *checker, const struct mapping *mapping, int key)
{
	struct jitgate_area *area;

	for (area = next_area(NULL); area; area = next_area(area)) {
		check_part(checker, area, mapping, key, true);
		check_part(checker, area, mapping, key, false);
	}
}

static void check_mappings(struct checker *checker, struct lines *lines)
{
	struct mapping mapping, next;
	bool have = false;
	char line[256];
	int key = 0;

	while (lines_next(lines, line, sizeof(line))) {
		if (sscanf(line, "ProtectionKey: %d", &key) == 1) {
			checker->keys_told = true;
		} else if (parse_mapping(line, &next)) {
			if (have)
				check_mapping(checker, &mapping, key);
			mapping = next;
			have = true;
			key = 0;
		}
	}
	if (have)
		check_mapping(checker, &mapping, key);
}

static void check_holes(struct checker *checker)
{
	struct jitgate_area *area;

	for (area = next_area(NULL); area; area = next_area(area))
		if (upkeep_of(area)->seen < area->reserve)
			complain(checker, (uintptr_t)area->base, area->reserve,
				 "is not all mapped");
}

static int check_all(struct checker *checker)
{
	struct jitgate_area *area;
	struct lines lines;
	int error = lines_open(&lines, "/proc/self/smaps");

	if (error)
		return error;
	for (area = next_area(NULL); area; area = next_area(area))
		upkeep_of(area)->seen = 0;
	check_mappings(checker, &lines);
	lines_close(&lines);
	if (have_key() && !checker->keys_told)
		return -ENODATA;
	check_holes(checker);
	return checker->wrong;
}

int jitgate_check(report_t *report, void *data)
{
	struct checker checker = { .report = report, .data = data };
	struct held_lock lock;
	int result;

	lock_take(&lock);
	result = check_all(&checker);
	lock_drop(&lock);
	return result;
}
