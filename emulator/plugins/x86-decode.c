// SPDX-License-Identifier: GPL-2.0-only
/* What an x86-64 instruction counts as. Only what counts is decoded. */
#include <stdbool.h>

#include "events.h"

#define MARK_OPEN	0x504b4f01
#define MARK_CLOSE	0x504b4f02
#define CR0_PG		(1ULL << 31)
#define CR3_KEEP	(1ULL << 63)
#define CR4_PGE		(1ULL << 7)
#define CR4_PCIDE	(1ULL << 17)
#define CR4_SMEP	(1ULL << 20)
#define MSR_PKRS	0x6e1
#define MSR_ICR		0x830

/* Prefixes, and what is behind them. */
struct parts {
	const uint8_t *code;
	size_t len;
	uint8_t rex;
	bool lock, repeat, operand16;
};

static bool take_prefix(struct parts *parts)
{
	switch (parts->code[0]) {
	case 0xf0:
		return parts->lock = true;
	case 0xf2:
	case 0xf3:
		return parts->repeat = true;
	case 0x66:
		return parts->operand16 = true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x67:
		return true;
	}
	return false;
}

static struct parts split(const uint8_t *bytes, size_t len)
{
	struct parts parts = { .code = bytes, .len = len };

	while (parts.len && take_prefix(&parts)) {
		parts.code++;
		parts.len--;
	}
	if (parts.len && (parts.code[0] & 0xf0) == 0x40) {
		parts.rex = parts.code[0];
		parts.code++;
		parts.len--;
	}
	return parts;
}

static uint8_t byte_at(const struct parts *parts, size_t at)
{
	return at < parts->len ? parts->code[at] : 0;
}

static uint32_t word_at(const struct parts *parts, size_t at)
{
	return byte_at(parts, at) | byte_at(parts, at + 1) << 8 | byte_at(parts, at + 2) << 16 |
	       (uint32_t)byte_at(parts, at + 3) << 24;
}

static unsigned int reg_of(uint8_t modrm)
{
	return modrm >> 3 & 7;
}

static bool is_memory(uint8_t modrm)
{
	return modrm < 0xc0;
}

static struct decoded just(uint32_t events)
{
	return (struct decoded){ .events = events };
}

static struct decoded doing(uint32_t events, enum action action, unsigned int operand)
{
	return (struct decoded){ events, action, operand };
}

/* The register that is the whole address of an operand. */
static unsigned int address_register(const struct parts *parts, uint8_t modrm)
{
	if (modrm >= 0x40 || (modrm & 7) == 4 || (modrm & 7) == 5)
		return NO_REGISTER;
	return (modrm & 7) | (parts->rex & 1) << 3;
}

/* 0f 01 */
static struct decoded group_7(const struct parts *parts, uint8_t modrm)
{
	switch (modrm) {
	case 0xc1:	/* VMCALL */
	case 0xd9:	/* VMMCALL */
		return just(BIT_OF(hypercall));
	case 0xe8:
		return just(BIT_OF(serialising));	/* SERIALIZE */
	case 0xef:
		return just(BIT_OF(user_pkey_writes));	/* WRPKRU */
	}
	if (reg_of(modrm) == 6)
		return just(BIT_OF(cr0_writes) | BIT_OF(serialising));	/* LMSW */
	if (!is_memory(modrm))
		return just(0);
	if (reg_of(modrm) == 2)
		return just(BIT_OF(serialising));	/* LGDT */
	if (reg_of(modrm) == 3)
		return doing(BIT_OF(serialising), ACT_LIDT, 0);
	if (reg_of(modrm) == 7)			/* INVLPG */
		return doing(BIT_OF(serialising) | BIT_OF(tlbi_local) | BIT_OF(tlbi_page),
			     ACT_INVLPG, address_register(parts, modrm));
	return just(0);
}

static struct decoded control_register(const struct parts *parts)
{
	uint8_t modrm = byte_at(parts, 2);
	unsigned int cr = reg_of(modrm) | (parts->rex & 4) << 1;
	unsigned int reg = (modrm & 7) | (parts->rex & 1) << 3;
	uint32_t events = cr == 8 ? 0 : BIT_OF(serialising);

	if (cr == 0)
		events |= BIT_OF(cr0_writes);
	if (cr == 3)
		events |= BIT_OF(cr3_writes);
	return doing(events, ACT_CR, cr << 4 | reg);
}

/* A NOP with a displacement that nobody else uses. */
static struct decoded mark(const struct parts *parts)
{
	if (byte_at(parts, 2) != 0x80 || parts->len != 7)
		return just(0);
	if (word_at(parts, 3) == MARK_OPEN)
		return doing(0, ACT_OPEN, 0);
	if (word_at(parts, 3) == MARK_CLOSE)
		return doing(0, ACT_CLOSE, 0);
	return just(0);
}

/* 0f */
static struct decoded two_bytes(const struct parts *parts)
{
	uint8_t modrm = byte_at(parts, 2);

	switch (byte_at(parts, 1)) {
	case 0x00:	/* LLDT, LTR */
		return just(reg_of(modrm) == 2 || reg_of(modrm) == 3 ? BIT_OF(serialising) : 0);
	case 0x01:
		return group_7(parts, modrm);
	case 0x05:	/* SYSCALL */
	case 0x34:	/* SYSENTER */
		return just(BIT_OF(syscall));
	case 0x07:	/* SYSRET */
	case 0x35:	/* SYSEXIT */
		return just(BIT_OF(eret));
	case 0x08:	/* INVD */
	case 0x09:	/* WBINVD */
	case 0x23:	/* MOV to a debug register */
	case 0xa2:	/* CPUID */
		return just(BIT_OF(serialising));
	case 0x1f:
		return mark(parts);
	case 0x22:
		return control_register(parts);
	case 0x30:
		return doing(0, ACT_WRMSR, 0);
	case 0x38:
		if (modrm == 0x82 && parts->operand16)
			return doing(BIT_OF(serialising), ACT_INVPCID,
				     reg_of(byte_at(parts, 3)) | (parts->rex & 4) << 1);
		return just(0);
	}
	return just(0);
}

/*
 * MOV of 32 bits to memory at a displacement within the last 16 MiB but the
 * last 64 KiB, where the kernel has its fixed mappings.
 */
static bool is_far_store(const struct parts *parts)
{
	uint8_t modrm = byte_at(parts, 1);
	size_t at = (modrm & 7) == 4 ? 3 : 2;
	uint32_t displacement = word_at(parts, at);
	bool absolute = (modrm & 0xc7) == 0x04 && (byte_at(parts, 2) & 7) == 5;

	return (absolute || modrm >> 6 == 2) && displacement >= 0xff000000 &&
	       displacement < 0xffff0000;
}

static bool is_string(uint8_t opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) ||
	       (opcode >= 0x6c && opcode <= 0x6f);
}

static struct decoded one_byte(const struct parts *parts)
{
	uint8_t opcode = byte_at(parts, 0);

	if (parts->repeat && is_string(opcode))
		return doing(0, ACT_REPEAT, 0);
	if (opcode == 0xcf)		/* IRET */
		return doing(BIT_OF(eret) | BIT_OF(serialising), ACT_RETURN, 0);
	if ((opcode == 0x86 || opcode == 0x87) && is_memory(byte_at(parts, 1)))
		return just(BIT_OF(atomic));	/* XCHG locks by itself */
	if ((opcode == 0x89 || opcode == 0xc7) && is_far_store(parts))
		return doing(0, ACT_FAR_STORE, 0);
	return just(0);
}

/**
 * x86_decode() - What an instruction counts as
 * @bytes: The instruction
 * @len: Number of bytes
 *
 * A repeated string instruction is not among @events: the caller has to find
 * out whether this is the first iteration.
 *
 * Return: The events that it is each time, and what else is to be done.
 */
struct decoded x86_decode(const uint8_t *bytes, size_t len)
{
	struct parts parts = split(bytes, len);
	struct decoded decoded = byte_at(&parts, 0) == 0x0f ? two_bytes(&parts) : one_byte(&parts);

	if (parts.lock)
		decoded.events |= BIT_OF(atomic);
	if (decoded.action != ACT_OPEN && decoded.action != ACT_CLOSE &&
	    decoded.action != ACT_REPEAT)
		decoded.events |= BIT_OF(instructions);
	return decoded;
}

/* Those that the manual excepts. */
static bool is_serialising(uint32_t msr)
{
	return msr != 0x48 && msr != 0x49 && msr != 0x6e0 && msr != MSR_PKRS &&
	       (msr < 0x800 || msr > 0x83f);
}

/**
 * x86_wrmsr_events() - What a WRMSR counts as, besides an instruction
 * @msr: Number of the register
 *
 * Return: A bit for each event.
 */
uint32_t x86_wrmsr_events(uint32_t msr)
{
	uint32_t events = msr == MSR_PKRS ? BIT_OF(pkey_writes) : BIT_OF(wrmsr);

	if (msr == MSR_ICR)
		events |= BIT_OF(ipi_sent);
	return events | (is_serialising(msr) ? BIT_OF(serialising) : 0);
}

/**
 * x86_cr_events() - What a write to a control register does to the TLB
 * @cr: Number of the register
 * @old: Its value
 * @new: The value written
 * @cr4: Value of CR4
 *
 * Return: A bit for each event.
 */
uint32_t x86_cr_events(unsigned int cr, uint64_t old, uint64_t new, uint64_t cr4)
{
	uint32_t all = BIT_OF(tlbi_local) | BIT_OF(tlbi_all);
	uint64_t changed = old ^ new;

	if (cr == 0)
		return changed & CR0_PG ? all : 0;
	if (cr == 3 && cr4 & CR4_PCIDE)
		return new & CR3_KEEP ? 0 : BIT_OF(tlbi_local) | BIT_OF(tlbi_asid);
	if (cr == 3)
		return all;
	if (cr == 4 && (changed & CR4_PGE || changed & old & CR4_PCIDE || changed & new & CR4_SMEP))
		return all;
	return 0;
}

/**
 * x86_invpcid_events() - What an INVPCID does to the TLB
 * @type: 0 an address, 1 a PCID, 2 and 3 everything
 *
 * Return: A bit for each event.
 */
uint32_t x86_invpcid_events(uint64_t type)
{
	if (type == 0)
		return BIT_OF(tlbi_local) | BIT_OF(tlbi_page);
	return BIT_OF(tlbi_local) | (type == 1 ? BIT_OF(tlbi_asid) : BIT_OF(tlbi_all));
}
