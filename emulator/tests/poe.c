// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of FEAT_S1POE that need no operating system. One program per granule
 * and translation regime; output is KTAP on the PL011 of QEMU's virt machine.
 *
 * -DGRANULE=12|14|16 -DEL=1|2|3 [-DVHE=1] and for other CPUs
 * -DDELAYED=1 (x-poe-lazy-write=on), -DABSENT=1 (poe=off) or -DDIRECT=1
 * (s1pie=off); -DPSCI=1 is about something else. The tests of FEAT_S1PIE (pie.c) run with and without POE.
 */
#include "poe.h"

#ifndef DELAYED
#define DELAYED	0
#endif
#ifndef ABSENT
#define ABSENT	0
#endif
#ifndef DIRECT
#define DIRECT	0
#endif
#ifndef PSCI
#define PSCI	0
#endif

#define MANY		100	/* more pages than the emulator remembers one by one */

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
	test_pie(false);
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
	if (DIRECT)
		test_no_pie();
	else
		test_pie(true);
	test_traps();
}

int main(void)
{
	mmu_on();
	put("TAP version 14\n");
	if (ABSENT)
		test_absent();
	else if (PSCI)
		test_psci();
	else if (DELAYED)
		test_delay();
	else
		test_present();
	put("1..");
	put_number(tests, 10);
	put("\n");
	return failed != 0;
}
