// SPDX-License-Identifier: MIT
#include "search.h"

static uintptr_t round_up(uintptr_t value, size_t align)
{
	return round_down(value + align - 1, align);
}

void search_begin(struct search *search, uintptr_t near_to, size_t reach, size_t size,
		  size_t align, uintptr_t limit)
{
	uintptr_t low = near_to > reach ? near_to - reach : 0;
	uintptr_t high = near_to < limit && reach < limit - near_to ? near_to + reach + 1 : limit;

	*search = (struct search){
		.near_to = round_down(near_to, align),
		.low = round_up(low > LOWEST_PLACE ? low : LOWEST_PLACE, align),
		.high = high,
		.size = size,
		.align = align,
	};
	search->gap = search->low;
}

static uintptr_t farthest(const struct search *search, uintptr_t start)
{
	uintptr_t last = start + search->size - 1;
	uintptr_t above = last > search->near_to ? last - search->near_to : 0;
	uintptr_t below = search->near_to > start ? search->near_to - start : 0;

	return above > below ? above : below;
}

static void consider(struct search *search, uintptr_t start, uintptr_t end)
{
	uintptr_t half = round_down((search->size - 1 + search->align) / 2, search->align);
	uintptr_t at = search->near_to > half ? search->near_to - half : 0;
	uintptr_t distance;

	start = round_up(start, search->align);
	if (end <= start || end - start < search->size)
		return;
	if (at > end - search->size)
		at = round_down(end - search->size, search->align);
	if (at < start)
		at = start;
	distance = farthest(search, at);
	if (search->found && distance >= search->distance)
		return;
	search->found = true;
	search->best = at;
	search->distance = distance;
}

void search_taken(struct search *search, uintptr_t start, uintptr_t end)
{
	consider(search, search->gap, start < search->high ? start : search->high);
	if (end > search->gap)
		search->gap = end;
}

uintptr_t search_end(struct search *search)
{
	consider(search, search->gap, search->high);
	return search->found ? search->best : 0;
}
