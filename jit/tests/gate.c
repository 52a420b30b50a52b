// SPDX-License-Identifier: MIT
/* Opening and closing by one thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.h"

void write_and_run(void)
{
	struct jitgate_area *area;

	begin();
	area = make_area(100);
	emit(area, 0, 42);
	CHECK_EQUAL(run(area, 0), 42);
	emit(area, 64, 43);
	CHECK_EQUAL(run(area, 64), 43);
	CHECK_EQUAL(run(area, 0), 42);
	emit(area, 0, 44);
	CHECK_EQUAL(run(area, 0), 44);
	CHECK_EQUAL(jitgate_area_free(area), 0);
}

static void die_of_it(void *at)
{
	signal(SIGSEGV, SIG_DFL);
	write_byte(at);
}

void write_while_closed(void)
{
	struct jitgate_info info;
	struct jitgate_area *area;
	struct fault fault;
	char *at;
	int status;

	begin();
	area = make_area(10000);
	at = (char *)jitgate_area_start(area) + 4321;
	CHECK(faults(write_byte, at, area, &fault));
	CHECK_EQUAL(fault.code, with_keys ? SEGV_PKUERR : SEGV_ACCERR);
	CHECK(fault.address == at);
	jitgate_query(&info);
	CHECK_EQUAL(fault.key, info.key);
	CHECK(!faults(read_byte, at, area, NULL));
	status = in_child(die_of_it, at);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

void close_is_final(void)
{
	struct jitgate_area *area;
	int i;

	begin();
	area = make_area(4096);
	for (i = 0; i < 50; i++) {
		CHECK_EQUAL(jitgate_open(area), 0);
		CHECK(can_write(area));
		CHECK_EQUAL(jitgate_close(area, 0), 0);
		CHECK(!can_write(area));
	}
	CHECK_EQUAL(jitgate_close(area, -EMFILE), -EINVAL);
	CHECK_EQUAL(jitgate_close(area, 1), 0);
	CHECK(!can_write(area));
}

static void close_and_write(void *area)
{
	unsigned char *start = jitgate_area_writable(area);

	jitgate_open(area);
	write_byte(start);
	jitgate_close(area, 0);
	write_byte(start);
}

/* No system call, no fault in between, which would complete a write of the register. */
void close_at_once(void)
{
	struct jitgate_area *area;
	int i;

	begin();
	area = make_area(4096);
	for (i = 0; i < 20; i++)
		CHECK(faults(close_and_write, area, area, NULL));
}

void nesting(void)
{
	struct jitgate_area *area;
	int outer, middle, inner;

	begin();
	area = make_area(4096);
	outer = jitgate_open(area);
	middle = jitgate_open(area);
	inner = jitgate_open(area);
	CHECK(outer == 0 && middle > 0 && inner > 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, inner), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, middle), 0);
	CHECK(can_write(area));
	CHECK(jitgate_state(area) > 0);
	CHECK_EQUAL(jitgate_close(area, outer), 0);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_state(area), 0);
}

void scopes(void)
{
	struct jitgate_area *area;

	begin();
	area = make_area(4096);
	{
		JITGATE_SCOPE(outer, area);
		CHECK_EQUAL(outer.state, 0);
		{
			JITGATE_SCOPE(inner, area);
			CHECK(inner.state > 0);
		}
		CHECK(can_write(area));
	}
	CHECK(!can_write(area));
}

static void jump_from_inside(struct jitgate_area *area, jmp_buf jump)
{
	jitgate_open(area);
	jitgate_open(area);
	write_byte(jitgate_area_writable(area));
	longjmp(jump, 1);
}

static void jump_to(struct jitgate_area *area)
{
	int before = jitgate_state(area);
	jmp_buf jump;

	if (!setjmp(jump))
		jump_from_inside(area, jump);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, before), 0);
}

void jump_out(void)
{
	struct jitgate_area *area;

	begin();
	area = make_area(4096);
	jump_to(area);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_open(area), 0);
	jump_to(area);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

static sigjmp_buf handler_jump;

static void jump_from_handler(int number)
{
	(void)number;
	siglongjmp(handler_jump, 1);
}

/* The kernel took away even the right to read and never gives it back. */
void jump_out_of_handler(void)
{
	struct jitgate_area *area;

	begin();
	area = make_area(4096);
	emit(area, 0, 5);
	signal(SIGUSR1, jump_from_handler);
	if (!sigsetjmp(handler_jump, 1)) {
		jitgate_open(area);
		raise(SIGUSR1);
	}
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
	CHECK(!faults(read_byte, jitgate_area_start(area), area, NULL));
	CHECK_EQUAL(run(area, 0), 5);
}

void many_open(void)
{
	struct jitgate_area *areas[9];
	int i;

	begin();
	for (i = 0; i < 9; i++)
		areas[i] = make_area(4096);
	for (i = 0; i < 8; i++)
		CHECK(jitgate_open(areas[i]) >= 0);
	CHECK_EQUAL(jitgate_open(areas[8]), with_keys ? 1 : -EMFILE);
	for (i = 7; i >= 0; i--)
		CHECK_EQUAL(jitgate_close(areas[i], 0), 0);
	for (i = 0; i < 9; i++)
		CHECK(!can_write(areas[i]));
}

void counters(void)
{
	struct jitgate_counts before, after;
	struct jitgate_area *area;
	int i;

	begin();
	area = make_area(4096);
	jitgate_stats(&before);
	CHECK_EQUAL(before.areas, 1);
	for (i = 0; i < 1000; i++)
		jitgate_close(area, jitgate_open(area));
	/* Which has a lock, and so two system calls, of its own. */
	jitgate_stats(&after);
	CHECK_EQUAL(after.opens - before.opens, 1000);
	CHECK_EQUAL(after.register_writes - before.register_writes, with_keys ? 2000 : 0);
	CHECK_EQUAL(after.system_calls - before.system_calls, with_keys ? 2 : 6002);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	jitgate_stats(&after);
	CHECK_EQUAL(after.areas, 0);
}

/* As many system calls as without the library. */
void counters_of_quiet(void)
{
	struct jitgate_request request = { .size = 4096, .flags = JITGATE_NO_HANDLERS };
	struct jitgate_counts before, after;
	struct jitgate_area *area;
	int i;

	begin();
	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	jitgate_stats(&before);
	for (i = 0; i < 1000; i++)
		jitgate_close(area, jitgate_open(area));
	jitgate_stats(&after);
	CHECK_EQUAL(after.system_calls - before.system_calls, with_keys ? 2 : 2002);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(jitgate_open_all(), 1);
	CHECK_EQUAL(jitgate_area_grow(area, 4096), 0);
	CHECK_EQUAL(jitgate_close_all(0), 0);
	CHECK(!can_write(area));
	emit(area, 0, 4);
	CHECK_EQUAL(run(area, 0), 4);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_area_free(area), 0);
}

void publish_to_all(void)
{
	struct jitgate_area *area;
	int result;

	begin();
	area = make_area(4096);
	emit(area, 0, 1);
	CHECK_EQUAL(jitgate_publish(jitgate_area_start(area), 8, 6), -EINVAL);
	result = jitgate_publish(jitgate_area_start(area), 8, JITGATE_ALL_THREADS);
	if (result == -ENOSYS)
		skip("no membarrier() here");
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(run(area, 0), 1);
}

static void run_example(void *path)
{
	setenv("JITGATE", with_keys ? "always" : "never", 1);
	execl(path, path, "--self-test", "400", (char *)NULL);
	_exit(127);
}

/* The example beside this program, or where it was built. */
void example(void)
{
	char path[4096];
	ssize_t length;

	if (with_keys && !keys_here())
		skip("no protection keys here");
	length = readlink("/proc/self/exe", path, sizeof(path) - 20);
	CHECK(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "jitgate-calc");
	CHECK_EQUAL(in_child(run_example, access(path, X_OK) ? EXAMPLE : path), 0);
}
