// SPDX-License-Identifier: MIT
/* What is decided when there are no keys to have, and that it is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "tests.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static void expect_fallback(int reason)
{
	struct jitgate_info info;
	struct jitgate_area *area;

	CHECK_EQUAL(jitgate_init(JITGATE_ALWAYS), -reason);
	jitgate_query(&info);
	CHECK_EQUAL(info.backend, JITGATE_NOTHING);
	CHECK_EQUAL(jitgate_init(JITGATE_AUTO), 0);
	jitgate_query(&info);
	CHECK_EQUAL(info.backend, JITGATE_MPROTECT);
	CHECK_EQUAL(info.key, -1);
	CHECK_EQUAL(info.reason, reason);
	CHECK_EQUAL(jitgate_init(JITGATE_ALWAYS), -reason);
	area = make_area(4096);
	emit(area, 0, 3);
	CHECK_EQUAL(run(area, 0), 3);
	CHECK(!can_write(area));
}

static void need_keys(void)
{
	if (with_views)
		skip("decided otherwise");
	if (with_keys && !keys_here())
		skip("no protection keys here");
}

void decided_once(void)
{
	struct jitgate_info first, second;

	need_keys();
	CHECK_EQUAL(jitgate_init((enum jitgate_use)7), -EINVAL);
	begin();
	jitgate_query(&first);
	CHECK_EQUAL(first.backend, with_keys ? JITGATE_PKEY : JITGATE_MPROTECT);
	CHECK_EQUAL(first.reason, with_keys ? 0 : ECANCELED);
	CHECK(with_keys ? first.key > 0 : first.key == -1);
	CHECK_EQUAL(jitgate_init(JITGATE_AUTO), 0);
	CHECK_EQUAL(jitgate_init(JITGATE_ALWAYS), with_keys ? 0 : -EBUSY);
	CHECK_EQUAL(jitgate_init(JITGATE_NEVER), with_keys ? -EBUSY : 0);
	jitgate_query(&second);
	CHECK_EQUAL(second.key, first.key);
}

void environment(void)
{
	struct jitgate_info info;

	need_keys();
	setenv("JITGATE", with_keys ? "always" : "never", 1);
	CHECK_EQUAL(jitgate_init(JITGATE_AUTO), 0);
	jitgate_query(&info);
	CHECK_EQUAL(info.backend, with_keys ? JITGATE_PKEY : JITGATE_MPROTECT);
	CHECK_EQUAL(info.reason, with_keys ? 0 : ECANCELED);
}

void sealed_decision(void)
{
	struct jitgate_area *area;

	begin();
	area = make_area(4096);
	CHECK(faults(write_byte, &DECISION->key, area, NULL));
}

void keys_taken(void)
{
	need_keys();
	if (!with_keys) {
		if (!keys_here())
			expect_fallback(EOPNOTSUPP);
		return;
	}
	while (syscall(SYS_pkey_alloc, 0, 0) > 0)
		;
	expect_fallback(ENOSPC);
}

/* The linker puts this in the place of syscall(): a filter for kernels without seccomp, too. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
static long refused = -1;
static int refusal;
static long watched = -1, seen[6];

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (number != refused) {
		result = __real_syscall(number, a, b, c, d, e, f);
		if (number == watched)
			memcpy(seen, (long[]){ a, b, c, d, e, result }, sizeof(seen));
		return result;
	}
	errno = refusal;
	return -1;
}

const long *watch_call(long number)
{
	watched = number;
	return seen;
}

void filtered_alloc(void)
{
	need_keys();
	refused = SYS_pkey_alloc;
	refusal = EPERM;
	expect_fallback(keys_here() ? EPERM : EOPNOTSUPP);
}

void no_such_call(void)
{
	need_keys();
	refused = SYS_pkey_alloc;
	refusal = ENOSYS;
	expect_fallback(keys_here() ? ENOSYS : EOPNOTSUPP);
}

void filtered_mprotect(void)
{
	int first, second;

	need_keys();
	if (!with_keys)
		skip("no key is asked for");
	first = syscall(SYS_pkey_alloc, 0, 0);
	syscall(SYS_pkey_free, first);
	refused = SYS_pkey_mprotect;
	refusal = EACCES;
	expect_fallback(EACCES);
	/* What could not be used was given back. */
	second = syscall(SYS_pkey_alloc, 0, 0);
	CHECK_EQUAL(second, first);
}

/* A filter that kills who makes a system call. */
static void filter(int number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	CHECK_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQUAL(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void be_filtered(void *use)
{
	filter(SYS_pkey_alloc);
	_exit(jitgate_init(*(enum jitgate_use *)use) ? 1 : 0);
}

/* What the documentation says: such a filter kills, unless no key is asked for. */
void filter_that_kills(void)
{
	enum jitgate_use automatic = JITGATE_AUTO, never = JITGATE_NEVER;
	int status;

	need_keys();
	if (prctl(PR_GET_SECCOMP) < 0)
		skip("no seccomp filters here");
	CHECK_EQUAL(in_child(be_filtered, &never), 0);
	status = in_child(be_filtered, &automatic);
	if (keys_here())
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	else
		CHECK_EQUAL(status, 0);
}

/* Where the kernel forbids code that was ever writable, nothing can be done. */
void no_writable_code(void)
{
	struct jitgate_request request = { .size = 4096 };
	struct jitgate_info info;
	struct jitgate_area *area = NULL;

	if (getenv("UNDER_VALGRIND"))
		skip("valgrind ends where its own code cannot be mapped");
	need_keys();
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
		skip("no PR_SET_MDWE here");
	CHECK_EQUAL(jitgate_init(JITGATE_AUTO), 0);
	jitgate_query(&info);
	CHECK_EQUAL(info.reason, keys_here() ? EACCES : EOPNOTSUPP);
	CHECK_EQUAL(jitgate_area_new(&area, &request), -EACCES);
	CHECK(!area);
}
