// SPDX-License-Identifier: GPL-2.0-only
/* What an A64 instruction counts as. */
#include <stdbool.h>

#include "events.h"

#define HINT_OPEN	0xd503281f	/* hint #64 */
#define HINT_CLOSE	0xd503283f	/* hint #65 */

struct pattern {
	uint32_t mask;
	uint32_t value;
	uint32_t events;
};

static const struct pattern patterns[] = {
	{ 0xfffff0ff, 0xd50330df, BIT_OF(isb) },
	{ 0xfffff3ff, 0xd503323f, BIT_OF(dsb) },		/* nXS */
	{ 0xffffffe0, 0xd518a280, BIT_OF(pkey_writes) },	/* POR_EL1 */
	{ 0xffffffe0, 0xd51ba280, BIT_OF(user_pkey_writes) }, /* POR_EL0 */
	{ 0xffffffe0, 0xd5181000, BIT_OF(sctlr_writes) },	/* SCTLR_EL1 */
	{ 0xffffffe0, 0xd518cba0, BIT_OF(ipi_sent) },		/* ICC_SGI1R_EL1 */
	{ 0xffe0001f, 0xd4000002, BIT_OF(hypercall) },		/* HVC */
	{ 0xffe0001f, 0xd4000003, BIT_OF(hypercall) },		/* SMC */
	{ 0x3fc00000, 0x08000000, BIT_OF(atomic) },		/* STXR, STXP; CASP without acquire */
	{ 0x3fa07c00, 0x08a07c00, BIT_OF(atomic) },		/* CAS */
	{ 0xbfe07c00, 0x08607c00, BIT_OF(atomic) },		/* CASP with acquire */
	{ 0x3f208c00, 0x38200000, BIT_OF(atomic) },		/* LDADD and the like */
	{ 0x3f20fc00, 0x38208000, BIT_OF(atomic) },		/* SWP */
};

#define NR_PATTERNS	(sizeof(patterns) / sizeof(patterns[0]))

static uint32_t field(uint32_t insn, unsigned int from, unsigned int bits)
{
	return insn >> from & ((1U << bits) - 1);
}

/* DSB but for SSBB and PSSBB, which have two of its encodings. */
static bool is_dsb(uint32_t insn)
{
	uint32_t crm = field(insn, 8, 4);

	return (insn & 0xfffff0ff) == 0xd503309f && crm != 0 && crm != 4;
}

/* Invalidations of stage 2 by intermediate address have their own places in CRm 0 and 4. */
static uint32_t tlbi_stage2(uint32_t crm, uint32_t op2)
{
	bool range = crm ? op2 == 2 || op2 == 3 || op2 == 6 || op2 == 7 : op2 == 2 || op2 == 6;
	bool local = crm && (op2 == 1 || op2 == 2 || op2 == 5 || op2 == 6);

	return (range ? BIT_OF(tlbi_range) : BIT_OF(tlbi_page)) |
	       (local ? BIT_OF(tlbi_local) : BIT_OF(tlbi_broadcast));
}

static uint32_t tlbi_events(uint32_t insn)
{
	uint32_t crm = field(insn, 8, 4), op2 = field(insn, 5, 3);
	bool local = crm == 6 || crm == 7;
	bool range = crm == 2 || crm == 5 || crm == 6;
	uint32_t kind = range || op2 & 1 ? BIT_OF(tlbi_page) : BIT_OF(tlbi_all);

	if (crm == 0 || crm == 4)
		return tlbi_stage2(crm, op2);
	if (range)
		kind = BIT_OF(tlbi_range);
	else if (op2 == 2)
		kind = BIT_OF(tlbi_asid);
	return kind | (local ? BIT_OF(tlbi_local) : BIT_OF(tlbi_broadcast));
}

static bool is_tlbi(uint32_t insn)
{
	uint32_t crn = field(insn, 12, 4);

	return (insn & 0xfff80000) == 0xd5080000 && (crn == 8 || crn == 9);
}

static bool is_eret(uint32_t insn)
{
	return insn == 0xd69f03e0 || insn == 0xd69f0bff || insn == 0xd69f0fff;
}

static uint32_t pattern_events(uint32_t insn)
{
	size_t i;

	for (i = 0; i < NR_PATTERNS; i++)
		if ((insn & patterns[i].mask) == patterns[i].value)
			return patterns[i].events;
	return 0;
}

/**
 * arm64_decode() - What an instruction counts as
 * @insn: The instruction
 *
 * Return: The events that it is each time, and what else is to be done.
 */
struct decoded arm64_decode(uint32_t insn)
{
	struct decoded decoded = { .events = BIT_OF(instructions) };

	if (insn == HINT_OPEN || insn == HINT_CLOSE)
		return (struct decoded){ .action = insn == HINT_OPEN ? ACT_OPEN : ACT_CLOSE };
	if (is_eret(insn)) {
		decoded.events |= BIT_OF(eret);
		decoded.action = ACT_RETURN;
	} else if ((insn & 0xffffffe0) == 0xd518c000) {	/* VBAR_EL1 */
		decoded.action = ACT_VECTORS;
		decoded.operand = insn & 31;
	} else if (is_tlbi(insn)) {
		decoded.events |= tlbi_events(insn);
		decoded.action = ACT_TLBI;
		decoded.operand = insn;
	} else if ((insn & 0xffffffc0) == 0xd5182000) {	/* TTBR0_EL1, TTBR1_EL1 */
		decoded.events |= BIT_OF(ttbr_writes);
		decoded.action = ACT_TTBR;
		decoded.operand = insn & 0x3f;
	} else if (is_dsb(insn)) {
		decoded.events |= BIT_OF(dsb);
	} else {
		decoded.events |= pattern_events(insn);
	}
	return decoded;
}
