// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of FEAT_S1PIE: every encoding for both kinds of access, alone and with
 * the overlay on top. This program itself runs with an encoding that has all
 * rights and no overlay, at an index that no window has.
 */
#include "poe.h"

#define P_X_O		0x2
#define P_RWX_O		0x7
#define P_RWNX_O	0x6
#define P_R		0x8
#define P_RW		0xc
#define P_RWX		0xe
#define HAS_OVERLAY(p)	((p) < 8)

#define TCR_HD		(TWO_RANGES ? BIT(40) : BIT(22))
#define SCTLR_WXN	BIT(19)

static const u8 rights_of[16] = {
	0, R, X, R | X, 0, R | W, ALL, ALL, R, R, R | X, 0, R | W, 0, ALL, 0
};

static bool overlaid;		/* FEAT_S1POE is there and on */
static unsigned own;		/* PIIndex of this program */

struct expected {
	unsigned base, overlay;
};

/* What an access may do. `other` is the encoding for the other kind of access. */
static struct expected expected(unsigned perm, unsigned overlay)
{
	struct expected e = { rights_of[perm], ALL };

	if (overlaid && HAS_OVERLAY(perm))
		e.overlay = overlay;
	if (perm == P_RWNX_O) {
		if (overlaid && (e.overlay & X))
			e.overlay &= ~W;
		else
			e.base &= ~X;
	}
	return e;
}

static void set_pir(unsigned index, unsigned perm, unsigned user)
{
	WRITE_REG(PIR, (u64)P_RWX << 4 * own | (u64)perm << 4 * index);
#if TWO_RANGES
	WRITE_REG(PIRE0, (u64)user << 4 * index);
#else
	(void)user;
#endif
	ISB();
}

static void set_overlay(unsigned index, unsigned rights)
{
	if (overlaid)
		set_por(index, rights);
}

static void expect(u64 va, bool block, unsigned right, struct expected e)
{
	void (*const access[])(u64) = { [R] = reads, [X] = executes, [W] = writes };
	u64 want = (right == X ? 0x21ULL : 0x25ULL) << 26 | BIT(25) | (block ? 0xe : 0xf);
	bool denied = faults(access[right], va);

	check(denied == !(e.base & e.overlay & right), "right, base:", right, e.base);
	if (!denied)
		return;
	want |= (right == W ? BIT(6) : 0) | (e.overlay & right ? 0 : BIT(38));
	check((seen.esr & ~(0x1fULL << 20 | 0x3ffULL << 14)) == want, "syndrome, wanted:", seen.esr, want);
}

static void expect_rights(u64 va, bool block, struct expected e)
{
	expect(va, block, R, e);
	expect(va, block, W, e);
	expect(va, block, X, e);
}

/* Each encoding, reached from each other one, with the TLB filled under the old one. */
static void test_index(unsigned index)
{
	unsigned from, to, block;

	map_windows(1, DESC_PI(index));
	for (block = 0; block < 2; block++)
		for (from = 0; from < 16; from++)
			for (to = 0; to < 16; to++) {
				set_pir(index, from, 0);
				expect_rights(window(block), block, expected(from, ALL));
				set_pir(index, to, 0);
				expect_rights(window(block), block, expected(to, ALL));
			}
}

static void move_own(unsigned index)
{
	set_pir(index, P_RWX, 0);
	map_own_indirect(index);
	own = index;
}

static void test_indexes(void)
{
	unsigned index;

	set_overlay(1, ALL);
	for (index = 1; index < 16; index++)
		test_index(index);
	move_own(1);
	test_index(0);
	move_own(0);
	result("PIE: page and block: all encodings from all encodings, all indexes");
}

static void test_overlay(void)
{
	unsigned perm, overlay;

	for (perm = 0; perm < 16; perm++)
		for (overlay = 0; overlay < 8; overlay++) {
			map_windows(3, DESC_PI(9));
			set_pir(9, perm, 0);
			set_overlay(3, overlay);
			expect_rights(window(false), false, expected(perm, overlay));
		}
	set_pir(9, P_R, 0);
	set_overlay(3, ALL);
	check(faults(writes, window(false)) && !(seen.esr & BIT(38)), "blame", seen.esr, 0);
	result("PIE: each encoding with each overlay; half of them have none");
}

static void test_dirty_state(void)
{
	u64 va = window(false), tcr = READ_REG(TCR);

	map_windows(1, DESC_PI(5) | DESC_NDIRTY);
	set_overlay(1, ALL);
	set_pir(5, P_R, 0);
	check(faults(writes, va) && !(seen.esr & BIT(37)), "read-only", seen.esr, 0);
	check(level3[0] & DESC_NDIRTY, "read-only page is dirty", level3[0], 0);
	if (overlaid) {
		set_pir(5, P_RWX_O, 0);
		set_overlay(1, R);
		check(faults(writes, va) && !(seen.esr & BIT(37)), "overlay", seen.esr, 0);
		check(level3[0] & DESC_NDIRTY, "overlaid page is dirty", level3[0], 0);
		set_overlay(1, ALL);
	}
	set_pir(5, P_RW, 0);
	check(!faults(reads, va), "read", 0, 0);
	check(level3[0] & DESC_NDIRTY, "page that was read is dirty", level3[0], 0);
	check(!faults(writes, va), "write", seen.esr, 0);
	check(!(level3[0] & DESC_NDIRTY), "page that was written is clean", level3[0], 0);
	result("PIE: hardware marks a page dirty for a write that is allowed, and no other");

	WRITE_REG(TCR, tcr & ~TCR_HD);
	map_windows(1, DESC_PI(5) | DESC_NDIRTY);
	check(!faults(reads, va), "read", 0, 0);
	check(faults(writes, va) && (seen.esr & BIT(37)) && !(seen.esr & BIT(38)), "DirtyBit", seen.esr, 0);
	check(level3[0] & DESC_NDIRTY, "page is dirty", level3[0], 1);
#if TWO_RANGES
	asm volatile("at s1e1w, %0\n isb" : : "r"(va) : "memory");
	check((READ_REG(par_el1) & (BIT(15) | BIT(14) | 1)) == (BIT(15) | 1), "PAR", READ_REG(par_el1), 0);
#endif
	set_pir(5, P_R, 0);
	check(faults(writes, va) && !(seen.esr & BIT(37)), "read-only", seen.esr, 1);
	map_windows(1, DESC_PI(5));
	set_pir(5, P_RW, 0);
	check(!faults(writes, va), "dirty", seen.esr, 0);
	WRITE_REG(TCR, tcr);
	result("PIE: without HD the fault says that the page is not dirty");
}

/* What other extensions and the tables on the way say of permissions. */
static void test_no_effect(void)
{
	u64 va = window(false);

	map_windows(1, DESC_PI(6));
	set_pir(6, P_RWX, 0);
	set_overlay(1, ALL);
	table_bits(3ULL << 61 | BIT(60) | BIT(59));
	check(!faults(reads, va) && !faults(writes, va) && !faults(executes, va), "table", seen.esr, 0);
	result("PIE: permissions in table descriptors have no effect");
	WRITE_REG(SCTLR, READ_REG(SCTLR) | SCTLR_WXN);
	map_windows(1, DESC_PI(6));
	check(!faults(writes, va) && !faults(executes, va), "WXN", seen.esr, 0);
	WRITE_REG(SCTLR, READ_REG(SCTLR) & ~SCTLR_WXN);
	map_windows(1, DESC_PI(6));
	result("PIE: SCTLR.WXN has no effect");
}

/* This program has index 0, which is good with and without indirection. */
static void test_switch(void)
{
	u64 va = window(false);

	map_windows(1, DESC_PI(9));	/* UXN and AP[1]: without indirection it may be written */
	set_overlay(1, ALL);
	set_pir(9, P_R, 0);
	check(!faults(reads, va) && faults(writes, va), "on", seen.esr, 0);
	indirection(false);
	check(!faults(writes, va), "off", seen.esr, 0);
	indirection(true);
	check(faults(writes, va), "on again", seen.esr, 0);
	result("PIE: the enable bit works without TLB maintenance");
	indirection(false);
	overlays(false);
	map_windows(1, 0);
	table_bits(BIT(62));
	check(faults(writes, va), "table", 0, 0);
	if (overlaid) {
		overlays(true);
		map_windows(1, 0);
		table_bits(BIT(62));
		check(!faults(writes, va), "table, overlay", seen.esr, 0);
	}
	map_windows(1, 0);
	indirection(true);
	result("permissions in table descriptors have an effect without PIE and overlays alone");
}

static void test_pir_registers(void)
{
	u64 value = 0xfedcba987654321eULL, old = READ_REG(PIR);

	WRITE_REG(PIR, value);
	ISB();
	check(READ_REG(PIR) == value, "PIR", READ_REG(PIR), value);
#if TWO_RANGES
	WRITE_REG(PIRE0, ~value);
	check(READ_REG(PIRE0) == ~value, "PIRE0", READ_REG(PIRE0), ~value);
#endif
#if VHE
	WRITE_REG(PIR_EL12, 0x1234);
	WRITE_REG(PIRE0_EL12, 0x5678);
	check(READ_REG(PIR_EL12) == 0x1234 && READ_REG(PIRE0_EL12) == 0x5678, "EL12", READ_REG(PIR_EL12), 0);
	check(READ_REG(PIR_EL2) == value && READ_REG(PIRE0_EL2) == ~value, "EL2", READ_REG(PIR_EL2), 0);
#endif
	WRITE_REG(PIR, old);
	ISB();
	result("PIE: the registers have 16 fields, and each its own place");
}

#if TWO_RANGES
/* Of the index 2 */
static void set_user_overlay(unsigned rights)
{
	if (overlaid)
		WRITE_REG(POR_EL0, rights << 8);
	ISB();
}

static void check_user(u64 va, struct expected e)
{
	unsigned may = e.base & e.overlay;

	check(faults(reads_user, va) == !(may & R), "LDTR", may, 0);
	check(faults(writes_user, va) == !(may & W), "STTR", may, 0);
	check((may & W) || !!(seen.esr & BIT(38)) == !(e.overlay & W), "STTR, blame", seen.esr, may);
	run_lower(va + (page_user_code - page), 0x3c0);
	check(EC(seen.esr) == ((may & X) ? 0x15 : 0x20), "EL0 execution", seen.esr, may);
}

static void test_both(void)
{
	struct expected e, u;
	unsigned perm, user;

	map_windows(2, DESC_PI(13));
	set_overlay(2, ALL);
	set_user_overlay(ALL);
	for (perm = 0; perm < 16; perm++)
		for (user = 0; user < 16; user++) {
			set_pir(13, perm, user);
			e = expected(perm, ALL);
			u = expected(user, ALL);
			if ((rights_of[perm] & X) && (rights_of[user] & W))
				e = u = (struct expected) { 0, ALL };
			expect_rights(window(false), false, e);
			check_user(window(false), u);
		}
	result("PIE: privileged and unprivileged encodings; none may execute what EL0 may write");
}

static void test_user_overlay(void)
{
	unsigned user, overlay;

	map_windows(2, DESC_PI(3));
	set_overlay(2, 0);
	for (user = 0; user < 16; user++)
		for (overlay = 0; overlay < 8; overlay++) {
			set_pir(3, P_R, user);
			set_user_overlay(overlay);
			check_user(window(false), expected(user, overlay));
		}
	result("PIE: each unprivileged encoding with each overlay");
}

static void test_pan(void)
{
	u64 va = window(false);
	unsigned user;

	map_windows(2, DESC_PI(11));
	set_user_overlay(0);
	for (user = 0; user < 16; user++) {
		set_pir(11, P_RW, user);
		asm volatile(".inst 0xd500419f" : : : "memory");	/* msr pan, #1 */
		check(faults(reads, va) == !!rights_of[user], "PAN=1, read", user, seen.esr);
		check(faults(writes, va) == !!rights_of[user], "PAN=1, write", user, seen.esr);
		asm volatile(".inst 0xd500409f" : : : "memory");	/* msr pan, #0 */
		check(!faults(reads, va), "PAN=0", user, seen.esr);
	}
	result("PIE: PAN denies what EL0 may read, write or execute, whatever EPAN and the overlay say");
}

static void test_pie_translation(void)
{
	u64 par, va = window(false);
	struct expected e;
	unsigned perm;

	map_windows(3, DESC_PI(4));
	for (perm = 0; perm < 16; perm++) {
		set_pir(4, perm, 0);
		set_overlay(3, R);
		e = expected(perm, R);
		asm volatile("at s1e1w, %0\n isb" : : "r"(va) : "memory");
		par = READ_REG(par_el1);
		check((par & 1) == !(e.base & e.overlay & W), "write", par, perm);
		check(!(par & 1) || !!(par & BIT(14)) == !(e.overlay & W), "PAR.Overlay", par, perm);
		asm volatile("at s1e1r, %0\n isb" : : "r"(va) : "memory");
		par = READ_REG(par_el1);
		check((par & 1) == !(e.base & e.overlay & R), "read", par, perm);
	}
	result("PIE: AT instructions see both");
}
#endif

void test_pie(bool poe)
{
	check((READ_REG(ID_AA64MMFR3) >> 8 & 0xf) == 1, "ID_AA64MMFR3_EL1", READ_REG(ID_AA64MMFR3), 0);
	result("ID_AA64MMFR3_EL1 says S1PIE");
	overlaid = poe;
	set_overlay(1, ALL);
	overlays(poe);
	own = 0;
	WRITE_REG(PIR, (u64)P_RWX | (u64)P_RW << 4 * 12);	/* with UXN and PXN: the UART, for now */
	indirection(true);
	map_own_indirect(0);
	test_indexes();
	test_overlay();
	test_dirty_state();
	test_no_effect();
	test_pir_registers();
#if TWO_RANGES
	test_both();
	test_user_overlay();
	test_pan();
	test_pie_translation();
#endif
	test_switch();
	WRITE_REG(PIR, (u64)P_RWX | (u64)P_RW << 4 * 12);
	map_own(7);
	indirection(false);
}

void test_no_pie(void)
{
	u64 before = seen.count;

	check(!(READ_REG(ID_AA64MMFR3) >> 8 & 0xf), "ID_AA64MMFR3_EL1", READ_REG(ID_AA64MMFR3), 0);
	result("ID_AA64MMFR3_EL1 does not say S1PIE");
	seen.expected = 1;
	READ_REG(PIR);
	WRITE_REG(PIR, 0);
#if TWO_RANGES
	READ_REG(PIRE0);
	WRITE_REG(PIRE0, 0);
#endif
	seen.expected = 0;
	check(seen.count == before + (TWO_RANGES ? 4 : 2) && !EC(seen.esr), "UNDEFINED", seen.count - before, seen.esr);
	result("PIR and PIRE0 are UNDEFINED");
	if (failed)
		return;		/* this program would have no rights */
	indirection(true);
#if EL != 3
	check(!(READ_REG(TCR2) & BIT(1)), "TCR2.PIE", READ_REG(TCR2), 0);
#endif
	map_windows(7, DESC_DBM);
	check(!faults(reads, window(false)) && !faults(writes, window(false)), "access", seen.esr, 0);
	indirection(false);
	result("TCR2.PIE is RES0");
}
