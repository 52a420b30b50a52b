// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pauth.h"

/* A code has 7 bits and more: so many are never all alike by chance. */
#define VALUES	16

#ifdef __aarch64__

#include <asm/hwcap.h>

#define SIGN(name, code)						\
static __attribute__((target("arch=armv8.3-a")))			\
uint64_t sign_##name(uint64_t value)					\
{									\
	asm volatile(code : "+r" (value));				\
	return value;							\
}

SIGN(ia, "paciza %0")
SIGN(ib, "pacizb %0")
SIGN(da, "pacdza %0")
SIGN(db, "pacdzb %0")
SIGN(ga, "pacga %0, %0, %0")

static uint64_t (*const sign[PAUTH_KEYS])(uint64_t value) = {
	sign_ia, sign_ib, sign_da, sign_db, sign_ga,
};

bool pauth_present(void)
{
	unsigned long wanted = HWCAP_PACA | HWCAP_PACG;

	return (getauxval(AT_HWCAP) & wanted) == wanted;
}

uint64_t pauth_sign(enum pauth_key key, uint64_t value)
{
	return sign[key](value);
}

__attribute__((target("arch=armv8.3-a")))
uint64_t pauth_sign_return(uint64_t address, uint64_t stack)
{
	asm volatile("pacia %0, %1" : "+r" (address) : "r" (stack));
	return address;
}

long raw_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d, unsigned long e)
{
	register long x8 asm("x8") = number;
	register unsigned long x0 asm("x0") = a;
	register unsigned long x1 asm("x1") = b;
	register unsigned long x2 asm("x2") = c;
	register unsigned long x3 asm("x3") = d;
	register unsigned long x4 asm("x4") = e;

	asm volatile("svc #0" : "+r" (x0)
		     : "r" (x8), "r" (x1), "r" (x2), "r" (x3), "r" (x4)
		     : "memory");
	return x0;
}

#else

bool pauth_present(void)
{
	return false;
}

uint64_t pauth_sign(enum pauth_key key, uint64_t value)
{
	(void)key;
	return value;
}

uint64_t pauth_sign_return(uint64_t address, uint64_t stack)
{
	(void)stack;
	return address;
}

long raw_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d, unsigned long e)
{
	long result = syscall(number, a, b, c, d, e);

	return result < 0 ? -errno : result;
}

#endif

unsigned long pauth_signing(void)
{
	unsigned long mask = 0;
	uint64_t value;
	int key;

	for (key = 0; key < PAUTH_SWITCHED; key++)
		for (value = 1; value <= VALUES; value++)
			if (pauth_sign(key, value) != value)
				mask |= 1UL << key;
	return mask;
}

void pauth_state(struct pauth_state *state)
{
	uint64_t value;
	int key;

	state->enabled = raw_syscall(SYS_prctl, PR_PAC_GET_ENABLED_KEYS, 0, 0, 0, 0);
	state->signing = pauth_signing();
	for (key = 0; key < PAUTH_KEYS; key++) {
		state->signature[key] = 0;
		for (value = 1; value <= VALUES; value++)
			state->signature[key] = state->signature[key] * 31 +
						(pauth_sign(key, value) >> 32);
	}
}
