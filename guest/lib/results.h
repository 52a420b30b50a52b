/* SPDX-License-Identifier: GPL-2.0-only */
/* Test results: KTAP lines and "#json" lines for the host. */
#ifndef GUEST_RESULTS_H
#define GUEST_RESULTS_H

/*
 * Uses the descriptor init hands down in RESULTS_FD, or standard output.
 * Prints the KTAP header.
 */
void results_begin(void);

void result_ok(const char *name);
void result_fail(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void result_skip(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void result_comment(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One machine-readable line: fmt is a whole JSON object. */
void result_json(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ask the host for something: "nmi 100", "dimm-add d0 128", "dimm-del d0". */
void result_host(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Copy text to out as the inside of a JSON string. */
void json_escape(const char *text, char *out, int size);

/* Prints the plan. Returns the exit status: 0, or 1 when something failed. */
int results_end(void);

#endif
