// SPDX-License-Identifier: MIT
/* Areas: made, grown, freed. */
#include <errno.h>
#include <sys/mman.h>

#include "internal.h"

#define KNOWN_FLAGS	(JITGATE_SHARED_RUN | JITGATE_PERMANENT | JITGATE_HUGE | \
				 JITGATE_PIECES | JITGATE_NO_HANDLERS)
#define LARGEST_ALIGN	((size_t)1 << 30)

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
	if (request->flags & ~KNOWN_FLAGS || request->align & (request->align - 1) ||
	    request->align > LARGEST_ALIGN)
		return -EINVAL;
	return request->near_to && !request->reach ? -EINVAL : 0;
}

static int commit_new(struct jitgate_area *area, const char *name)
{
	if (have_views())
		return views_map(area, name);
	area->writable = area->base;
	if (have_key())
		return pkey_commit(area->base, area->size, DECISION->key);
	return pages_commit(area->base, area->size, PROT_READ | PROT_EXEC);
}

static void unmap(const struct jitgate_area *area)
{
	if (have_views() && area->writable)
		views_unmap(area);
	count_call();
	munmap(area->base, area->reserve);
	if (area->book)
		book_unmap(area->book, area->reserve);
}

static int map_area(struct jitgate_area *area, const struct jitgate_request *request)
{
	int error;

	area->size = whole_pages(request->size);
	area->flags = request->flags;
	area->reserve = request->reserve ? whole_pages(request->reserve) : area->size;
	area->base = place_area(request, area->reserve, &error);
	if (error)
		return error;
	error = commit_new(area, request->name);
	if (!error && area->flags & JITGATE_PIECES)
		area->book = book_map(area->reserve, &error);
	if (error) {
		unmap(area);
		return error;
	}
	if (request->name && !have_views())
		advice_name(area->base, area->reserve, request->name);
	if (area->flags & JITGATE_HUGE)
		advice_huge(area->base, area->reserve);
	return 0;
}

static int enlist(struct jitgate_area **area, const struct jitgate_area *record)
{
	struct held_lock lock;
	int error;

	lock_take(&lock);
	error = vault_add(area, record);
	if (!error && !have_key()) {
		error = pages_adopt(*area);
		if (error)
			vault_remove(*area);
	}
	if (!error)
		area_count++;
	lock_drop(&lock);
	return error;
}

static int delist(struct jitgate_area *area, struct jitgate_area *record)
{
	int error;

	if (!is_area(area))
		return -EINVAL;
	if (upkeep_of(area)->openers)
		return -EBUSY;
	*record = *area;
	error = vault_remove(area);
	if (!error)
		area_count--;
	return error;
}

static int forget(struct jitgate_area *area)
{
	struct jitgate_area record;
	struct held_lock lock;
	int error;

	lock_take(&lock);
	error = delist(area, &record);
	lock_drop(&lock);
	if (!error)
		unmap(&record);
	return error;
}

int jitgate_area_new(struct jitgate_area **area, const struct jitgate_request *request)
{
	struct jitgate_area record = { .was_used = 1 }, *made;
	int error = look_at(request);

	if (!error && !decided())
		error = jitgate_init(JITGATE_AUTO);
	/* By mprotect() the kernel has to let areas be opened. */
	if (!error && request->flags & JITGATE_PERMANENT && !have_key())
		error = -EOPNOTSUPP;
	if (!error)
		error = map_area(&record, request);
	if (error)
		return error;
	error = enlist(&made, &record);
	if (error) {
		unmap(&record);
		return error;
	}
	error = record.flags & JITGATE_PERMANENT ? advice_seal(record.base, record.size) : 0;
	if (error)
		forget(made);
	else
		*area = made;
	return error;
}

static int commit_more(const struct jitgate_area *area, size_t more)
{
	unsigned char *start = area->writable + area->size;

	if (have_key())
		return pkey_commit(start, more, DECISION->key);
	return pages_commit(start, more, pages_prot(area));
}

static int grow(struct jitgate_area *area, size_t size)
{
	struct jitgate_area record = *area, larger = *area;
	int error = commit_more(area, size - area->size);

	larger.size = size;
	if (error)
		return error;
	error = vault_write(area, &larger);
	if (error) {
		pages_commit(area->writable + record.size, size - record.size, PROT_NONE);
		return error;
	}
	if (!(area->flags & JITGATE_PERMANENT))
		return 0;
	return advice_seal(area->base + record.size, size - record.size);
}

int jitgate_area_grow(struct jitgate_area *area, size_t size)
{
	struct held_lock lock;
	int error = 0;

	lock_take(&lock);
	if (!is_area(area))
		error = -EINVAL;
	else if (size > area->reserve)
		error = -ENOSPC;
	else if (whole_pages(size) > area->size)
		error = grow(area, whole_pages(size));
	lock_drop(&lock);
	return error;
}

int jitgate_area_free(struct jitgate_area *area)
{
	if (is_area(area) && area->flags & JITGATE_PERMANENT)
		return -EPERM;
	return area ? forget(area) : 0;
}

static bool holds(const struct jitgate_area *area, uintptr_t address)
{
	return address - (uintptr_t)area->base < area->reserve ||
	       address - (uintptr_t)area->writable < area->reserve;
}

struct jitgate_area *jitgate_area_at(const void *address)
{
	struct jitgate_area *area;
	struct held_lock lock;

	lock_take_for(&lock, false);
	area = next_area(NULL);
	while (area && !holds(area, (uintptr_t)address))
		area = next_area(area);
	lock_drop_for(&lock, false);
	return area;
}

void *jitgate_area_start(const struct jitgate_area *area)
{
	return is_area(area) ? area->base : NULL;
}

void *jitgate_area_writable(const struct jitgate_area *area)
{
	return is_area(area) ? area->writable : NULL;
}

void *jitgate_writable(const void *address)
{
	const struct jitgate_area *area;
	uintptr_t offset;

	if (!have_views())
		return (void *)(uintptr_t)address;
	area = jitgate_area_at(address);
	if (!area)
		return NULL;
	offset = (uintptr_t)address - (uintptr_t)area->base;
	return offset < area->reserve ? area->writable + offset : (void *)(uintptr_t)address;
}

size_t jitgate_area_size(const struct jitgate_area *area)
{
	return is_area(area) ? area->size : 0;
}

size_t jitgate_area_reserve(const struct jitgate_area *area)
{
	return is_area(area) ? area->reserve : 0;
}
