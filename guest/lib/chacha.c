// SPDX-License-Identifier: GPL-2.0-only
/* RFC 8439, section 2.3. */
#include <stdint.h>
#include <string.h>

#include "chacha.h"

#define WORDS	16
#define ROUNDS	20

static uint32_t rotate(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

static void quarter(uint32_t *x, int a, int b, int c, int d)
{
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 7);
}

static void double_round(uint32_t *x)
{
	int i;

	for (i = 0; i < 4; i++)
		quarter(x, i, 4 + i, 8 + i, 12 + i);
	for (i = 0; i < 4; i++)
		quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
}

/* Words are little-endian, as on every machine this runs on. */
void chacha_first_block(const unsigned char key[CHACHA_KEY],
			unsigned char block[CHACHA_BLOCK])
{
	uint32_t state[WORDS] = { 0 }, x[WORDS];
	int i;

	memcpy(state, "expand 32-byte k", 16);
	memcpy(state + 4, key, CHACHA_KEY);
	memcpy(x, state, sizeof(x));
	for (i = 0; i < ROUNDS; i += 2)
		double_round(x);
	for (i = 0; i < WORDS; i++)
		x[i] += state[i];
	memcpy(block, x, CHACHA_BLOCK);
}
