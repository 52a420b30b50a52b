// SPDX-License-Identifier: MIT
/*
 * The backend without keys: mprotect(). Permissions belong to the process, so
 * while one thread has an area open all can write it. An area is open as long as
 * any thread has it open; each thread knows how deep it is in which area.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

#define MOST_OPEN	8
#define DEEPEST		(1 << 30)

struct depth {
	const struct jitgate_area *area;
	int depth;
};

/* An entry is free when its depth is 0. */
static _Thread_local struct depth depths[MOST_OPEN];

static struct depth *find_depth(const struct jitgate_area *area)
{
	int i;

	for (i = 0; i < MOST_OPEN; i++)
		if (depths[i].depth && depths[i].area == area)
			return &depths[i];
	return NULL;
}

static struct depth *free_depth(void)
{
	int i;

	for (i = 0; i < MOST_OPEN; i++)
		if (!depths[i].depth)
			return &depths[i];
	return NULL;
}

int pages_prot(const struct jitgate_area *area)
{
	if (!upkeep_of(area)->openers)
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
	return pages_commit(area->base, area->size, pages_prot(area));
}

int pages_state(const struct jitgate_area *area)
{
	struct depth *entry = find_depth(area);

	return entry ? entry->depth : 0;
}

static int open_pages(struct jitgate_area *area, int state)
{
	struct upkeep *kept = upkeep_of(area);
	struct depth *entry = free_depth();
	int error = 0;

	if (!entry)
		return -EMFILE;
	if (!kept->openers++)
		error = commit_all(area);
	if (error) {
		kept->openers--;
		return error;
	}
	entry->area = area;
	entry->depth = state;
	return 0;
}

static int close_pages(struct jitgate_area *area, struct depth *entry)
{
	entry->depth = 0;
	if (--upkeep_of(area)->openers)
		return 0;
	return commit_all(area);
}

/*
 * With signals blocked: a handler finds this thread's entries and the pages
 * before or after a change, never between. A change of depth alone needs none of
 * it, for a handler leaves the depth as it found it.
 */
int pages_set_state(struct jitgate_area *area, int state)
{
	struct depth *entry = find_depth(area);
	struct held_lock lock;
	int error = 0;

	if (!is_area(area))
		return -EINVAL;
	if (state > DEEPEST)
		return -EOVERFLOW;
	if (entry && state) {
		entry->depth = state;
		return 0;
	}
	if (!entry && !state)
		return 0;
	lock_take(&lock);
	error = entry ? close_pages(area, entry) : open_pages(area, state);
	lock_drop(&lock);
	return error;
}

/* The threads of the parent are not there: only this one's scopes count. */
void pages_after_fork(void)
{
	struct jitgate_area *area;
	unsigned int before;

	for (area = next_area(NULL); area; area = next_area(area)) {
		before = upkeep_of(area)->openers;
		upkeep_of(area)->openers = pages_state(area) ? 1 : 0;
		if (before && !upkeep_of(area)->openers)
			commit_all(area);
	}
}
