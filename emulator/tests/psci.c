// SPDX-License-Identifier: GPL-2.0-or-later
/* SYSTEM_SUSPEND of the built-in PSCI, as far as the machine stays awake; the rest is for Linux to test. */
#include "poe.h"

#define FEATURES	0x8400000aU
#define SYSTEM_SUSPEND	0x8400000eU
#define CPU_ON		0x84000003U
#define AFFINITY_INFO	0x84000004U
#define SMC64		0x40000000U
#define NOT_SUPPORTED	-1
#define DENIED		-3
#define INVALID_ADDRESS	-9
#define ANSWER_ON	0

static int psci(u32 function, u64 a, u64 b, u64 c)
{
	register u64 x0 asm("x0") = function;
	register u64 x1 asm("x1") = a;
	register u64 x2 asm("x2") = b;
	register u64 x3 asm("x3") = c;

	asm volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
	return x0;
}

static void expect(const char *what, int got, int want)
{
	check(got == want, what, got, want);
}

void test_psci(void)
{
	expect("32 bits", psci(FEATURES, SYSTEM_SUSPEND, 0, 0), 0);
	expect("64 bits", psci(FEATURES, SYSTEM_SUSPEND | SMC64, 0, 0), 0);
	expect("no such function", psci(FEATURES, 0x8400001f, 0, 0), NOT_SUPPORTED);
	result("PSCI_FEATURES knows SYSTEM_SUSPEND");
	expect("unaligned entry", psci(SYSTEM_SUSPEND | SMC64, (u64)spin + 2, 0, 0), INVALID_ADDRESS);
	result("SYSTEM_SUSPEND wants an entry point that can be one");
	expect("CPU_ON", psci(CPU_ON | SMC64, 1, (u64)spin, 0), 0);
	while (psci(AFFINITY_INFO, 1, 0, 0) != ANSWER_ON)
		;
	expect("other CPU on", psci(SYSTEM_SUSPEND | SMC64, (u64)spin, 0, 0), DENIED);
	result("SYSTEM_SUSPEND is denied while another CPU is on");
}
