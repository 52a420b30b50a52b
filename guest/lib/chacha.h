/* SPDX-License-Identifier: GPL-2.0-only */
/* ChaCha20, as far as the kernel's random generator needs it. */
#ifndef GUEST_CHACHA_H
#define GUEST_CHACHA_H

#define CHACHA_KEY	32
#define CHACHA_BLOCK	64

/* The first block of a key's stream: counter and nonce are zero. */
void chacha_first_block(const unsigned char key[CHACHA_KEY],
			unsigned char block[CHACHA_BLOCK]);

#endif
