// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <string.h>

#include "search.h"
#include "search_model.h"

#define PAGE	4096u
#define PAGES	512u	/* of the model's address space */
#define LOWEST	16u	/* page */

struct model {
	bool taken[PAGES];
	uintptr_t near_to;
	size_t reach, pages, align;	/* the last in pages, too */
};

static uintptr_t gap(uintptr_t a, uintptr_t b)
{
	return a > b ? a - b : b - a;
}

static bool fits(const struct model *model, size_t first)
{
	uintptr_t start = first * PAGE, last = start + model->pages * PAGE - 1;
	size_t i;

	if (first % model->align || first < LOWEST || first + model->pages > PAGES)
		return false;
	for (i = 0; i < model->pages; i++)
		if (model->taken[first + i])
			return false;
	return gap(start, model->near_to) <= model->reach && gap(last, model->near_to) <= model->reach;
}

/* As the search counts: from the page of near_to, or what is aligned before it. */
static uintptr_t distance(const struct model *model, uintptr_t start)
{
	uintptr_t from = model->near_to & ~(uintptr_t)(model->align * PAGE - 1);
	uintptr_t last = start + model->pages * PAGE - 1;
	uintptr_t a = gap(start, from), b = gap(last, from);

	return a > b ? a : b;
}

static bool plain_differs(const struct model *model, uintptr_t found)
{
	uintptr_t best = UINTPTR_MAX;
	size_t first;

	for (first = 0; first < PAGES; first++)
		if (fits(model, first) && distance(model, first * PAGE) < best)
			best = distance(model, first * PAGE);
	if (!found)
		return best != UINTPTR_MAX;
	return found % PAGE || !fits(model, found / PAGE) || distance(model, found) != best;
}

bool search_differs(const unsigned char *input, size_t length)
{
	struct search search;
	struct model model;
	size_t i, at = 0, end;

	if (length < 6)
		return false;
	memset(&model, 0, sizeof(model));
	model.near_to = (input[0] | input[1] << 8) * 32u;
	model.reach = (input[2] | input[3] << 8) * 32u + 1;
	model.pages = input[4] % 64 + 1;
	model.align = (size_t)1 << input[4] / 64 * 2;
	search_begin(&search, model.near_to, model.reach, model.pages * PAGE,
		     model.align * PAGE, PAGES * PAGE);
	for (i = 5; i + 1 < length; i += 2) {
		at += input[i] % 64;
		end = at + input[i + 1] % 64;
		if (end > PAGES)
			end = PAGES;
		if (at < end)
			search_taken(&search, at * PAGE, end * PAGE);
		for (; at < end; at++)
			model.taken[at] = true;
	}
	return plain_differs(&model, search_end(&search));
}
