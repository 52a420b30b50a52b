/* SPDX-License-Identifier: GPL-2.0-only */
/* What suites of credentials share. */
#ifndef _MM_KPKEYS_CREDS_TEST_H
#define _MM_KPKEYS_CREDS_TEST_H

#include <linux/kpkeys_test.h>

#define USER	1000

struct cred;

int kpkeys_test_creds_init(struct kunit *test);

/* Prepared credentials of a user without any capability. */
struct cred *kpkeys_test_user(struct kunit *test);

struct user_namespace;

/* Namespaces that the test's own task has made: for one test, or at a place that stays. */
struct user_namespace *kpkeys_test_make_ns(struct kunit *test);
void kpkeys_test_make_lasting_ns(struct kunit *test, struct user_namespace *ns);

/* In a task of its own, whose credentials may be lost. */
void kpkeys_test_in_task(struct kunit *test, void (*run)(void *data), void *data);

#endif /* _MM_KPKEYS_CREDS_TEST_H */
