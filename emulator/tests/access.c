// SPDX-License-Identifier: GPL-2.0-or-later
/* Accesses that may fault, and what is expected of them. */
#include "poe.h"

bool faults(void (*access)(u64 address), u64 address)
{
	u64 before = seen.count;

	seen.expected = 1;
	access(address);
	seen.expected = 0;
	return seen.count != before;
}

void reads(u64 address)
{
	do_read(address);
}

void writes(u64 address)
{
	do_write(address, address);
}

static u64 answer;

void executes(u64 address)
{
	answer = do_exec(address + (page_code - page));
}

#if TWO_RANGES
void reads_user(u64 address)
{
	do_read_user(address);
}

void writes_user(u64 address)
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

void expect_all(u64 address, bool block, unsigned rights)
{
	if (rights & 8)		/* reserved encodings grant nothing */
		rights = 0;
	expect(address, block, R, rights);
	expect(address, block, W, rights);
	expect(address, block, X, rights);
}
