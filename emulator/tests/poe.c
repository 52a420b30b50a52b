// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of FEAT_S1POE that need no operating system. One program per granule
 * and translation regime; output is KTAP on the PL011 of QEMU's virt machine.
 *
 * -DGRANULE=12|14|16 -DEL=1|2|3 [-DVHE=1] and for other CPUs
 * -DDELAYED=1 (x-poe-lazy-write=on) or -DABSENT=1 (poe=off).
 */
#include <stdbool.h>
#include <stdint.h>

#include "regime.h"

#ifndef DELAYED
#define DELAYED	0
#endif
#ifndef ABSENT
#define ABSENT	0
#endif

typedef uint64_t u64;
typedef uint32_t u32;

#define BIT(n)		(1ULL << (n))
#define EC(esr)		((esr) >> 26 & 0x3f)
#define READ_REG(r)	({ u64 v_; asm volatile("mrs %0, " TEXT(r) : "=r"(v_)); v_; })
#define WRITE_REG(r, v)	asm volatile("msr " TEXT(r) ", %0" : : "r"((u64)(v)) : "memory")
#define ISB()		asm volatile("isb" : : : "memory")

#define TWO_RANGES	(EL == 1 || VHE)
#define ENTRIES		(1ULL << (GRANULE - 3))
#define BLOCK_SHIFT	(2 * GRANULE - 3)
#define BLOCK_SIZE	(1ULL << BLOCK_SHIFT)
#define PAGE_SIZE	(1ULL << GRANULE)
#define RAM		0x40000000ULL
#define UART		0x09000000ULL

/* The last two blocks that the level 2 table maps are windows on the page under test. */
#define TABLE_BASE	(GRANULE == 12 ? RAM : 0)
#define PAGES_VA	(TABLE_BASE + (ENTRIES - 1) * BLOCK_SIZE)
#define BLOCK_VA	(TABLE_BASE + (ENTRIES - 2) * BLOCK_SIZE)

#define DESC_BLOCK	1ULL
#define DESC_TABLE	3ULL
#define DESC_PAGE	3ULL
#define DESC_ATTR(n)	((u64)(n) << 2)
#define DESC_USER	BIT(6)
#define DESC_RO		BIT(7)
#define DESC_SH		(3ULL << 8)
#define DESC_AF		BIT(10)
#define DESC_DBM	BIT(51)
#define DESC_PXN	BIT(53)
#define DESC_UXN	BIT(54)
#define DESC_PO(n)	((u64)(n) << 60)

#define R		1
#define X		2
#define W		4
#define ALL		7

#define MANY		100	/* more pages than the emulator remembers one by one */

/* What the vectors note; `expected` is how long a fault is not an error. */
struct seen {
	u64 esr, far, count, expected;
} seen;

extern char page[], page_code[], page_user_code[], page_user_por[];
extern char read_tcr2_el1[], write_tcr2_el1[], read_por_el1[], write_por_el1[], read_por_el0[], write_por_el0[];
void finish(u64 status) __attribute__((noreturn));
void run_lower(u64 address, u64 spsr);
u64 do_read(u64 address), do_exec(u64 address), do_read_user(u64 address);
void do_write(u64 address, u64 value), do_write_user(u64 address, u64 value);
void set_then_write(u64 por, u64 address, u64 value), set_svc_write(u64 por, u64 address, u64 value);

static u64 level1[ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static u64 level2[ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static u64 level3[ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static unsigned own_index;	/* POIndex of this program's code and data */
static unsigned tests, failed, wrong;

/* --- output ------------------------------------------------------------------------------------------- */
static void put(const char *text)
{
	for (; *text; text++)
		*(volatile u32 *)UART = *text;
}

static void put_number(u64 value, unsigned base)
{
	char text[21], *end = text + 20;

	*end = 0;
	do
		*--end = "0123456789abcdef"[value % base];
	while (value /= base);
	put(base == 16 ? "0x" : "");
	put(end);
}

static void explain(const char *what, u64 a, u64 b)
{
	if (wrong++)
		return;
	put("# ");
	put(what);
	put(" ");
	put_number(a, 16);
	put(" ");
	put_number(b, 16);
	put(", ESR ");
	put_number(seen.esr, 16);
	put("\n");
}

/* Ends a test: it passed if nothing was wrong since the last one. */
static void result(const char *name)
{
	put(wrong ? "not ok " : "ok ");
	put_number(++tests, 10);
	put(" - ");
	put(name);
	if (wrong) {
		put(" # ");
		put_number(wrong, 10);
		put(" wrong");
	}
	put("\n");
	failed += wrong != 0;
	wrong = 0;
}

void unexpected(u64 esr, u64 elr)
{
	put("Bail out! unexpected exception, ESR ");
	put_number(esr, 16);
	put(" ELR ");
	put_number(elr, 16);
	put(" FAR ");
	put_number(READ_REG(FAR), 16);
	put("\n");
	finish(2);
}

static void check(bool good, const char *what, u64 a, u64 b)
{
	if (!good)
		explain(what, a, b);
}

/* --- translation -------------------------------------------------------------------------------------- */
static void flush(void)
{
	asm volatile("dsb ish" : : : "memory");
#if TWO_RANGES
	asm volatile("tlbi vmalle1" : : : "memory");
#elif EL == 2
	asm volatile("tlbi alle2" : : : "memory");
#else
	asm volatile("tlbi alle3" : : : "memory");
#endif
	asm volatile("dsb ish\n isb" : : : "memory");
}

static u64 leaf(u64 address, u64 bits)
{
	return address | DESC_AF | DESC_SH | bits;
}

static u64 *entry2(u64 va)
{
	return &level2[(va >> BLOCK_SHIFT) & (ENTRIES - 1)];
}

/* Maps the page under test: in each page of one window, and within the block that is the other. */
static void map_windows(unsigned index, u64 bits)
{
	unsigned i;

	for (i = 0; i < ENTRIES && i < 512; i++)
		level3[i] = leaf((u64)page, DESC_PAGE | DESC_PO(index) | bits);
	*entry2(PAGES_VA) = (u64)level3 | DESC_TABLE;
	*entry2(BLOCK_VA) = leaf((u64)page & ~(BLOCK_SIZE - 1), DESC_BLOCK | DESC_PO(index) | bits);
	flush();
}

static u64 window(bool block)
{
	return block ? BLOCK_VA + ((u64)page & (BLOCK_SIZE - 1)) : PAGES_VA;
}

/* This program and its UART. Both the old and the new index must have all rights. */
static void map_own(unsigned index)
{
	u64 *uart = GRANULE == 12 ? level1 : entry2(UART);
	u64 base = GRANULE == 12 ? 0 : UART & ~(BLOCK_SIZE - 1);

	own_index = index;
	*entry2(RAM) = leaf(RAM & ~(BLOCK_SIZE - 1), DESC_BLOCK | DESC_PO(index));
	*uart = leaf(base, DESC_BLOCK | DESC_ATTR(1) | DESC_UXN | DESC_PXN | DESC_PO(index));
	flush();
}

static void mmu_on(void)
{
	u64 tcr = 1 << 8 | 1 << 10 | 3 << 12;	/* walks: write-back, inner shareable */

	if (GRANULE == 12)
		level1[1] = (u64)level2 | DESC_TABLE;
	map_own(7);
	map_windows(0, 0);
	tcr |= GRANULE == 12 ? 25 : GRANULE == 14 ? 28 | 2 << 14 : 22 | 1 << 14;
#if TWO_RANGES
	tcr |= BIT(23) | 2ULL << 32 | BIT(39) | BIT(40);	/* EPD1, 40-bit output, HA, HD */
#else
	tcr |= BIT(23) | BIT(31) | 2 << 16 | BIT(21) | BIT(22);	/* RES1, 40-bit output, HA, HD */
#endif
	WRITE_REG(MAIR, 0xff);
	WRITE_REG(TCR, tcr);
	WRITE_REG(TTBR0, GRANULE == 12 ? level1 : level2);
	flush();
	WRITE_REG(SCTLR, READ_REG(SCTLR) | 1 | (TWO_RANGES ? BIT(23) : 0));	/* M, SPAN */
	ISB();
}

static void overlays(bool on)
{
#if EL == 3
	WRITE_REG(TCR, on ? READ_REG(TCR) | BIT(36) : READ_REG(TCR) & ~BIT(36));
#else
	WRITE_REG(TCR2, on ? BIT(3) | (TWO_RANGES ? BIT(2) : 0) : 0);
#endif
	ISB();
}

/* Every index but `index` and this program's own is without rights. */
static u64 por_value(unsigned index, unsigned rights)
{
	return (u64)ALL << 4 * own_index | (u64)rights << 4 * index;
}

static void set_por(unsigned index, unsigned rights)
{
	WRITE_REG(POR, por_value(index, rights));
	ISB();
}

/* --- accesses ----------------------------------------------------------------------------------------- */
static bool faults(void (*access)(u64 address), u64 address)
{
	u64 before = seen.count;

	seen.expected = 1;
	access(address);
	seen.expected = 0;
	return seen.count != before;
}

static void reads(u64 address)
{
	do_read(address);
}

static void writes(u64 address)
{
	do_write(address, address);
}

static u64 answer;

static void executes(u64 address)
{
	answer = do_exec(address + (page_code - page));
}

#if TWO_RANGES
static void reads_user(u64 address)
{
	do_read_user(address);
}

static void writes_user(u64 address)
{
	do_write_user(address, address);
}
#endif

/* An access must fault exactly if `right` is not among `rights`; then the syndrome must blame the overlay. */
static void expect(u64 address, bool block, unsigned right, unsigned rights)
{
	void (*const access[])(u64) = { [R] = reads, [X] = executes, [W] = writes };
	u64 esr, want = (right == X ? 0x21ULL : 0x25ULL) << 26 | BIT(25) | BIT(38) | (block ? 0xe : 0xf);
	bool denied = faults(access[right], address);

	check(denied == !(rights & right), "right, rights:", right, rights);
	if (!denied && right == X)
		check(answer == 42, "code did not run", answer, rights);
	if (!denied || (rights & right))
		return;
	esr = seen.esr & ~(0x1fULL << 20 | 0x3ffULL << 14);	/* ISV and what it describes */
	want |= right == W ? BIT(6) : 0;
	check(esr == want, "syndrome, wanted:", esr, want);
	check((seen.far & ~0xfffULL) == (address & ~0xfffULL), "FAR, address:", seen.far, address);
}

static void expect_all(u64 address, bool block, unsigned rights)
{
	if (rights & 8)		/* reserved encodings grant nothing */
		rights = 0;
	expect(address, block, R, rights);
	expect(address, block, W, rights);
	expect(address, block, X, rights);
}

/* --- tests -------------------------------------------------------------------------------------------- */
/* Each encoding, reached from each other one, with the TLB filled under the old one. */
static void test_encodings(bool block, unsigned first, unsigned last)
{
	unsigned index, from, to;

	for (index = first; index <= last; index++) {
		map_windows(index, 0);
		for (from = 0; from < 16; from++)
			for (to = 0; to < 16; to++) {
				set_por(index, from);
				expect_all(window(block), block, from);
				set_por(index, to);
				expect_all(window(block), block, to);
			}
	}
}

static void test_base(void)
{
	u64 va = window(false);

	map_windows(1, DESC_RO | DESC_UXN | DESC_PXN);
	set_por(1, ALL);
	check(!faults(reads, va), "read", 0, 0);
	check(faults(writes, va) && !(seen.esr & BIT(38)), "write", seen.esr, 0);
	check(faults(executes, va) && !(seen.esr & BIT(38)), "execute", seen.esr, 0);
	result("the descriptor still denies what the overlay allows, and gets the blame");
	set_por(1, R);
	check(faults(writes, va) && (seen.esr & BIT(38)), "write", seen.esr, 0);
	result("denied by both, the overlay gets the blame");
}

static void test_dirty(void)
{
	u64 va = window(false);

	map_windows(1, DESC_RO | DESC_DBM);
	set_por(1, R | X);
	check(faults(writes, va), "write", 0, 0);
	check(level3[0] & DESC_RO, "descriptor", level3[0], 0);
	set_por(1, ALL);
	check(!faults(writes, va), "write", 1, 0);
	check(!(level3[0] & DESC_RO), "descriptor", level3[0], 1);
	result("hardware marks a page dirty only for a write that the overlay allows");
}

static void test_many(void)
{
	unsigned i, round;

	map_windows(1, 0);
	for (round = 0; round < 3; round++) {
		set_por(1, R | X);
		for (i = 0; i < MANY; i++)
			check(!faults(reads, PAGES_VA + i * PAGE_SIZE), "read", i, round);
		set_por(1, ALL);
		for (i = 0; i < MANY; i++)
			check(!faults(writes, PAGES_VA + i * PAGE_SIZE), "write", i, round);
		set_por(1, R | X);
		for (i = 0; i < MANY; i++)
			check(faults(writes, PAGES_VA + i * PAGE_SIZE), "no write", i, round);
		for (i = 0; i < MANY; i++)
			check(!faults(executes, PAGES_VA + i * PAGE_SIZE), "execute", i, round);
		set_por(1, R);
		for (i = 0; i < MANY; i++)
			check(faults(executes, PAGES_VA + i * PAGE_SIZE), "no execute", i, round);
		set_por(1, 0);
		for (i = 0; i < MANY; i++)
			check(faults(reads, PAGES_VA + i * PAGE_SIZE), "no read", i, round);
	}
	result("rights are revoked on many pages at once");
}

/* Pages that were only read, then one that is written: whatever the emulator forgets to list, all must go. */
static void test_reads_then_write(void)
{
	unsigned count, i;

	map_windows(1, 0);
	for (count = 1; count < MANY; count++) {
		set_por(1, R);
		for (i = 0; i < count; i++)
			check(!faults(reads, PAGES_VA + i * PAGE_SIZE), "read", i, count);
		set_por(1, R | W);
		check(!faults(writes, PAGES_VA + count * PAGE_SIZE), "write", i, count);
		set_por(1, 0);
		for (i = 0; i <= count; i++)
			check(faults(reads, PAGES_VA + i * PAGE_SIZE), "no read", i, count);
	}
	result("rights are revoked on pages that were read before another was written");
}

static void test_enable(void)
{
	u64 va = window(false);

	map_windows(1, 0);
	set_por(1, R);
	check(faults(writes, va), "on", 0, 0);
	overlays(false);
	check(!faults(writes, va), "off", 0, 0);
	overlays(true);
	check(faults(writes, va), "on again", 0, 0);
	result("the enable bit works without TLB maintenance");
}

static void test_registers(void)
{
	u64 value = por_value(0, 5) | 0x6543ULL << 44;

	WRITE_REG(POR, value);
	ISB();
	check(READ_REG(POR) == (value & 0xffffffff), "POR", READ_REG(POR), value);
#if EL != 3
	WRITE_REG(TCR2, READ_REG(TCR2) | ~0xfULL);
	check(!(READ_REG(TCR2) & ~0xfULL), "TCR2", READ_REG(TCR2), 0);
#endif
	set_por(0, 0);
	result("what is reserved in the registers reads as zero");
}

#if TWO_RANGES
static void test_address_translation(void)
{
	u64 par, va = window(false);
	unsigned rights;

	map_windows(3, 0);
	for (rights = 0; rights < 8; rights++) {
		set_por(3, rights);
		asm volatile("at s1e1w, %0\n isb" : : "r"(va) : "memory");
		par = READ_REG(par_el1);
		check((par & 1) == !(rights & W), "write", par, rights);
		check(!(par & 1) || (par & BIT(14)), "PAR.Overlay", par, rights);
		asm volatile("at s1e1r, %0\n isb" : : "r"(va) : "memory");
		par = READ_REG(par_el1);
		check((par & 1) == !(rights & R), "read", par, rights);
	}
	result("AT instructions see the overlay");
}

/* A page of user space: the overlay depends on who accesses, not on whose page it is. */
static void test_user(void)
{
	u64 va = window(false);
	unsigned own, user;

	map_windows(2, DESC_USER);
	for (own = 0; own < 8; own++)
		for (user = 0; user < 8; user++) {
			set_por(2, own);
			WRITE_REG(POR_EL0, user << 8);
			ISB();
			check(faults(reads, va) == !(own & R), "read", own, user);
			check(faults(writes, va) == !(own & W), "write", own, user);
			check(faults(reads_user, va) == !(user & R), "LDTR", own, user);
			check(faults(writes_user, va) == !(user & W), "STTR", own, user);
			run_lower(va + (page_user_code - page), 0x3c0);
			check(EC(seen.esr) == ((user & X) ? 0x15 : 0x20) && !(seen.esr & BIT(38)) == !!(user & X),
			      "EL0 execution", seen.esr, user);
		}
	result("privileged accesses use the privileged register, LDTR, STTR and EL0 use POR_EL0");

	WRITE_REG(POR_EL0, ALL << 8);
	WRITE_REG(cpacr_el1, READ_REG(cpacr_el1) | BIT(29));
	run_lower(va + (page_user_por - page), 0x3c0);
	check(EC(seen.esr) == 0x15, "E0POE=1", seen.esr, 0);
	WRITE_REG(cpacr_el1, READ_REG(cpacr_el1) & ~BIT(29));
	run_lower(va + (page_user_por - page), 0x3c0);
	check(EC(seen.esr) == 0x18, "E0POE=0", seen.esr, 0);
	result("E0POE traps POR_EL0 at EL0");
}
#endif

/* Runs code at EL1 without MMU, until it calls or is trapped. */
static void __attribute__((unused)) expect_trap(const char *what, char *code, bool trap)
{
	run_lower((u64)code, 0x3c5);
	check(EC(seen.esr) == (trap ? 0x18 : EL == 3 ? 0x17 : 0x16), what, seen.esr, trap);
}

#if EL == 2 && !VHE
#define HCRX_EL2	s3_4_c1_c2_2
#define HFGRTR_EL2	s3_4_c1_c1_4
#define HFGWTR_EL2	s3_4_c1_c1_5

static void test_traps(void)
{
	WRITE_REG(HCRX_EL2, BIT(14));
	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60));
	WRITE_REG(HFGWTR_EL2, BIT(59) | BIT(60));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("TCR2_EL1", write_tcr2_el1, false);
	expect_trap("POR_EL1", read_por_el1, false);
	expect_trap("POR_EL1", write_por_el1, false);
	expect_trap("POR_EL0", read_por_el0, false);
	expect_trap("POR_EL0", write_por_el0, false);
	result("EL1 may access the registers");

	WRITE_REG(HCRX_EL2, 0);
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, true);
	WRITE_REG(HCRX_EL2, BIT(14));
	result("HCRX_EL2.TCR2En traps TCR2_EL1");

	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60) | BIT(32));
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, false);
	WRITE_REG(HFGRTR_EL2, BIT(59));
	expect_trap("nPOR_EL1", read_por_el1, true);
	expect_trap("nPOR_EL1", write_por_el1, false);
	expect_trap("nPOR_EL1", read_por_el0, false);
	WRITE_REG(HFGRTR_EL2, BIT(60));
	expect_trap("nPOR_EL0", read_por_el0, true);
	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60));
	WRITE_REG(HFGWTR_EL2, 0);
	expect_trap("HFGWTR", write_por_el1, true);
	expect_trap("HFGWTR", write_por_el0, true);
	expect_trap("HFGWTR", read_por_el1, false);
	WRITE_REG(HFGWTR_EL2, BIT(59) | BIT(60));
	result("fine-grained traps");

	WRITE_REG(hcr_el2, HCR_VALUE | BIT(26));	/* TVM */
	expect_trap("TVM", write_por_el1, true);
	expect_trap("TVM", write_tcr2_el1, true);
	expect_trap("TVM", read_por_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE | BIT(30));	/* TRVM */
	expect_trap("TRVM", read_por_el1, true);
	expect_trap("TRVM", read_tcr2_el1, true);
	expect_trap("TRVM", write_por_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE);
	result("HCR_EL2.TVM and TRVM");
}
#elif EL == 3
static void test_traps(void)
{
	const u64 scr = 0x430 | BIT(0);		/* RW, RES1, NS */

	WRITE_REG(scr_el3, scr | BIT(43) | BIT(45));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("POR_EL1", write_por_el1, false);
	expect_trap("POR_EL0", read_por_el0, false);
	WRITE_REG(scr_el3, scr | BIT(45));
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, true);
	expect_trap("POR_EL1", read_por_el1, false);
	WRITE_REG(scr_el3, scr | BIT(43));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("POR_EL1", read_por_el1, true);
	expect_trap("POR_EL1", write_por_el1, true);
	expect_trap("POR_EL0", read_por_el0, true);
	result("SCR_EL3.TCR2En and PIEn");
}
#else
static void test_traps(void)
{
}
#endif

/* x-poe-lazy-write=on: a write takes effect at the next ISB or exception, not before. */
static u64 pending;

static void writes_after_set(u64 address)
{
	set_then_write(pending, address, 1);
}

static void writes_after_svc(u64 address)
{
	set_svc_write(pending, address, 1);
}

static void test_delay(void)
{
	u64 va = window(false);

	set_por(0, 0);
	overlays(true);
	map_windows(1, 0);
	set_por(1, ALL);
	check(!faults(writes, va), "open", 0, 0);
	pending = por_value(1, R);
	check(!faults(writes_after_set, va), "closed without ISB", 0, 0);
	check(READ_REG(POR) == pending, "MRS", READ_REG(POR), pending);
	ISB();
	check(faults(writes, va), "closed, ISB", 0, 0);
	result("closing without ISB leaves the gate open");

	pending = por_value(1, ALL);
	check(faults(writes_after_set, va), "opened without ISB", 0, 0);
	ISB();
	check(!faults(writes, va), "opened, ISB", 0, 0);
	result("opening without ISB leaves the gate closed");

	pending = por_value(1, R);
	seen.expected = 1;
	set_svc_write(por_value(1, ALL), va, 1);
	seen.expected = 0;
	check(EC(seen.esr) == 0x15, "opened, exception", seen.esr, 0);
	check(faults(writes_after_svc, va) && EC(seen.esr) == 0x25, "closed, exception", seen.esr, 0);
	result("an exception and its return are as good as an ISB");
}

static void test_absent(void)
{
	u64 before = seen.count;

	check(!(READ_REG(ID_AA64MMFR3) >> 16 & 0xf), "ID_AA64MMFR3_EL1", READ_REG(ID_AA64MMFR3), 0);
	result("ID_AA64MMFR3_EL1 does not say S1POE");
	seen.expected = 1;
	READ_REG(POR);
	WRITE_REG(POR, 0);
	READ_REG(POR_EL0);
	seen.expected = 0;
	check(seen.count == before + 3 && !EC(seen.esr), "UNDEFINED", seen.count - before, seen.esr);
	result("the registers are UNDEFINED");
	if (failed)
		return;		/* overlays without rights would end this program */
	overlays(true);
	map_windows(5, 0);
	check(!faults(reads, window(false)), "read", 0, 0);
	check(!faults(writes, window(false)), "write", 0, 0);
	check(!faults(executes, window(false)), "execute", 0, 0);
	result("the index of a page means nothing");
}

static void test_present(void)
{
	check((READ_REG(ID_AA64MMFR3) >> 16 & 0xf) == 1, "ID_AA64MMFR3_EL1", READ_REG(ID_AA64MMFR3), 0);
	result("ID_AA64MMFR3_EL1 says S1POE");
	set_por(0, 0);
	overlays(true);
	test_encodings(false, 0, 6);
	result("page: all encodings from all encodings, indexes 0 to 6");
	test_encodings(true, 0, 6);
	result("block: all encodings from all encodings, indexes 0 to 6");
	set_por(6, ALL);
	map_own(6);
	test_encodings(false, 7, 7);
	test_encodings(true, 7, 7);
	set_por(7, ALL);
	map_own(7);
	result("page and block: all encodings from all encodings, index 7");
	test_base();
	test_dirty();
	test_many();
	test_reads_then_write();
	test_enable();
	test_registers();
#if TWO_RANGES
	test_address_translation();
	test_user();
#endif
	test_traps();
}

int main(void)
{
	mmu_on();
	put("TAP version 14\n");
	if (ABSENT)
		test_absent();
	else if (DELAYED)
		test_delay();
	else
		test_present();
	put("1..");
	put_number(tests, 10);
	put("\n");
	return failed != 0;
}
