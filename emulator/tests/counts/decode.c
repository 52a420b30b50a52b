// SPDX-License-Identifier: GPL-2.0-only
/* The decoders of the plugin alone: also what the emulator's CPUs do not execute. */
#include <stdio.h>
#include <string.h>

#include "../../plugins/events.h"

#define EVENT_NAME(name)	#name,

static const char * const names[] = { EVENTS(EVENT_NAME) };
static unsigned int tests, failed;

static void tell(uint32_t events)
{
	int event;

	for (event = 0; event < NR_EVENTS; event++)
		if (events >> event & 1)
			printf(" %s", names[event]);
}

static void check(const char *what, uint32_t events, uint32_t wanted)
{
	printf("%s %u - %s", events == wanted ? "ok" : "not ok", ++tests, what);
	if (events != wanted) {
		failed++;
		printf(" # counts as");
		tell(events);
		printf(" instead of");
		tell(wanted);
	}
	printf("\n");
}

struct a64 {
	const char *what;
	uint32_t insn;
	uint32_t events;
};

#define RANGE_LOCAL	(BIT_OF(tlbi_range) | BIT_OF(tlbi_local))
#define RANGE		(BIT_OF(tlbi_range) | BIT_OF(tlbi_broadcast))
#define PAGE_LOCAL	(BIT_OF(tlbi_page) | BIT_OF(tlbi_local))
#define PAGE		(BIT_OF(tlbi_page) | BIT_OF(tlbi_broadcast))
#define ASID_LOCAL	(BIT_OF(tlbi_asid) | BIT_OF(tlbi_local))
#define ASID		(BIT_OF(tlbi_asid) | BIT_OF(tlbi_broadcast))
#define ALL_LOCAL	(BIT_OF(tlbi_all) | BIT_OF(tlbi_local))
#define ALL		(BIT_OF(tlbi_all) | BIT_OF(tlbi_broadcast))

static const struct a64 a64[] = {
	{ "nop", 0xd503201f, 0 },
	{ "hint #66", 0xd503285f, 0 },
	{ "msr por_el1, x3", 0xd518a283, BIT_OF(pkey_writes) },
	{ "mrs x3, por_el1", 0xd538a283, 0 },
	{ "msr por_el0, x0", 0xd51ba280, BIT_OF(user_pkey_writes) },
	{ "msr por_el12, x0", 0xd51da280, 0 },
	{ "msr ttbr0_el1, x7", 0xd5182007, BIT_OF(ttbr_writes) },
	{ "msr ttbr1_el1, x7", 0xd5182027, BIT_OF(ttbr_writes) },
	{ "msr tcr_el1, x7", 0xd5182047, 0 },
	{ "msr sctlr_el1, x0", 0xd5181000, BIT_OF(sctlr_writes) },
	{ "msr icc_sgi1r_el1, x2", 0xd518cba2, BIT_OF(ipi_sent) },
	{ "msr icc_asgi1r_el1, x2", 0xd518cbc2, 0 },
	{ "isb", 0xd5033fdf, BIT_OF(isb) },
	{ "dsb sy", 0xd5033f9f, BIT_OF(dsb) },
	{ "dsb ishst", 0xd5033a9f, BIT_OF(dsb) },
	{ "dsb synxs", 0xd5033e3f, BIT_OF(dsb) },
	{ "dmb ish", 0xd5033bbf, 0 },
	{ "ssbb", 0xd503309f, 0 },
	{ "pssbb", 0xd503349f, 0 },
	{ "sb", 0xd50330ff, 0 },
	{ "svc #0", 0xd4000001, 0 },
	{ "hvc #1", 0xd4000022, BIT_OF(hypercall) },
	{ "smc #0", 0xd4000003, BIT_OF(hypercall) },
	{ "brk #0", 0xd4200000, 0 },
	{ "eret", 0xd69f03e0, BIT_OF(eret) },
	{ "eretaa", 0xd69f0bff, BIT_OF(eret) },
	{ "eretab", 0xd69f0fff, BIT_OF(eret) },
	{ "ret", 0xd65f03c0, 0 },
	{ "tlbi vmalle1", 0xd508871f, ALL_LOCAL },
	{ "tlbi vmalle1is", 0xd508831f, ALL },
	{ "tlbi vmalle1os", 0xd508811f, ALL },
	{ "tlbi vmalle1isnxs", 0xd508931f, ALL },
	{ "tlbi vae1, x1", 0xd5088721, PAGE_LOCAL },
	{ "tlbi vae1is, x1", 0xd5088321, PAGE },
	{ "tlbi vaale1is, x1", 0xd50883e1, PAGE },
	{ "tlbi vale1os, x1", 0xd50881a1, PAGE },
	{ "tlbi aside1, x1", 0xd5088741, ASID_LOCAL },
	{ "tlbi aside1is, x1", 0xd5088341, ASID },
	{ "tlbi rvae1, x1", 0xd5088621, RANGE_LOCAL },
	{ "tlbi rvae1is, x1", 0xd5088221, RANGE },
	{ "tlbi rvaale1os, x1", 0xd50885e1, RANGE },
	{ "tlbi alle2", 0xd50c871f, ALL_LOCAL },
	{ "tlbi alle1is", 0xd50c839f, ALL },
	{ "tlbi vmalls12e1is", 0xd50c83df, ALL },
	{ "tlbi ipas2e1, x1", 0xd50c8421, PAGE_LOCAL },
	{ "tlbi ipas2e1is, x1", 0xd50c8021, PAGE },
	{ "tlbi ripas2le1is, x1", 0xd50c80c1, RANGE },
	{ "tlbi ripas2e1, x1", 0xd50c8441, RANGE_LOCAL },
	{ "dc civac, x1", 0xd50b7e21, 0 },
	{ "at s1e1r, x1", 0xd5087801, 0 },
	{ "ldadd w2, w3, [x1]", 0xb8220023, BIT_OF(atomic) },
	{ "ldumaxal x2, x3, [x1]", 0xf8e26023, BIT_OF(atomic) },
	{ "swpb w2, w3, [x1]", 0x38228023, BIT_OF(atomic) },
	{ "ldapr x2, [x1]", 0xf8bfc022, 0 },
	{ "st64b x0, [x1]", 0xf83f9020, 0 },
	{ "ldr x2, [x1, x3]", 0xf8636822, 0 },
	{ "cas x2, x3, [x1]", 0xc8a27c23, BIT_OF(atomic) },
	{ "casalb w2, w3, [x1]", 0x08e2fc23, BIT_OF(atomic) },
	{ "casp x2, x3, x4, x5, [x1]", 0x48227c24, BIT_OF(atomic) },
	{ "caspal w2, w3, w4, w5, [x1]", 0x0862fc24, BIT_OF(atomic) },
	{ "stxr w3, x2, [x1]", 0xc8037c22, BIT_OF(atomic) },
	{ "stlxp w4, x2, x3, [x1]", 0xc8248c22, BIT_OF(atomic) },
	{ "ldxr x2, [x1]", 0xc85f7c22, 0 },
	{ "ldaxp x2, x3, [x1]", 0xc87f8c22, 0 },
	{ "stlr x2, [x1]", 0xc89ffc22, 0 },
	{ "ldar x2, [x1]", 0xc8dffc22, 0 },
};

struct x86 {
	const char *what;
	const char *bytes;
	size_t len;
	uint32_t events;
	enum action action;
	unsigned int operand;
};

#define BYTES(text)	text, sizeof(text) - 1
#define SERIAL		BIT_OF(serialising)

static const struct x86 x86[] = {
	{ "nop", BYTES("\x90"), 0, 0, 0 },
	{ "nopl 0x504b4f01(%rax)", BYTES("\x0f\x1f\x80\x01\x4f\x4b\x50"), 0, ACT_OPEN, 0 },
	{ "nopl 0x504b4f02(%rax)", BYTES("\x0f\x1f\x80\x02\x4f\x4b\x50"), 0, ACT_CLOSE, 0 },
	{ "nopl 0x504b4f03(%rax)", BYTES("\x0f\x1f\x80\x03\x4f\x4b\x50"), 0, 0, 0 },
	{ "nopw 0x504b4f01(%rax,%rax)", BYTES("\x66\x0f\x1f\x84\x00\x01\x4f\x4b\x50"), 0, 0, 0 },
	{ "wrmsr", BYTES("\x0f\x30"), 0, ACT_WRMSR, 0 },
	{ "%ds wrmsr", BYTES("\x3e\x0f\x30"), 0, ACT_WRMSR, 0 },
	{ "rdmsr", BYTES("\x0f\x32"), 0, 0, 0 },
	{ "wrpkru", BYTES("\x0f\x01\xef"), BIT_OF(user_pkey_writes), 0, 0 },
	{ "rdpkru", BYTES("\x0f\x01\xee"), 0, 0, 0 },
	{ "serialize", BYTES("\x0f\x01\xe8"), SERIAL, 0, 0 },
	{ "cpuid", BYTES("\x0f\xa2"), SERIAL, 0, 0 },
	{ "swapgs", BYTES("\x0f\x01\xf8"), 0, 0, 0 },
	{ "stac", BYTES("\x0f\x01\xcb"), 0, 0, 0 },
	{ "vmcall", BYTES("\x0f\x01\xc1"), BIT_OF(hypercall), 0, 0 },
	{ "vmmcall", BYTES("\x0f\x01\xd9"), BIT_OF(hypercall), 0, 0 },
	{ "syscall", BYTES("\x0f\x05"), BIT_OF(syscall), 0, 0 },
	{ "sysenter", BYTES("\x0f\x34"), BIT_OF(syscall), 0, 0 },
	{ "sysretq", BYTES("\x48\x0f\x07"), BIT_OF(eret), 0, 0 },
	{ "sysexit", BYTES("\x0f\x35"), BIT_OF(eret), 0, 0 },
	{ "iretq", BYTES("\x48\xcf"), BIT_OF(eret) | SERIAL, ACT_RETURN, 0 },
	{ "mov %rax,%cr0", BYTES("\x0f\x22\xc0"), BIT_OF(cr0_writes) | SERIAL, ACT_CR, 0x00 },
	{ "mov %r12,%cr3", BYTES("\x41\x0f\x22\xdc"), BIT_OF(cr3_writes) | SERIAL, ACT_CR, 0x3c },
	{ "mov %rbx,%cr4", BYTES("\x0f\x22\xe3"), SERIAL, ACT_CR, 0x43 },
	{ "mov %rax,%cr8", BYTES("\x44\x0f\x22\xc0"), 0, ACT_CR, 0x80 },
	{ "mov %cr3,%rax", BYTES("\x0f\x20\xd8"), 0, 0, 0 },
	{ "lmsw %ax", BYTES("\x0f\x01\xf0"), BIT_OF(cr0_writes) | SERIAL, 0, 0 },
	{ "smsw %ax", BYTES("\x0f\x01\xe0"), 0, 0, 0 },
	{ "invlpg (%rdi)", BYTES("\x0f\x01\x3f"), SERIAL | PAGE_LOCAL, ACT_INVLPG, 7 },
	{ "invlpg (%r9)", BYTES("\x41\x0f\x01\x39"), SERIAL | PAGE_LOCAL, ACT_INVLPG, 9 },
	{ "invlpg 8(%rdi)", BYTES("\x0f\x01\x7f\x08"), SERIAL | PAGE_LOCAL, ACT_INVLPG,
	  NO_REGISTER },
	{ "invpcid (%rcx),%r8", BYTES("\x66\x44\x0f\x38\x82\x01"), SERIAL, ACT_INVPCID, 8 },
	{ "pshufb (%rcx),%xmm0", BYTES("\x66\x0f\x38\x00\x01"), 0, 0, 0 },
	{ "lidt (%rdi)", BYTES("\x0f\x01\x1f"), SERIAL, ACT_LIDT, 0 },
	{ "lgdt (%rdi)", BYTES("\x0f\x01\x17"), SERIAL, 0, 0 },
	{ "sidt (%rdi)", BYTES("\x0f\x01\x0f"), 0, 0, 0 },
	{ "ltr %ax", BYTES("\x0f\x00\xd8"), SERIAL, 0, 0 },
	{ "mov %rax,%db7", BYTES("\x0f\x23\xf8"), SERIAL, 0, 0 },
	{ "wbinvd", BYTES("\x0f\x09"), SERIAL, 0, 0 },
	{ "lock incl (%rdi)", BYTES("\xf0\xff\x07"), BIT_OF(atomic), 0, 0 },
	{ "lock cmpxchg16b (%rdi)", BYTES("\xf0\x48\x0f\xc7\x0f"), BIT_OF(atomic), 0, 0 },
	{ "xchg %eax,(%rdi)", BYTES("\x87\x07"), BIT_OF(atomic), 0, 0 },
	{ "xchg %rax,%rdx", BYTES("\x48\x87\xd0"), 0, 0, 0 },
	{ "incl (%rdi)", BYTES("\xff\x07"), 0, 0, 0 },
	{ "rep movsq", BYTES("\xf3\x48\xa5"), 0, ACT_REPEAT, 0 },
	{ "movsq", BYTES("\x48\xa5"), 0, 0, 0 },
	{ "pause", BYTES("\xf3\x90"), 0, 0, 0 },
	{ "endbr64", BYTES("\xf3\x0f\x1e\xfa"), 0, 0, 0 },
	{ "mov %eax,0xffffffffff5fd300", BYTES("\x89\x04\x25\x00\xd3\x5f\xff"), 0,
	  ACT_FAR_STORE, 0 },
	{ "mov %esi,-0xa03000(%rdi)", BYTES("\x89\xb7\x00\xd0\x5f\xff"), 0, ACT_FAR_STORE, 0 },
	{ "mov %esi,-0x100(%rdi)", BYTES("\x89\xb7\x00\xff\xff\xff"), 0, 0, 0 },
	{ "mov %esi,0x100(%rdi)", BYTES("\x89\xb7\x00\x01\x00\x00"), 0, 0, 0 },
	{ "vmovups %ymm0,(%rdi)", BYTES("\xc5\xfc\x11\x07"), 0, 0, 0 },
};

static void check_x86(const struct x86 *test)
{
	struct decoded decoded = x86_decode((const uint8_t *)test->bytes, test->len);
	uint32_t wanted = test->events;

	if (test->action != ACT_OPEN && test->action != ACT_CLOSE && test->action != ACT_REPEAT)
		wanted |= BIT_OF(instructions);
	check(test->what, decoded.events, wanted);
	if (decoded.action != test->action || decoded.operand != test->operand) {
		printf("not ok %u - %s # action %d, operand %#x\n", ++tests, test->what,
		       decoded.action, decoded.operand);
		failed++;
	}
}

static void check_values(void)
{
	const uint64_t pge = 1 << 7, pcide = 1 << 17, smep = 1 << 20, keep = 1ULL << 63;

	check("WRMSR of IA32_PKRS", x86_wrmsr_events(0x6e1), BIT_OF(pkey_writes));
	check("WRMSR of the ICR", x86_wrmsr_events(0x830), BIT_OF(wrmsr) | BIT_OF(ipi_sent));
	check("WRMSR of the EOI register", x86_wrmsr_events(0x80b), BIT_OF(wrmsr));
	check("WRMSR of SPEC_CTRL", x86_wrmsr_events(0x48), BIT_OF(wrmsr));
	check("WRMSR of the deadline", x86_wrmsr_events(0x6e0), BIT_OF(wrmsr));
	check("WRMSR of STAR", x86_wrmsr_events(0xc0000081), BIT_OF(wrmsr) | SERIAL);
	check("CR3", x86_cr_events(3, 0x1000, 0x2000, 0), ALL_LOCAL);
	check("CR3 with PCID", x86_cr_events(3, 0x1000, 0x2001, pcide), ASID_LOCAL);
	check("CR3 with PCID, kept", x86_cr_events(3, 0, keep | 1, pcide), 0);
	check("CR4.PGE", x86_cr_events(4, pge, 0, pge), ALL_LOCAL);
	check("CR4.PCIDE set", x86_cr_events(4, 0, pcide, 0), 0);
	check("CR4.PCIDE cleared", x86_cr_events(4, pcide, 0, pcide), ALL_LOCAL);
	check("CR4.SMEP set", x86_cr_events(4, 0, smep, 0), ALL_LOCAL);
	check("CR4 as it was", x86_cr_events(4, pge, pge, pge), 0);
	check("CR0.WP", x86_cr_events(0, 1 << 16, 0, 0), 0);
	check("CR0.PG", x86_cr_events(0, 1U << 31, 0, 0), ALL_LOCAL);
	check("INVPCID of an address", x86_invpcid_events(0), PAGE_LOCAL);
	check("INVPCID of a PCID", x86_invpcid_events(1), ASID_LOCAL);
	check("INVPCID of all", x86_invpcid_events(2), ALL_LOCAL);
	check("INVPCID of all but global", x86_invpcid_events(3), ALL_LOCAL);
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(a64) / sizeof(a64[0]); i++)
		check(a64[i].what, arm64_decode(a64[i].insn).events,
		      a64[i].events | BIT_OF(instructions));
	for (i = 0; i < sizeof(x86) / sizeof(x86[0]); i++)
		check_x86(&x86[i]);
	check_values();
	printf("1..%u\n", tests);
	return failed != 0;
}
