/* SPDX-License-Identifier: MIT */
/* Tests in processes of their own, reported in TAP to RESULTS_FD or standard output. */
#ifndef JITGATE_TAP_H
#define JITGATE_TAP_H

#define TAP_SKIPPED	77

/* Where a test says why it ended. */
extern int tap_messages;

/* Ends the test. */
void fail_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void skip(const char *reason) __attribute__((noreturn));

#define CHECK(condition)								\
	do {										\
		if (!(condition))							\
			fail_at(__FILE__, __LINE__, "%s", #condition);			\
	} while (0)

#define CHECK_EQUAL(is, expected)							\
	do {										\
		long long is_ = (is), expected_ = (expected);				\
											\
		if (is_ != expected_)							\
			fail_at(__FILE__, __LINE__, "%s is %lld, not %lld", #is, is_,	\
				expected_);						\
	} while (0)

/* Runs a function in a child; returns its wait status. */
int in_child(void (*function)(void *), void *argument);

void tap_begin(void);
/* Runs one test; run() is called in a child, and ends it. */
void tap_run(const char *backend, const char *name,
	     void (*run)(const char *backend, const char *name));
/* Returns what main() should: 77 when all were skipped. */
int tap_end(void);

#endif
