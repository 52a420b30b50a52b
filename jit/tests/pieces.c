// SPDX-License-Identifier: MIT
/* Small pieces of an area, and that nobody can forge what is known of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "pieces_model.h"
#include "tests.h"

#define THREADS	4

static struct jitgate_area *make_pieces(size_t size, size_t reserve)
{
	struct jitgate_request request = {
		.size = size,
		.reserve = reserve,
		.flags = JITGATE_PIECES,
	};
	struct jitgate_area *area;

	CHECK_EQUAL(jitgate_area_new(&area, &request), 0);
	return area;
}

void pieces(void)
{
	struct jitgate_area *area, *other;
	void *piece[3], *none = NULL;
	int i, state;

	begin();
	area = make_pieces(1, 1 << 20);
	other = make_area(4096);
	for (i = 0; i < 3; i++) {
		CHECK_EQUAL(jitgate_piece_new(area, 100, 64, &piece[i]), 0);
		CHECK_EQUAL((uintptr_t)piece[i] % 64, 0);
		CHECK_EQUAL(jitgate_piece_size(area, piece[i]), 112);
		CHECK(faults(write_byte, jitgate_writable(piece[i]), area, NULL));
		state = jitgate_open_at(piece[i]);
		CHECK_EQUAL(state, 0);
		store_function(jitgate_writable(piece[i]), i);
		CHECK_EQUAL(jitgate_close_at(piece[i], state), 0);
		jitgate_publish(piece[i], 16, 0);
	}
	for (i = 0; i < 3; i++)
		CHECK_EQUAL(((int (*)(void))(uintptr_t)piece[i])(), i);
	CHECK_EQUAL(jitgate_piece_new(other, 100, 0, &none), -EINVAL);
	CHECK_EQUAL(jitgate_piece_new(area, 0, 0, &none), -EINVAL);
	CHECK_EQUAL(jitgate_piece_new(area, 8, 24, &none), -EINVAL);
	CHECK_EQUAL(jitgate_piece_new(area, (1 << 20) + 1, 0, &none), -ENOSPC);
	CHECK_EQUAL(jitgate_piece_new(area, 1 << 20, 0, &none), -ENOSPC);
	CHECK(!none);
	CHECK_EQUAL(jitgate_piece_free(area, jitgate_area_start(other)), -EINVAL);
	CHECK_EQUAL(jitgate_piece_free(area, NULL), 0);
	CHECK_EQUAL(jitgate_piece_free(area, piece[1]), 0);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	CHECK_EQUAL(jitgate_area_free(area), 0);
	CHECK_EQUAL(jitgate_piece_free(area, piece[0]), -EINVAL);
}

void pieces_at_random(void)
{
	unsigned char input[800];
	int round, i, line;

	begin();
	srand(1);
	for (round = 0; round < 60; round++) {
		for (i = 0; i < (int)sizeof(input); i++)
			input[i] = rand() >> 7;
		line = pieces_differ(input, sizeof(input));
		if (line)
			fail_at("pieces_model.c", line, "round %d", round);
	}
}

/* In a scope and outside of one: what the thread has open stays as it was. */
void pieces_in_scope(void)
{
	struct jitgate_counts before, after;
	struct jitgate_area *area;
	void *piece;

	begin();
	area = make_pieces(4096, 4096);
	jitgate_stats(&before);
	CHECK_EQUAL(jitgate_piece_new(area, 16, 0, &piece), 0);
	CHECK_EQUAL(jitgate_piece_free(area, piece), 0);
	jitgate_stats(&after);
	CHECK_EQUAL(after.system_calls - before.system_calls, with_keys ? 2 : 6);
	CHECK(!can_write(area));
	CHECK_EQUAL(jitgate_open(area), 0);
	CHECK_EQUAL(jitgate_piece_new(area, 16, 0, &piece), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_piece_size(area, piece), 16);
	CHECK_EQUAL(jitgate_piece_free(area, piece), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
}

static struct jitgate_area *shared;

static void *take_and_give(void *unused)
{
	void *piece[8];
	int round, i;

	(void)unused;
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 8; i++)
			CHECK_EQUAL(jitgate_piece_new(shared, 16 << i, 16 << i, &piece[i]), 0);
		for (i = 0; i < 8; i++) {
			CHECK_EQUAL(jitgate_piece_size(shared, piece[i]), 16 << i);
			CHECK_EQUAL(jitgate_piece_free(shared, piece[i]), 0);
		}
	}
	return NULL;
}

void pieces_of_threads(void)
{
	pthread_t threads[THREADS];
	void *all;
	int i;

	begin();
	shared = make_pieces(4096, 1 << 18);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_and_give, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(jitgate_piece_new(shared, 1 << 18, 0, &all), 0);
}

static void *use_before(void *area)
{
	void *piece;

	CHECK_EQUAL(jitgate_piece_new(area, 16, 0, &piece), 0);
	CHECK_EQUAL(jitgate_piece_free(area, piece), 0);
	return piece;
}

static void use_in_child(void *piece)
{
	CHECK(use_before(shared) != piece);
	CHECK_EQUAL(jitgate_piece_free(shared, piece), 0);
	CHECK(use_before(shared) == piece);
}

void pieces_forked(void)
{
	void *piece;

	begin();
	shared = make_pieces(4096, 1 << 18);
	CHECK_EQUAL(jitgate_piece_new(shared, 16, 0, &piece), 0);
	CHECK_EQUAL(in_child(use_in_child, piece), 0);
	CHECK_EQUAL(jitgate_piece_size(shared, piece), 16);
}

static void give_all(void *book)
{
	memset(book, 0, book_size(1 << 18));
}

/* Who could say that code is free would have other code written over it. */
void forged_pieces(void)
{
	struct jitgate_area *area, fake;
	void *piece, *next;

	begin();
	area = make_pieces(4096, 1 << 18);
	CHECK(faults(give_all, area->book, area, NULL));
	CHECK_EQUAL(jitgate_piece_new(area, 16, 0, &piece), 0);
	CHECK(faults(give_all, area->book, area, NULL));
	CHECK_EQUAL(jitgate_piece_new(area, 16, 0, &next), 0);
	CHECK(next != piece);
	CHECK(faults(give_all, area->book, area, NULL));
	CHECK_EQUAL(jitgate_piece_size(area, piece), 16);
	fake = *area;
	CHECK_EQUAL(jitgate_piece_new(&fake, 16, 0, &next), -EINVAL);
	CHECK_EQUAL(jitgate_piece_free(&fake, piece), -EINVAL);
	CHECK_EQUAL(jitgate_piece_size(&fake, piece), 0);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 0);
	/* Who makes system calls is noticed. */
	munmap(area->book, 1);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 1);
	CHECK(mmap(area->book, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == area->book);
	CHECK_EQUAL(jitgate_check(NULL, NULL), 1);
}
