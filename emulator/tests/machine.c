// SPDX-License-Identifier: GPL-2.0-or-later
/* Output on the PL011, and translation tables with windows on the page under test. */
#include "poe.h"

struct seen seen;
unsigned tests, failed;
static unsigned wrong;
static unsigned own_index;	/* POIndex of this program's code and data */
static u64 level1[ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static u64 level2[ENTRIES] __attribute__((aligned(PAGE_SIZE)));
u64 level3[ENTRIES] __attribute__((aligned(PAGE_SIZE)));

void put(const char *text)
{
	for (; *text; text++)
		*(volatile u32 *)UART = *text;
}

void put_number(u64 value, unsigned base)
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
void result(const char *name)
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

void check(bool good, const char *what, u64 a, u64 b)
{
	if (!good)
		explain(what, a, b);
}

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
void map_windows(unsigned index, u64 bits)
{
	unsigned i;

	for (i = 0; i < ENTRIES && i < 512; i++)
		level3[i] = leaf((u64)page, DESC_PAGE | DESC_PO(index) | bits);
	*entry2(PAGES_VA) = (u64)level3 | DESC_TABLE;
	*entry2(BLOCK_VA) = leaf((u64)page & ~(BLOCK_SIZE - 1), DESC_BLOCK | DESC_PO(index) | bits);
	flush();
}

/* Adds bits to the descriptor of the table with the pages. */
void table_bits(u64 bits)
{
	*entry2(PAGES_VA) |= bits;
	flush();
}

u64 window(bool block)
{
	return block ? BLOCK_VA + ((u64)page & (BLOCK_SIZE - 1)) : PAGES_VA;
}

/* This program and its UART. Both the old and the new index must have all rights. */
void map_own(unsigned index)
{
	u64 *uart = GRANULE == 12 ? level1 : entry2(UART);
	u64 base = GRANULE == 12 ? 0 : UART & ~(BLOCK_SIZE - 1);

	own_index = index;
	*entry2(RAM) = leaf(RAM & ~(BLOCK_SIZE - 1), DESC_BLOCK | DESC_PO(index));
	*uart = leaf(base, DESC_BLOCK | DESC_ATTR(1) | DESC_UXN | DESC_PXN | DESC_PO(index));
	flush();
}

/* The same with a PIIndex, once permissions are indirect; the POIndex is 7. */
void map_own_indirect(unsigned index)
{
	u64 *uart = GRANULE == 12 ? level1 : entry2(UART);
	u64 base = GRANULE == 12 ? 0 : UART & ~(BLOCK_SIZE - 1);

	*entry2(RAM) = leaf(RAM & ~(BLOCK_SIZE - 1), DESC_BLOCK | DESC_PI(index) | DESC_PO(7));
	*uart = leaf(base, DESC_BLOCK | DESC_ATTR(1) | DESC_PI(index) | DESC_PO(7));
	flush();
}

void mmu_on(void)
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

static void control(u64 bits, bool on)
{
#if EL == 3
	WRITE_REG(TCR, on ? READ_REG(TCR) | bits : READ_REG(TCR) & ~bits);
#else
	WRITE_REG(TCR2, on ? READ_REG(TCR2) | bits : READ_REG(TCR2) & ~bits);
#endif
	ISB();
}

void overlays(bool on)
{
	control(EL == 3 ? BIT(36) : TWO_RANGES ? BIT(3) | BIT(2) : BIT(3), on);
}

void indirection(bool on)
{
	control(EL == 3 ? BIT(35) : BIT(1), on);
}

/* Every index but `index` and this program's own is without rights. */
u64 por_value(unsigned index, unsigned rights)
{
	return (u64)ALL << 4 * own_index | (u64)rights << 4 * index;
}

void set_por(unsigned index, unsigned rights)
{
	WRITE_REG(POR, por_value(index, rights));
	ISB();
}
