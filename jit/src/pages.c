// SPDX-License-Identifier: MIT
/*
 * The backends without keys: mprotect(), of the area or of its writable view.
 * Permissions belong to the process, so while one thread has an area open all can
 * write it. An area is open as long as any thread has it open; each thread knows
 * how deep it is in which area.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

#define MOST_OPEN	8
/* A state: how deep this thread is in the area, and whether it has all areas open. */
#define ALL_OPEN	(1 << 30)
#define DEEPEST		(ALL_OPEN - 1)

struct depth {
	struct jitgate_area *area;
	int depth;
};

/*
 * An entry is free when its depth is 0. Areas that no handler opens have entries of
 * their own: they change while a handler may take and give back one of the others.
 */
static PER_THREAD struct depth depths[2 * MOST_OPEN];
static PER_THREAD bool all_open;
static unsigned int all_openers;	/* threads with all open, under the lock */

static bool is_quiet(const struct jitgate_area *area)
{
	return is_area(area) && area->flags & JITGATE_NO_HANDLERS;
}

static struct depth *depths_for(const struct jitgate_area *area)
{
	return is_quiet(area) ? depths + MOST_OPEN : depths;
}

static struct depth *find_depth(const struct jitgate_area *area)
{
	struct depth *entry = depths_for(area), *end = entry + MOST_OPEN;

	for (; entry < end; entry++)
		if (entry->depth && entry->area == area)
			return entry;
	return NULL;
}

static struct depth *free_depth(const struct jitgate_area *area)
{
	struct depth *entry = depths_for(area), *end = entry + MOST_OPEN;

	for (; entry < end; entry++)
		if (!entry->depth)
			return entry;
	return NULL;
}

bool pages_open(const struct jitgate_area *area)
{
	return upkeep_of(area)->openers || all_openers;
}

int pages_prot(const struct jitgate_area *area)
{
	if (have_views())
		return pages_open(area) ? PROT_READ | PROT_WRITE : PROT_NONE;
	if (!pages_open(area))
		return PROT_READ | PROT_EXEC;
	if (area->flags & JITGATE_SHARED_RUN)
		return PROT_READ | PROT_WRITE | PROT_EXEC;
	return PROT_READ | PROT_WRITE;
}

int pages_commit(unsigned char *start, size_t size, int prot)
{
	count_call();
	return mprotect(start, size, prot) ? -errno : 0;
}

static int commit_all(const struct jitgate_area *area)
{
	return pages_commit(area->writable, area->size, pages_prot(area));
}

/* An area that is made while a thread has all open is open, too. */
int pages_adopt(const struct jitgate_area *area)
{
	return all_openers ? commit_all(area) : 0;
}

static int depth_of(const struct jitgate_area *area)
{
	struct depth *entry = find_depth(area);

	return entry ? entry->depth : 0;
}

int pages_state(const struct jitgate_area *area)
{
	return depth_of(area) | (all_open ? ALL_OPEN : 0);
}

int pages_state_of_all(void)
{
	int i;

	if (all_open)
		return ALL_OPEN;
	for (i = 0; i < 2 * MOST_OPEN; i++)
		if (depths[i].depth)
			return 1;
	return 0;
}

static int open_pages(struct jitgate_area *area, int depth)
{
	struct upkeep *kept = upkeep_of(area);
	struct depth *entry = free_depth(area);
	bool was_open = pages_open(area);
	int error = 0;

	if (!entry)
		return -EMFILE;
	kept->openers++;
	if (!was_open)
		error = commit_all(area);
	if (error) {
		kept->openers--;
		return error;
	}
	entry->area = area;
	entry->depth = depth;
	return 0;
}

static int close_pages(struct jitgate_area *area, struct depth *entry)
{
	entry->depth = 0;
	upkeep_of(area)->openers--;
	return pages_open(area) ? 0 : commit_all(area);
}

/*
 * With signals blocked, unless no handler opens this area: a handler finds this
 * thread's entries and the pages before or after a change, never between. A change
 * of depth alone needs none of it, for a handler leaves the depth as it found it.
 */
static int set_depth(struct jitgate_area *area, int depth)
{
	struct depth *entry = find_depth(area);
	struct held_lock lock;
	int error = 0;
	bool quiet;

	if (!is_area(area))
		return -EINVAL;
	if (entry && depth) {
		entry->depth = depth;
		return 0;
	}
	if (!entry && !depth)
		return 0;
	quiet = is_quiet(area);
	lock_take_for(&lock, quiet);
	error = entry ? close_pages(area, entry) : open_pages(area, depth);
	lock_drop_for(&lock, quiet);
	return error;
}

/* Those that no thread has open by itself follow. */
static int commit_others(void)
{
	struct jitgate_area *area;
	int error, first = 0;

	for (area = next_area(NULL); area; area = next_area(area)) {
		error = upkeep_of(area)->openers ? 0 : commit_all(area);
		first = first ? first : error;
	}
	return first;
}

static int open_others(void)
{
	int error = all_openers++ ? 0 : commit_others();

	if (error) {
		all_openers--;
		commit_others();
		return error;
	}
	all_open = true;
	return 0;
}

static int close_others(void)
{
	all_open = false;
	return --all_openers ? 0 : commit_others();
}

static int set_all(bool open)
{
	struct held_lock lock;
	int error;

	if (open == all_open)
		return 0;
	lock_take(&lock);
	error = open ? open_others() : close_others();
	lock_drop(&lock);
	return error;
}

int pages_set_state(struct jitgate_area *area, int state)
{
	int error = set_depth(area, state & DEEPEST);
	int other = set_all(state & ALL_OPEN);

	return error ? error : other;
}

int pages_open_one(struct jitgate_area *area)
{
	int state = pages_state(area);
	int error;

	if ((state & DEEPEST) == DEEPEST)
		return -EOVERFLOW;
	error = set_depth(area, (state & DEEPEST) + 1);
	return error ? error : state;
}

/* All scopes inside: of this area, and of all areas if they were not all open then. */
int pages_close_one(struct jitgate_area *area, int state)
{
	int depth = state & DEEPEST;
	int error = depth < depth_of(area) ? set_depth(area, depth) : 0;
	int other = state & ALL_OPEN ? 0 : set_all(false);

	return error ? error : other;
}

int pages_open_all(void)
{
	int state = pages_state_of_all();
	int error = set_all(true);

	return error ? error : state;
}

static int close_each(void)
{
	int i, error, first = 0;

	for (i = 0; i < 2 * MOST_OPEN; i++) {
		error = depths[i].depth ? set_depth(depths[i].area, 0) : 0;
		first = first ? first : error;
	}
	return first;
}

int pages_close_all(int state)
{
	int error = state ? 0 : close_each();
	int other = state & ALL_OPEN ? 0 : set_all(false);

	return error ? error : other;
}

/* The threads of the parent are not there: only this one's scopes count. */
void pages_after_fork(void)
{
	struct jitgate_area *area;
	bool all_before = all_openers, before;

	all_openers = all_open ? 1 : 0;
	for (area = next_area(NULL); area; area = next_area(area)) {
		before = upkeep_of(area)->openers || all_before;
		upkeep_of(area)->openers = depth_of(area) ? 1 : 0;
		/* Of two views the child has new ones, which are closed. */
		if (have_views() || (before && !pages_open(area)))
			commit_all(area);
	}
}
