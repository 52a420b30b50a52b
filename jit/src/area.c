// SPDX-License-Identifier: MIT
/* Areas: made, grown, freed. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

struct jitgate_area *all_areas;
size_t area_count;

static size_t whole_pages(size_t size)
{
	size_t page = page_size();

	return (size + page - 1) & ~(page - 1);
}

static int look_at(const struct jitgate_request *request)
{
	size_t most = SIZE_MAX / 4;

	if (!request->size || request->size > most || request->reserve > most)
		return -EINVAL;
	if (request->reserve && request->reserve < request->size)
		return -EINVAL;
	if (request->flags & ~JITGATE_SHARED_RUN)
		return -EINVAL;
	return request->near_to && !request->reach ? -EINVAL : 0;
}

static int commit(struct jitgate_area *area, size_t size)
{
	unsigned char *start = area->base + area->size;
	size_t more = size - area->size;
	int error;

	if (have_key())
		error = pkey_commit(start, more, DECISION->key);
	else
		error = pages_commit(area, start, more);
	if (!error)
		area->size = size;
	return error;
}

static int map_area(struct jitgate_area *area, const struct jitgate_request *request)
{
	size_t size = whole_pages(request->size);
	int error;

	area->flags = request->flags;
	area->reserve = request->reserve ? whole_pages(request->reserve) : size;
	area->base = place_area(request, area->reserve, &error);
	if (error)
		return error;
	error = commit(area, size);
	if (error) {
		count_call();
		munmap(area->base, area->reserve);
	}
	return error;
}

static void enlist(struct jitgate_area *area)
{
	struct held_lock lock;

	lock_take(&lock);
	area->next = all_areas;
	all_areas = area;
	area_count++;
	lock_drop(&lock);
}

int jitgate_area_new(struct jitgate_area **area, const struct jitgate_request *request)
{
	struct jitgate_area *made;
	int error = look_at(request);

	if (!error && !decided())
		error = jitgate_init(JITGATE_AUTO);
	if (error)
		return error;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	error = map_area(made, request);
	if (error) {
		free(made);
		return error;
	}
	enlist(made);
	*area = made;
	return 0;
}

int jitgate_area_grow(struct jitgate_area *area, size_t size)
{
	struct held_lock lock;
	int error = 0;

	if (size > area->reserve)
		return -ENOSPC;
	lock_take(&lock);
	size = whole_pages(size);
	if (size > area->size)
		error = commit(area, size);
	lock_drop(&lock);
	return error;
}

static void delist(const struct jitgate_area *area)
{
	struct jitgate_area **link = &all_areas;

	while (*link && *link != area)
		link = &(*link)->next;
	if (*link) {
		*link = area->next;
		area_count--;
	}
}

int jitgate_area_free(struct jitgate_area *area)
{
	struct held_lock lock;
	bool busy;

	if (!area)
		return 0;
	lock_take(&lock);
	busy = area->openers;
	if (!busy)
		delist(area);
	lock_drop(&lock);
	if (busy)
		return -EBUSY;
	count_call();
	munmap(area->base, area->reserve);
	free(area);
	return 0;
}

void *jitgate_area_start(const struct jitgate_area *area)
{
	return area->base;
}

size_t jitgate_area_size(const struct jitgate_area *area)
{
	return area->size;
}

size_t jitgate_area_reserve(const struct jitgate_area *area)
{
	return area->reserve;
}
