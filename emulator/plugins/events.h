/* SPDX-License-Identifier: GPL-2.0-only */
/* What is counted, and what a decoder says of one instruction. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define EVENTS(each)							\
	each(instructions) each(pkey_writes) each(user_pkey_writes)	\
	each(cr0_writes) each(cr3_writes) each(ttbr_writes)		\
	each(sctlr_writes) each(isb) each(dsb) each(serialising)	\
	each(wrmsr) each(tlbi_local) each(tlbi_broadcast)		\
	each(tlbi_page) each(tlbi_range) each(tlbi_asid) each(tlbi_all)	\
	each(page_fault) each(syscall) each(interrupt) each(nmi)	\
	each(other_exception) each(eret) each(ipi_sent)			\
	each(hypercall) each(atomic)

#define EVENT_NUMBER(name)	EVENT_##name,
enum event { EVENTS(EVENT_NUMBER) NR_EVENTS };

#define BIT_OF(event)		(1U << EVENT_##event)

/*
 * What is to be done besides counting when an instruction is executed. The
 * number that belongs to it is in decoded.operand.
 */
enum action {
	ACT_NONE,
	ACT_OPEN,		/* a region */
	ACT_CLOSE,
	ACT_RETURN,		/* from an exception: an interrupt may be over */
	ACT_VECTORS,		/* arm64: write of VBAR, from this register */
	ACT_WRMSR,
	ACT_CR,			/* write: control register << 4 | general register */
	ACT_INVPCID,		/* the register that has the type */
	ACT_TTBR,		/* arm64: write, 0 or 1 << 5 | register */
	ACT_TLBI,		/* arm64: the instruction */
	ACT_INVLPG,		/* x86: register with the address, or NO_REGISTER */
	ACT_LIDT,
	ACT_FAR_STORE,		/* to a fixed address, as that of the local APIC */
	ACT_REPEAT,		/* a string instruction with a REP prefix */
};

#define NO_REGISTER	16

/**
 * struct decoded - What one instruction is
 * @events: What it counts as each time, a bit for each event
 * @action: What else is to be done
 * @operand: Of the action
 */
struct decoded {
	uint32_t events;
	enum action action;
	unsigned int operand;
};

struct decoded arm64_decode(uint32_t insn);
struct decoded x86_decode(const uint8_t *bytes, size_t len);
uint32_t x86_wrmsr_events(uint32_t msr);
uint32_t x86_cr_events(unsigned int cr, uint64_t old, uint64_t new, uint64_t cr4);
uint32_t x86_invpcid_events(uint64_t type);

#endif
