/* SPDX-License-Identifier: MIT */
/*
 * The register that holds this thread's rights for each key. An architecture
 * gives: whether there is one, how to read and write it, and what the bits of a
 * key are when it is open and when it is closed.
 *
 * The write is a compiler barrier: no access to memory may be moved across it,
 * or a store to machine code would run with the gate closed, or the gate would
 * be open for stores that were never meant to be let in.
 */
#ifndef JITGATE_RIGHTS_H
#define JITGATE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "rights_x86.h"
#elif defined(__aarch64__)
#include "rights_arm64.h"
#else
#include "rights_none.h"
#endif

static inline unsigned int rights_of(rights_t rights, int key)
{
	return rights >> (key * RIGHTS_BITS) & RIGHTS_MASK;
}

static inline rights_t rights_with(rights_t rights, int key, unsigned int bits)
{
	rights &= ~((rights_t)RIGHTS_MASK << (key * RIGHTS_BITS));
	return rights | (rights_t)bits << (key * RIGHTS_BITS);
}

#endif
