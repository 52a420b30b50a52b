/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One block of ChaCha20 with the gate open. In line: what a call saves on the
 * stack, its way back above all, could be changed there by another CPU. So could
 * the pointer of a loop: loops are unrolled, and each word has a fixed place.
 */
#ifndef _DRIVERS_CHAR_KPKEYS_CHACHA_H
#define _DRIVERS_CHAR_KPKEYS_CHACHA_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kpkeys_secrets.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <crypto/chacha.h>

#define CHACHA_WORDS	CHACHA_STATE_WORDS

static __always_inline void chacha_quarter(u32 *x, int a, int b, int c, int d)
{
	x[a] += x[b];
	x[d] = rol32(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rol32(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rol32(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rol32(x[b] ^ x[c], 7);
}

static __always_inline void chacha_rounds(u32 *x)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		chacha_quarter(x, 0, 4, 8, 12);
		chacha_quarter(x, 1, 5, 9, 13);
		chacha_quarter(x, 2, 6, 10, 14);
		chacha_quarter(x, 3, 7, 11, 15);
		chacha_quarter(x, 0, 5, 10, 15);
		chacha_quarter(x, 1, 6, 11, 12);
		chacha_quarter(x, 2, 7, 8, 13);
		chacha_quarter(x, 3, 4, 9, 14);
	}
}

/**
 * struct kpkeys_block - what it takes and what comes of it
 * @words: the block
 * @x: the state on its way there
 *
 * Ahead of the section: variables may be cleared by a call where they begin.
 */
struct kpkeys_block {
	u32 words[CHACHA_WORDS];
	u32 x[CHACHA_WORDS];
};

/**
 * kpkeys_chacha20 - chacha20_block() for sections
 * @state: as there
 * @block: filled
 */
static __always_inline void kpkeys_chacha20(u32 *state, struct kpkeys_block *block)
{
	u32 *x = block->x;
	unsigned int i;

	kpkeys_for_each_word(i, CHACHA_WORDS)
		WRITE_ONCE(x[i], state[i]);
	chacha_rounds(x);
	kpkeys_for_each_word(i, CHACHA_WORDS)
		WRITE_ONCE(block->words[i], (__force u32)cpu_to_le32(x[i] + state[i]));
	/* It has the key's words, and outlives the section otherwise. */
	kpkeys_for_each_word(i, CHACHA_WORDS)
		WRITE_ONCE(x[i], 0);
	state[12]++;
}

static __always_inline void kpkeys_copy_key(u32 *to, const u32 *from)
{
	unsigned int i;

	kpkeys_for_each_word(i, CHACHA_KEY_SIZE / sizeof(u32))
		WRITE_ONCE(to[i], from[i]);
}

static __always_inline void kpkeys_erase(u32 *words, unsigned int nr)
{
	unsigned int i;

	kpkeys_for_each_word(i, nr)
		WRITE_ONCE(words[i], 0);
}

#endif /* _DRIVERS_CHAR_KPKEYS_CHACHA_H */
