// SPDX-License-Identifier: MIT
/* Makes, grows, opens, closes and frees areas as the input says; keeps its own books beside. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "jitgate.h"

#define AREAS	8
#define UNIT	1000u

struct book {
	struct jitgate_area *area;
	size_t size, reserve;
	uintptr_t start;
	int depth;
};

static struct book books[AREAS];

static void expect(bool good)
{
	if (!good)
		abort();
}

static uintptr_t distance(uintptr_t a, uintptr_t b)
{
	return a > b ? a - b : b - a;
}

static bool overlap(const struct book *a, const struct book *b)
{
	return a->start < b->start + b->reserve && b->start < a->start + a->reserve;
}

static void check_place(const struct book *book, const struct jitgate_request *request)
{
	uintptr_t near_to = (uintptr_t)request->near_to;
	int i;

	if (near_to) {
		expect(distance(book->start, near_to) <= request->reach);
		expect(distance(book->start + book->reserve - 1, near_to) <= request->reach);
	}
	for (i = 0; i < AREAS; i++)
		if (&books[i] != book && books[i].area)
			expect(!overlap(&books[i], book));
}

static void make(struct book *book, unsigned int size, unsigned int reserve, unsigned int how)
{
	struct jitgate_request request = {
		.size = size * UNIT,
		.reserve = reserve * UNIT * 16,
		.flags = how & 1,
	};

	if (how & 2) {
		request.near_to = how & 4 ? (const void *)books : (const void *)(uintptr_t)&make;
		request.reach = (size_t)(how >> 3 & 15) << 20;
	}
	if (jitgate_area_new(&book->area, &request)) {
		book->area = NULL;
		expect(!size || (request.reserve && request.reserve < request.size) || how & 2);
		return;
	}
	book->size = jitgate_area_size(book->area);
	book->reserve = jitgate_area_reserve(book->area);
	book->start = (uintptr_t)jitgate_area_start(book->area);
	expect(book->size >= request.size && book->reserve >= request.reserve);
	check_place(book, &request);
}

static void grow(struct book *book, unsigned int size)
{
	int error = jitgate_area_grow(book->area, size * UNIT * 4);

	expect((error != 0) == (size * UNIT * 4 > book->reserve));
	expect(jitgate_area_size(book->area) >= book->size);
	book->size = jitgate_area_size(book->area);
	expect(!error == (book->size >= size * UNIT * 4) || error);
	expect((uintptr_t)jitgate_area_start(book->area) == book->start);
}

static void open_or_close(struct book *book, unsigned int depth)
{
	if (depth & 1) {
		expect(jitgate_open(book->area) == book->depth);
		book->depth++;
		((volatile unsigned char *)book->start)[book->size - 1] = depth;
	} else {
		book->depth = book->depth ? (int)(depth / 2) % book->depth : 0;
		expect(jitgate_close(book->area, book->depth) == 0);
	}
	expect(jitgate_state(book->area) == book->depth);
}

static void end(struct book *book)
{
	if (book->depth)
		expect(jitgate_area_free(book->area) != 0);
	expect(jitgate_close(book->area, 0) == 0);
	expect(jitgate_area_free(book->area) == 0);
	*book = (struct book){ .area = NULL };
}

static void step(const uint8_t *input)
{
	struct book *book = &books[input[0] % AREAS];

	if (!book->area)
		make(book, input[1], input[2], input[3]);
	else if (input[1] % 4 == 0)
		end(book);
	else if (input[1] % 4 == 1)
		grow(book, input[2]);
	else
		open_or_close(book, input[2]);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
	struct jitgate_counts stats;
	int i;

	/* The books are those of mprotect(), where every area has a depth of its own. */
	expect(jitgate_init(JITGATE_NEVER) == 0);
	for (; length >= 4; input += 4, length -= 4)
		step(input);
	expect(jitgate_check(NULL, NULL) == 0);
	for (i = 0; i < AREAS; i++)
		if (books[i].area)
			end(&books[i]);
	jitgate_stats(&stats);
	expect(stats.areas == 0);
	return 0;
}
