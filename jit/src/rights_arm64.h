/* SPDX-License-Identifier: MIT */
/*
 * arm64: POR_EL0, four bits for each key: read (1), execute (2), write (4). A
 * thread that has an area open cannot run it.
 *
 * A write takes effect for sure only after a context synchronisation event,
 * hence the ISB: after opening, or the first stores may be refused; after
 * closing, or later ones may be let in. Accesses before the write in program
 * order are not affected by it, so nothing is needed in front.
 */
#ifndef JITGATE_RIGHTS_ARM64_H
#define JITGATE_RIGHTS_ARM64_H

#include <sys/auxv.h>

typedef uint64_t rights_t;

#define RIGHTS_BITS	4
#define RIGHTS_MASK	15u
#define RIGHTS_READ	1u
#define RIGHTS_EXECUTE	2u
#define RIGHTS_WRITE	4u
#define RIGHTS_OPEN	(RIGHTS_READ | RIGHTS_WRITE)
#define RIGHTS_CLOSED	(RIGHTS_READ | RIGHTS_EXECUTE)
#define RIGHTS_ENTRY	RIGHTS_READ	/* not set: nothing, as in threads older than the key */

#define POE_IN_HWCAP2	(1ul << 63)

static inline bool rights_supported(void)
{
	return getauxval(AT_HWCAP2) & POE_IN_HWCAP2;
}

/* By number, for assemblers that do not know POR_EL0. */
static inline rights_t rights_read(void)
{
	rights_t rights;

	__asm__ volatile("mrs %0, S3_3_C10_C2_4" : "=r" (rights));
	return rights;
}

static inline void rights_write(rights_t rights)
{
	__asm__ volatile("msr S3_3_C10_C2_4, %0\n\tisb" : : "r" (rights) : "memory");
}

#endif
