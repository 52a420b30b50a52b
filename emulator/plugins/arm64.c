// SPDX-License-Identifier: GPL-2.0-only
/*
 * arm64: exceptions enter at one of the 16 slots of the vectors, whose address
 * is learned from the writes to VBAR_EL1 (which Linux uses at EL2, too).
 */
#include "count.h"
#include "tlb.h"

#define CPSR_EL(cpsr)	((cpsr) >> 2 & 3)
#define VECTORS_SIZE	0x800
#define SLOT_SIZE	0x80
#define SLOTS_IN_GROUP	4
#define GROUP_LOWER	2	/* the first one with exceptions from a lower level */
#define EC_SVC32	0x11
#define EC_SVC64	0x15
#define EC_IABT_LOWER	0x20
#define EC_IABT		0x21
#define EC_DABT_LOWER	0x24
#define EC_DABT		0x25
#define XZR		31
#define TCR_A1		(1 << 22)	/* TTBR1 has the ASID */
#define ASID_SHIFT	48
#define PAGE_BITS	12		/* of addresses in TLBI */

enum { SLOT_SYNC, SLOT_IRQ, SLOT_FIQ, SLOT_SERROR };

static enum level level_now(void)
{
	return CPSR_EL(read_register("cpsr")) ? LEVEL_KERNEL : LEVEL_USER;
}

static struct decoded decode(const struct qemu_plugin_insn *insn)
{
	uint32_t code = 0;

	qemu_plugin_insn_data(insn, &code, sizeof(code));
	return arm64_decode(code);
}

static enum event synchronous(void)
{
	const char *syndrome = CPSR_EL(read_register("cpsr")) == 2 ? "ESR_EL2" : "ESR_EL1";

	switch (read_register(syndrome) >> 26 & 0x3f) {
	case EC_SVC32:
	case EC_SVC64:
		return EVENT_syscall;
	case EC_IABT_LOWER:
	case EC_IABT:
	case EC_DABT_LOWER:
	case EC_DABT:
		return EVENT_page_fault;
	}
	return EVENT_other_exception;
}

/* The kernel's stack pointer tells contexts apart: it is the same at the return. */
static struct place here(void)
{
	return (struct place){ .sp = read_register("sp") };
}

static void on_slot(unsigned int index, void *data)
{
	struct cpu *cpu = cpu_at(index);
	uint64_t offset = GPOINTER_TO_SIZE(data) - cpu->vectors;
	unsigned int slot = offset / SLOT_SIZE;
	enum level from = slot / SLOTS_IN_GROUP < GROUP_LOWER ? LEVEL_KERNEL : LEVEL_USER;

	if (!cpu->open || offset >= VECTORS_SIZE)
		return;
	switch (slot % SLOTS_IN_GROUP) {
	case SLOT_SYNC:
		exception_taken(cpu, from, synchronous());
		break;
	case SLOT_SERROR:
		exception_taken(cpu, from, EVENT_other_exception);
		break;
	default:
		interrupt_taken(cpu, EVENT_interrupt, here());
	}
}

static void at_entry(struct qemu_plugin_insn *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);

	if (address % SLOT_SIZE == 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_slot, QEMU_PLUGIN_CB_R_REGS,
						       GSIZE_TO_POINTER(address));
}

static void on_return(unsigned int index, void *data)
{
	struct cpu *cpu = cpu_at(index);

	if (cpu->interrupted)
		returned(cpu, here());
}

static uint64_t general(unsigned int number)
{
	char name[] = "x00";

	g_snprintf(name, sizeof(name), "x%u", number);
	return number == XZR ? 0 : read_register(name);
}

static void on_ttbr(unsigned int index, void *data)
{
	unsigned int operand = GPOINTER_TO_UINT(data);

	if (operand >> 5 == !!(read_register("TCR_EL1") & TCR_A1))
		tlb_space(general(operand & 31) >> ASID_SHIFT);
}

static uint64_t sign_extend(uint64_t value, unsigned int bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

static struct tlb_flush flush_of_range(uint64_t argument)
{
	unsigned int scale = argument >> 44 & 3, granule = 10 + 2 * (argument >> 46 & 3);

	return (struct tlb_flush){
		.what = TLB_RANGE,
		.from = sign_extend(argument, 37) << granule,
		.size = ((argument >> 39 & 31) + 1) << (5 * scale + 1) << granule,
	};
}

static struct tlb_flush flush_of_page(uint64_t argument)
{
	return (struct tlb_flush){
		.what = TLB_RANGE,
		.from = sign_extend(argument, 44) << PAGE_BITS,
		.size = 1 << PAGE_BITS,
	};
}

static void on_tlbi(unsigned int index, void *data)
{
	uint32_t insn = GPOINTER_TO_UINT(data), events = arm64_decode(insn).events;
	uint64_t argument = general(insn & 31);
	struct tlb_flush flush = { .what = TLB_ALL };

	if (events & BIT_OF(tlbi_asid))
		flush.what = TLB_SPACE;
	else if (events & BIT_OF(tlbi_range))
		flush = flush_of_range(argument);
	else if (events & BIT_OF(tlbi_page))
		flush = flush_of_page(argument);
	flush.space = argument >> ASID_SHIFT;
	flush.any_space = (insn >> 5 & 3) == 3;
	tlb_flush(&flush);
}

static void on_vectors(unsigned int index, void *data)
{
	cpu_at(index)->vectors = general(GPOINTER_TO_UINT(data));
}

static void act(struct qemu_plugin_insn *insn, const struct decoded *decoded, enum level level)
{
	static const qemu_plugin_vcpu_udata_cb_t callbacks[] = {
		[ACT_RETURN] = on_return, [ACT_VECTORS] = on_vectors, [ACT_TTBR] = on_ttbr,
		[ACT_TLBI] = on_tlbi,
	};
	bool of_tlb = decoded->action == ACT_TTBR || decoded->action == ACT_TLBI;

	if (tlb_on() || !of_tlb)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, callbacks[decoded->action],
						       QEMU_PLUGIN_CB_R_REGS,
						       GUINT_TO_POINTER(decoded->operand));
}

const struct machine arm64_machine = {
	.target = "aarch64",
	.name_register = "x0",
	.level = level_now,
	.decode = decode,
	.at_entry = at_entry,
	.act = act,
};
