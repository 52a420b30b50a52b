/* SPDX-License-Identifier: MIT */
/*
 * x86-64: PKRU, two bits for each key: no access (1), no write (2). It says
 * nothing about execution.
 *
 * WRPKRU needs no fence: the processor does not run accesses to memory ahead of
 * it, not even speculatively, and those before it were checked when they were
 * made.
 */
#ifndef JITGATE_RIGHTS_X86_H
#define JITGATE_RIGHTS_X86_H

#include <cpuid.h>

typedef uint32_t rights_t;

#define RIGHTS_BITS	2
#define RIGHTS_MASK	3u
#define RIGHTS_OPEN	0u
#define RIGHTS_CLOSED	2u
#define RIGHTS_ENTRY	1u	/* set: nothing, as in threads older than the key */

#define CPUID_FEATURES	7
#define CPUID_OSPKE	(1u << 4)	/* ECX: the kernel enabled keys */

static inline bool rights_supported(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(CPUID_FEATURES, 0, &a, &b, &c, &d) && c & CPUID_OSPKE;
}

/* In bytes, for assemblers that know neither. */
static inline rights_t rights_read(void)
{
	uint32_t rights, high;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee # rdpkru"
			 : "=a" (rights), "=d" (high) : "c" (0));
	return rights;
}

static inline void rights_write(rights_t rights)
{
	__asm__ volatile(".byte 0x0f, 0x01, 0xef # wrpkru"
			 : : "a" (rights), "c" (0), "d" (0) : "memory");
}

#endif
