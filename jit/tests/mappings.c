// SPDX-License-Identifier: MIT
/* Areas, and what system calls do to them behind the library's back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests.h"

#define AREAS	16

static char complaint[256];
static const void *complained_at;

static void remember(const void *start, size_t size, const char *what, void *data)
{
	CHECK(data == complaint);
	CHECK(size > 0);
	complained_at = start;
	strncpy(complaint, what, sizeof(complaint) - 1);
}

static void expect_complaint(const void *at, const char *what)
{
	CHECK_EQUAL(jitgate_check(remember, complaint), 1);
	CHECK(complained_at == at);
	if (strcmp(complaint, what))
		fail_at(__FILE__, __LINE__, "'%s' and not '%s'", complaint, what);
}

static char *page_of(struct jitgate_area *area, int number)
{
	return (char *)jitgate_area_start(area) + number * sysconf(_SC_PAGESIZE);
}

void sixteen_areas(void)
{
	struct jitgate_area *areas[AREAS];
	int i;

	begin();
	for (i = 0; i < AREAS; i++) {
		areas[i] = make_area(5000);
		emit(areas[i], 0, i);
	}
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	for (i = 0; i < AREAS; i++) {
		CHECK_EQUAL(run(areas[i], 0), i);
		CHECK(!can_write(areas[i]));
	}
	CHECK_EQUAL(jitgate_open(areas[3]), 0);
	for (i = 0; i < AREAS; i++)
		CHECK_EQUAL(can_write(areas[i]), with_keys || i == 3);
	CHECK_EQUAL(jitgate_close(areas[3], 0), 0);
	for (i = 0; i < AREAS; i++) {
		CHECK(!can_write(areas[i]));
		CHECK_EQUAL(jitgate_area_free(areas[i]), 0);
	}
}

void sound_areas(void)
{
	struct jitgate_request request = { .size = 5000, .reserve = 100000 };
	struct jitgate_area *area;

	begin();
	CHECK_EQUAL(jitgate_check(remember, complaint), 0);
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	CHECK_EQUAL(jitgate_check(remember, complaint), 0);
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(jitgate_check(remember, complaint), 0);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	mprotect((char *)jitgate_area_writable(area) + jitgate_area_size(area), 1,
		 PROT_READ | PROT_WRITE);
	expect_complaint((char *)jitgate_area_writable(area) + jitgate_area_size(area),
			 with_views ? "has other permissions" : "is in use beyond the area");
}

/* The new memory has no key: anybody may write it. */
void mmap_over(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct jitgate_area *area;
	char *victim;

	begin();
	area = make_area(4 * page);
	victim = page_of(area, 1);
	CHECK(mmap(victim, page, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == victim);
	CHECK(!faults(write_byte, victim, area, NULL));
	expect_complaint(victim, with_keys ? "has not the key" : "has other permissions");
	CHECK(!can_write(area));
}

/* The key stays and has the last word. */
void mprotect_over(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct jitgate_area *area;
	struct fault fault;
	char *victim;

	begin();
	area = make_area(4 * page);
	victim = page_of(area, 2);
	/* The view that runs was mapped when nothing could be made writable any more. */
	CHECK_EQUAL(mprotect(victim, page, PROT_READ | PROT_WRITE), with_views ? -1 : 0);
	if (with_views)
		return;
	CHECK_EQUAL(faults(write_byte, victim, area, &fault), with_keys);
	if (with_keys)
		CHECK_EQUAL(fault.code, SEGV_PKUERR);
	expect_complaint(victim, "has other permissions");
}

/* The content goes, even closed, but that of a file; the protection stays. */
void madvise_over(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct jitgate_area *area;

	begin();
	area = make_area(4 * page);
	emit(area, page, 4);
	CHECK(*page_of(area, 1));
	CHECK_EQUAL(madvise(page_of(area, 1), page, MADV_DONTNEED), 0);
	CHECK_EQUAL(!*page_of(area, 1), !with_views);
	CHECK(faults(write_byte, page_of(area, 1), area, NULL));
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	emit(area, page, 4);
	CHECK_EQUAL(run(area, page), 4);
}

void munmap_hole(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct jitgate_area *area;

	begin();
	area = make_area(4 * page);
	munmap(page_of(area, 1), page);
	expect_complaint(jitgate_area_start(area), "is not all mapped");
}

/* The kernel keeps to this thread's rights, but not in this file: docs/jitgate.md says so. */
void written_by_kernel(void)
{
	struct jitgate_area *area;
	int ends[2], memory;
	off_t at;

	begin();
	area = make_area(4096);
	at = (off_t)(uintptr_t)jitgate_area_start(area);
	CHECK_EQUAL(pipe(ends), 0);
	CHECK_EQUAL(write(ends[1], "ab", 2), 2);
	CHECK_EQUAL(read(ends[0], jitgate_area_start(area), 1), -1);
	CHECK_EQUAL(errno, EFAULT);
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(read(ends[0], jitgate_area_writable(area), 1), 1);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	memory = open("/proc/self/mem", O_RDWR);
	CHECK(memory >= 0);
	CHECK_EQUAL(pwrite(memory, "c", 1, at), with_views ? -1 : 1);
	if (with_views)
		return;
	CHECK_EQUAL(*(char *)jitgate_area_start(area), 'c');
}

void grow_and_free(void)
{
	struct jitgate_request request = { .size = 1, .reserve = 1 << 20 };
	size_t page = sysconf(_SC_PAGESIZE);
	struct jitgate_area *area;
	char *start;

	begin();
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	start = jitgate_area_start(area);
	CHECK_EQUAL(jitgate_area_size(area), page);
	CHECK_EQUAL(jitgate_area_reserve(area), 1 << 20);
	CHECK_EQUAL(faults(read_byte, start + page, area, NULL), !with_views);
	CHECK_EQUAL(jitgate_area_grow(area, 3 * page - 1), 0);
	CHECK_EQUAL(jitgate_area_size(area), 3 * page);
	CHECK(jitgate_area_start(area) == start);
	emit(area, 2 * page, 12);
	CHECK_EQUAL(run(area, 2 * page), 12);
	CHECK_EQUAL(jitgate_area_grow(area, 1), 0);
	CHECK_EQUAL(jitgate_area_size(area), 3 * page);
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(jitgate_area_grow(area, 5 * page), 0);
	CHECK(can_write(area));
	if (!with_keys)
		CHECK_EQUAL(jitgate_area_free(area), -EBUSY);
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_area_grow(area, (1 << 20) + 1), -ENOSPC);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	CHECK_EQUAL(jitgate_area_free(NULL), 0);
	CHECK_EQUAL(madvise(start, page, MADV_NORMAL), -1);
}

static uintptr_t distance(uintptr_t a, uintptr_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t calls_for(struct jitgate_area **area, const struct jitgate_request *request)
{
	struct jitgate_counts before, after;

	jitgate_stats(&before);
	CHECK_EQUAL(jitgate_area_new(area, request), 0);
	jitgate_stats(&after);
	return after.system_calls - before.system_calls;
}

void near_code(void)
{
	uintptr_t here = (uintptr_t)near_code, start;
	struct jitgate_request request = {
		.size = 4096,
		.reserve = 8 << 20,
		.near_to = (const void *)here,
		.reach = JITGATE_REACH_JUMP,
	};
	struct jitgate_request anywhere = { .size = 4096, .reserve = 8 << 20 };
	struct jitgate_area *area;
	uint64_t calls;
	int i;

	begin();
	calls = calls_for(&area, &anywhere);
	for (i = 0; i < 5; i++) {
		/* Without reading what is mapped: a few places were tried. */
		CHECK(calls_for(&area, &request) <= calls + 5 + 2 * i);
		start = (uintptr_t)jitgate_area_start(area);
		CHECK(distance(start, here) <= JITGATE_REACH_JUMP);
		CHECK(distance(start + (8 << 20) - 1, here) <= JITGATE_REACH_JUMP);
		emit(area, 0, i);
		CHECK_EQUAL(run(area, 0), i);
	}
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK(sbrk(1 << 20) != (void *)-1);
}

/* Two areas cannot both have the only place there is. */
void near_nothing(void)
{
	struct jitgate_request request = { .size = 1 << 20, .reach = 1 << 20 };
	struct jitgate_area *area;
	char *room;

	if (getenv("UNDER_VALGRIND"))
		skip("valgrind has mappings of its own where there is room");
	begin();
	room = mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	request.near_to = room + (2 << 20);
	CHECK_EQUAL(jitgate_area_new(&area, &request), -ENOSPC);
	munmap(room, 4 << 20);
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	CHECK_EQUAL(jitgate_area_new(&area, &request), -ENOSPC);
}

/* A hint that nothing in reach of can be had costs no system call. */
void near_nowhere(void)
{
	struct jitgate_request request = {
		.size = 4096,
		.near_to = (const void *)-(uintptr_t)(1 << 20),
		.reach = JITGATE_REACH_JUMP,
	};
	struct jitgate_counts first, before, after;
	struct jitgate_area *area = NULL;

	begin();
	jitgate_stats(&first);	/* takes system calls itself */
	jitgate_stats(&before);
	CHECK_EQUAL(jitgate_area_new(&area, &request), -ENOSPC);
	jitgate_stats(&after);
	CHECK_EQUAL(after.system_calls - before.system_calls, before.system_calls - first.system_calls);
	CHECK(!area);
}

static void expect_aligned(const struct jitgate_request *request, size_t align)
{
	struct jitgate_area *area;
	char *start;

	CHECK_EQUAL(jitgate_area_new(&area, request), 0);
	start = jitgate_area_start(area);
	CHECK_EQUAL((uintptr_t)start & (align - 1), 0);
	if (request->near_to)
		CHECK(distance((uintptr_t)start, (uintptr_t)request->near_to) <= request->reach);
	emit(area, 0, 8);
	CHECK_EQUAL(run(area, 0), 8);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	/* Nothing was left mapped before and behind it. */
	CHECK_EQUAL(madvise(start - 4096, 4096, MADV_NORMAL), -1);
	CHECK_EQUAL(madvise(start + request->reserve, 4096, MADV_NORMAL), -1);
}

void aligned(void)
{
	struct jitgate_request request = { .size = 4096, .reserve = 3 << 20 };
	int i;

	begin();
	for (i = 0; i < 2; i++) {
		request.align = 16 << 20;
		expect_aligned(&request, 16 << 20);
		request.flags = JITGATE_HUGE;
		expect_aligned(&request, 16 << 20);
		request.align = 0;
		expect_aligned(&request, 2 << 20);
		request.flags = 0;
		request.near_to = (const void *)(uintptr_t)aligned;
		request.reach = JITGATE_REACH_JUMP;
	}
}

/* Whether a line of /proc/self/smaps that is about an address has a word in it. */
static bool told(const void *at, const char *key, const char *word)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	uintptr_t start, end;
	bool here = false, found = false;
	char line[512];

	CHECK(file);
	while (!found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)at >= start && (uintptr_t)at < end;
		found = here && strstr(line, key) && strstr(line, word);
	}
	fclose(file);
	return found;
}

void huge_pages(void)
{
	struct jitgate_request request = { .size = 2 << 20, .flags = JITGATE_HUGE };
	struct jitgate_area *area;

	begin();
	area = make_area(4096);
	CHECK(!told(jitgate_area_start(area), "VmFlags:", " hg"));
	if (madvise(jitgate_area_start(area), 4096, MADV_HUGEPAGE))
		skip("no huge pages here");
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	CHECK(told(jitgate_area_start(area), "VmFlags:", " hg"));
}

/* The kernel's part is seen where it was built to know names; what it was asked always. */
void named(void)
{
	struct jitgate_request request = { .size = 4096, .reserve = 40000, .name = "engine 7" };
	struct jitgate_area *area;
	const long *asked = watch_call(SYS_prctl);

	begin();
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	if (with_views) {
		CHECK(told(jitgate_area_start(area), "memfd:", "engine 7"));
		CHECK(told(jitgate_area_writable(area), "memfd:", "engine 7"));
		return;
	}
	CHECK_EQUAL(asked[0], 0x53564d41);
	CHECK_EQUAL(asked[1], 0);
	CHECK_EQUAL(asked[2], (long)(uintptr_t)jitgate_area_start(area));
	CHECK_EQUAL(asked[3], jitgate_area_reserve(area));
	CHECK(asked[4] == (long)(uintptr_t)request.name);
	if (!asked[5])
		CHECK(told(jitgate_area_start(area), "anon:", "engine 7"));
	CHECK_EQUAL(jitgate_area_grow(area, 8192), 0);
	emit(area, 0, 8);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}

void permanent(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct jitgate_request request = { .size = page, .reserve = 4 * page, .flags = JITGATE_PERMANENT };
	struct jitgate_area *area;
	char *start;
	int error;

	begin();
	error = jitgate_area_new(&area, &request);
	if (!with_keys) {
		CHECK_EQUAL(error, -EOPNOTSUPP);
		return;
	}
	if (error == -ENOSYS)
		skip("no mseal() here");
	CHECK_EQUAL(error, 0);
	start = jitgate_area_start(area);
	emit(area, 0, 8);
	CHECK_EQUAL(jitgate_area_grow(area, 2 * page), 0);
	emit(area, page, 9);
	CHECK_EQUAL(munmap(start, page), -1);
	CHECK_EQUAL(munmap(start + page, page), -1);
	CHECK_EQUAL(mprotect(start, page, PROT_READ | PROT_WRITE), -1);
	CHECK_EQUAL(madvise(start, page, MADV_DONTNEED), -1);
	CHECK(mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
	CHECK_EQUAL(jitgate_area_free(area), -EPERM);
	CHECK_EQUAL(run(area, 0) + run(area, page), 17);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}

void bad_requests(void)
{
	static const struct jitgate_request bad[] = {
		{ .size = 0 },
		{ .size = SIZE_MAX },
		{ .size = 4096, .reserve = 100 },
		{ .size = 4096, .flags = 1u << 31 },
		{ .size = 4096, .align = 12288 },
		{ .size = 4096, .align = (size_t)1 << 40 },
		{ .size = 4096, .near_to = bad },
	};
	struct jitgate_request huge = { .size = 4096, .reserve = SIZE_MAX / 8 };
	struct jitgate_area *area = NULL;
	size_t i;
	int error;

	begin();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQUAL(jitgate_area_new(&area, &bad[i]), -EINVAL);
	error = jitgate_area_new(&area, &huge);
	CHECK(error == -ENOMEM || error == -EINVAL);	/* the latter from valgrind */
	CHECK(!area);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
}
