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

/* What is to be mapped somewhere, and what is said when it is not so. */
struct part {
	uintptr_t start, end;
	const char *permissions;	/* NULL: whatever they are */
	bool keyed;
	const char *otherwise;
};

#define MOST_PARTS	5

static struct part part_of(const void *start, size_t size, const char *permissions)
{
	return (struct part){
		.start = (uintptr_t)start,
		.end = (uintptr_t)start + size,
		.permissions = permissions,
		.otherwise = "has other permissions",
	};
}

static int parts_of_view(const struct jitgate_area *area, struct part *parts)
{
	parts[0] = part_of(area->writable, area->size, pages_open(area) ? "rw-" : "---");
	parts[1] = part_of(area->writable + area->size, VIEWS * area->reserve - area->size, "---");
	return 2;
}

static int parts_of(const struct jitgate_area *area, struct part *parts)
{
	int count = 0;

	parts[count] = part_of(area->base, area->size, have_key() ? "rwx" : "r-x");
	if (pages_open(area) && !have_views())
		parts[count].permissions = NULL;
	parts[count++].keyed = have_key();
	parts[count] = part_of(area->base + area->size, area->reserve - area->size,
			       have_views() ? "r-x" : "---");
	parts[count++].otherwise = "is in use beyond the area";
	if (have_views())
		count += parts_of_view(area, parts + count);
	if (!area->book)
		return count;
	parts[count] = part_of(area->book, book_size(area->reserve), have_key() ? "rw-" : "r--");
	parts[count++].keyed = have_key();
	return count;
}

static const char *judge(const struct part *part, const struct mapping *mapping, int key)
{
	if (part->keyed && key != DECISION->key)
		return "has not the key";
	if (part->permissions && strncmp(mapping->permissions, part->permissions, 3))
		return part->otherwise;
	return NULL;
}

static uintptr_t larger(uintptr_t a, uintptr_t b)
{
	return a > b ? a : b;
}

static uintptr_t smaller(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

static void check_part(struct checker *checker, struct jitgate_area *area, const struct part *part,
		       const struct mapping *mapping, int key)
{
	uintptr_t start = larger(mapping->start, part->start);
	uintptr_t end = smaller(mapping->end, part->end);
	const char *what;

	if (start >= end)
		return;
	upkeep_of(area)->seen += end - start;
	what = judge(part, mapping, key);
	if (what)
		complain(checker, start, end - start, what);
}

static void check_mapping(struct checker *checker, const struct mapping *mapping, int key)
{
	struct part parts[MOST_PARTS];
	struct jitgate_area *area;
	int i, count;

	for (area = next_area(NULL); area; area = next_area(area)) {
		count = parts_of(area, parts);
		for (i = 0; i < count; i++)
			check_part(checker, area, &parts[i], mapping, key);
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

static size_t size_of_parts(const struct jitgate_area *area)
{
	struct part parts[MOST_PARTS];
	int i, count = parts_of(area, parts);
	size_t size = 0;

	for (i = 0; i < count; i++)
		size += parts[i].end - parts[i].start;
	return size;
}

static void check_holes(struct checker *checker)
{
	struct jitgate_area *area;

	for (area = next_area(NULL); area; area = next_area(area))
		if (upkeep_of(area)->seen < size_of_parts(area))
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
