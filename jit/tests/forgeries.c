// SPDX-License-Identifier: MIT
/*
 * Attacks: who can write the program's data, and nothing more, makes the library
 * turn a page of data into code. It forges areas, and what the library knows of real ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "tests.h"

#define RAN	21	/* not one that a sanitizer ends with */

static char *victim;

static size_t page(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* A page of data with a function in it, which cannot run; more pages behind it. */
static void make_victim(void)
{
	victim = mmap(NULL, 4 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(victim != MAP_FAILED);
	store_function(victim, RAN);
	__builtin___clear_cache(victim, victim + 16);
}

static void call(void *at)
{
	_exit(((int (*)(void))(uintptr_t)at)());
}

static bool runs(void *at)
{
	int status = in_child(call, at);

	return WIFEXITED(status) && WEXITSTATUS(status) == RAN;
}

static void expect_data(void)
{
	CHECK(!runs(victim));
	*(volatile char *)victim = *victim;	/* It is still there, and ours. */
}

static struct jitgate_area forged(void)
{
	return (struct jitgate_area){
		.base = (unsigned char *)victim,
		.writable = (unsigned char *)victim,
		.size = page(),
		.reserve = 4 * page(),
		.flags = JITGATE_SHARED_RUN,
	};
}

/* Wherever the program keeps the pointer to its area, it may be data. */
void forged_area(void)
{
	static union {
		struct jitgate_area area;
		unsigned char room[2 * LARGEST_PAGE];
	} fake __attribute__((aligned(LARGEST_PAGE)));
	int state;

	begin();
	make_area(4096);
	make_victim();
	fake.area = forged();
	state = jitgate_open(&fake.area);
	expect_data();
	jitgate_close(&fake.area, state < 0 ? 0 : state);
	expect_data();
	jitgate_resume(&fake.area, 1);
	jitgate_suspend(&fake.area);
	expect_data();
	fake.area = forged();
	fake.area.size = 0;
	CHECK_EQUAL(jitgate_area_grow(&fake.area, page()), -EINVAL);
	expect_data();
	CHECK_EQUAL(jitgate_area_free(&fake.area), -EINVAL);
	expect_data();
	CHECK(!jitgate_area_start(&fake.area));
	CHECK_EQUAL(jitgate_area_size(&fake.area), 0);
	CHECK_EQUAL(jitgate_area_reserve(&fake.area), 0);
	if (!with_keys)
		CHECK_EQUAL(jitgate_open(&fake.area), -EINVAL);
}

/* Other memory may be where a freed area was. */
void freed_area(void)
{
	struct jitgate_area *area;
	void *start;

	begin();
	area = make_area(page());
	start = jitgate_area_start(area);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	victim = mmap(start, page(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(victim == start);
	store_function(victim, RAN);
	jitgate_close(area, jitgate_open(area));
	expect_data();
	CHECK_EQUAL(jitgate_area_grow(area, page()), -EINVAL);
	CHECK_EQUAL(jitgate_area_free(area), -EINVAL);
	expect_data();
}

struct forgery {
	struct jitgate_area *area;
	struct jitgate_area with;
};

static void overwrite(void *argument)
{
	struct forgery *forgery = argument;

	memcpy(forgery->area, &forgery->with, sizeof(forgery->with));
}

/* What the library itself remembers of an area, after it was made and after it was grown. */
void forged_record(void)
{
	struct jitgate_request request = { .size = 1, .reserve = 8 * page() };
	struct forgery forgery;
	int i;

	begin();
	CHECK_EQUAL(jitgate_area_new(&forgery.area, &request), 0);
	make_victim();
	forgery.with = forged();
	for (i = 0; i < 2; i++) {
		CHECK(faults(overwrite, &forgery, forgery.area, NULL));
		jitgate_close(forgery.area, jitgate_open(forgery.area));
		expect_data();
		CHECK_EQUAL(jitgate_area_grow(forgery.area, 2 * page()), 0);
	}
	expect_data();
}
