// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on memory that the kernel maps read-only: a constant, the format of
 * /proc/version, which shows whether it changed. And on the bit of the control
 * register that makes "read-only" mean anything to the kernel itself.
 */
#include <errno.h>
#include <string.h>

#include "attack.h"
#include "files.h"
#include "list.h"

#define CONSTANT	"linux_proc_banner"	/* "%s version %s (...) ..." */
#define OFFSET		3
#define OLD		'v'
#define NEW		'V'
#define PINNED		"CR0 WP bit went missing"

static bool is_constant(uint64_t addr)
{
	struct slot slot;

	if (addr < ksymbol("__start_rodata") || addr >= ksymbol("__end_rodata"))
		return false;
	return !kwalk(addr, LEAF, 0, &slot) && !pte_is_writable(slot.value);
}

static enum outcome change_constant(const struct store *how)
{
	const char old = OLD, new = NEW;
	uint64_t addr = ksymbol(CONSTANT);
	char text[512], found = 0;
	int err;

	if (!addr || !is_constant(addr))
		return broken(CONSTANT " is not in rodata");
	addr += OFFSET;
	if (kread(addr, &found, 1) || found != old)
		return broken(CONSTANT " begins with something else");

	err = kstore(how, addr, &new, 1);
	file_read("/proc/version", text, sizeof(text));
	kread(addr, &found, 1);
	if (found == new)
		kstore(how, addr, &old, 1);
	if (err == -ENODEV)
		return skipped("needs a second CPU");
	if (err && err != -EFAULT)
		return broken("the store gave %s", strerror(-err));
	if (strstr(text, "Linux Version"))
		return won("a constant of the kernel changed: /proc/version says '%.20s...'", text);
	return lost("the store gave %d, /proc/version is as it was", err);
}

enum outcome rodata_other_open(void)
{
	return change_constant(&(struct store) { .context = "other-open" });
}

enum outcome rodata_own_section(void)
{
	return change_constant(&(struct store) { .context = "section" });
}

/* That a store was refused proves nothing unless it is why. */
static enum outcome judge_pin(enum outcome outcome)
{
	bool said = kernel_log_says(PINNED);

	if (outcome == LOST && !said)
		return broken("the store was refused, but nobody says that CR0.WP was put back");
	if (outcome == LOST)
		return lost("the store was refused, and the kernel says: " PINNED);
	return outcome;
}

static const struct store after_clearing = { .context = "cr0" };

enum outcome cr0_wp_rodata(void)
{
	return judge_pin(change_constant(&after_clearing));
}

enum outcome cr0_wp_pte(void)
{
	return judge_pin(steal_secret(&after_clearing));
}
