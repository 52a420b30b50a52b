// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jitgate.h"
#include "pieces_model.h"

#define UNIT	16u
#define UNITS	8192u	/* of the reserve */
#define PIECES	64

struct piece {
	size_t at, units;
};

static unsigned char owners[UNITS];	/* number of the piece and 1 */
static struct piece pieces[PIECES];
static struct jitgate_area *area;
static char *start;

#define MUST(condition)			\
	do {				\
		if (!(condition))	\
			return __LINE__;	\
	} while (0)

static bool is_free(size_t at, size_t units)
{
	size_t i;

	for (i = 0; i < units; i++)
		if (owners[at + i])
			return false;
	return true;
}

/* The plain way: each place, from the lowest on. */
static size_t lowest_place(size_t units, size_t align)
{
	size_t at;

	for (at = 0; at + units <= UNITS; at++)
		if ((uintptr_t)(start + at * UNIT) % align == 0 && is_free(at, units))
			return at;
	return UNITS;
}

static int take(unsigned int number, size_t size, size_t align)
{
	size_t units = (size + UNIT - 1) / UNIT, at = lowest_place(units, align);
	int error;
	void *got;

	error = jitgate_piece_new(area, size, align, &got);
	MUST(error == (!size ? -EINVAL : at == UNITS ? -ENOSPC : 0));
	if (error)
		return 0;
	MUST(got == start + at * UNIT);
	MUST(at * UNIT + size <= jitgate_area_size(area));
	MUST(jitgate_piece_size(area, got) == units * UNIT);
	memset(owners + at, number + 1, units);
	pieces[number] = (struct piece){ at, units };
	return 0;
}

static int give(unsigned int number, size_t inside)
{
	struct piece *piece = &pieces[number];
	char *at = start + piece->at * UNIT;

	if (inside % (piece->units * UNIT)) {
		MUST(jitgate_piece_free(area, at + inside % (piece->units * UNIT)) == -EINVAL);
		MUST(jitgate_piece_size(area, at + inside % (piece->units * UNIT)) == 0);
	}
	MUST(jitgate_piece_size(area, at) == piece->units * UNIT);
	MUST(jitgate_piece_free(area, at) == 0);
	MUST(jitgate_piece_free(area, at) == -EINVAL);
	memset(owners + piece->at, 0, piece->units);
	*piece = (struct piece){ .units = 0 };
	return 0;
}

static int play(const unsigned char *input, size_t length)
{
	unsigned int number;
	int line = 0;

	for (; length >= 4 && !line; input += 4, length -= 4) {
		number = input[0] % PIECES;
		if (pieces[number].units)
			line = give(number, input[1]);
		else
			line = take(number, (size_t)input[1] << input[2] % 10,
				    (size_t)1 << input[3] % 14);
	}
	for (number = 0; number < PIECES && !line; number++)
		if (pieces[number].units)
			line = give(number, 0);
	return line;
}

/* Nothing was lost: all of it is one piece again. */
static int whole(void)
{
	void *got;

	MUST(jitgate_piece_new(area, UNITS * UNIT, 1, &got) == 0);
	MUST(got == start);
	MUST(jitgate_piece_free(area, got) == 0);
	MUST(jitgate_check(NULL, NULL) == 0);
	return 0;
}

int pieces_differ(const unsigned char *input, size_t length)
{
	struct jitgate_request request = {
		.size = 4096,
		.reserve = UNITS * UNIT,
		.flags = JITGATE_PIECES,
	};
	int line;

	memset(owners, 0, sizeof(owners));
	memset(pieces, 0, sizeof(pieces));
	MUST(jitgate_area_new(&area, &request) == 0);
	start = jitgate_area_start(area);
	line = play(input, length);
	if (!line)
		line = whole();
	MUST(jitgate_area_free(area) == 0 || line);
	return line;
}
