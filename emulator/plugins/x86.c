// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86-64: exceptions and interrupts enter where a gate of the IDT says, at the
 * beginning of a block. Tables are learned from LIDT, and read when code is
 * translated: nothing enters through a gate that is not set yet.
 */
#include "count.h"
#include "tlb.h"

#define TABLE_LIMIT	0xfff		/* 256 gates of 64-bit mode */
#define GATES		256
#define TABLES		4		/* the last ones: CPUs start on another one */
#define VECTOR_NMI	2
#define VECTOR_FAULT	14
#define VECTOR_SYSCALL	0x80
#define FIRST_INTERRUPT	32
#define WITH_CODE	0x60227d00U	/* vectors that push an error code */
#define RPL		3
#define SPACE		(~0x1fffULL)	/* of CR3: without PCID, both tables of isolation */
#define APIC_ICR	0xfee00300

struct gate {
	uint16_t low, segment, flags, middle;
	uint32_t high, reserved;
};

/* What the CPU pushes. */
struct frame {
	uint64_t ip, cs, flags, sp, ss;
};

static const char * const general[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static const char * const control[] = { "cr0", "", "cr2", "cr3", "cr4", "", "", "", "cr8" };

static uint64_t tables[TABLES];
static unsigned int newest;
static __thread uint16_t limit;	/* the LIDT that is being executed */
static GMutex lock;

static enum level level_now(void)
{
	return read_register("cs") & RPL ? LEVEL_USER : LEVEL_KERNEL;
}

static struct decoded decode(const struct qemu_plugin_insn *insn)
{
	uint8_t bytes[16];

	return x86_decode(bytes, qemu_plugin_insn_data(insn, bytes, sizeof(bytes)));
}

static uint64_t gate_address(const struct gate *gate)
{
	return gate->low | (uint64_t)gate->middle << 16 | (uint64_t)gate->high << 32;
}

/* The vector that enters at an address, negative if there is none. */
static int vector_in(uint64_t table, uint64_t address)
{
	struct gate gates[GATES];
	int i;

	if (!table || !read_memory(table, gates, sizeof(gates)))
		return -1;
	for (i = 0; i < GATES; i++)
		if (gates[i].flags & 0x8000 && gate_address(&gates[i]) == address)
			return i;
	return -1;
}

static int vector_at(uint64_t address)
{
	int i, vector = -1;

	g_mutex_lock(&lock);
	for (i = 0; i < TABLES && vector < 0; i++)
		vector = vector_in(tables[i], address);
	g_mutex_unlock(&lock);
	return vector;
}

static void remember_table(uint64_t table)
{
	int i;

	g_mutex_lock(&lock);
	for (i = 0; i < TABLES && tables[i] != table; i++)
		;
	if (i == TABLES)
		tables[newest++ % TABLES] = table;
	g_mutex_unlock(&lock);
}

/* LIDT reads the limit, then the address. */
static void on_lidt(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	qemu_plugin_mem_value value = qemu_plugin_mem_get_value(info);

	if (value.type == QEMU_PLUGIN_MEM_VALUE_U16)
		limit = value.data.u16;
	else if (value.type == QEMU_PLUGIN_MEM_VALUE_U64 && limit == TABLE_LIMIT)
		remember_table(value.data.u64);
}

/*
 * Where a frame returns to. User space of two tasks may have the same
 * addresses; the kernel's stacks differ, and its threads run in any space.
 */
static bool read_frame(uint64_t at, struct frame *frame, struct place *place)
{
	if (!read_memory(at, frame, sizeof(*frame)))
		return false;
	place->ip = frame->ip;
	place->sp = frame->sp;
	place->space = frame->cs & RPL ? read_register("cr3") & SPACE : 0;
	return true;
}

static enum event kind(unsigned int vector)
{
	if (vector == VECTOR_NMI)
		return EVENT_nmi;
	if (vector == VECTOR_FAULT)
		return EVENT_page_fault;
	if (vector == VECTOR_SYSCALL)
		return EVENT_syscall;
	return vector < FIRST_INTERRUPT ? EVENT_other_exception : EVENT_interrupt;
}

static void on_vector(unsigned int index, void *data)
{
	struct cpu *cpu = cpu_at(index);
	unsigned int vector = GPOINTER_TO_UINT(data);
	enum event event = kind(vector);
	uint64_t at = read_register("rsp");
	struct place back;
	struct frame frame;

	if (vector < FIRST_INTERRUPT && WITH_CODE >> vector & 1)
		at += 8;
	if (!cpu->open || !read_frame(at, &frame, &back))
		return;
	if (event == EVENT_interrupt || event == EVENT_nmi)
		interrupt_taken(cpu, event, back);
	else
		exception_taken(cpu, frame.cs & RPL ? LEVEL_USER : LEVEL_KERNEL, event);
}

static void at_entry(struct qemu_plugin_insn *insn)
{
	int vector = vector_at(qemu_plugin_insn_vaddr(insn));

	if (vector >= 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_vector, QEMU_PLUGIN_CB_R_REGS,
						       GUINT_TO_POINTER(vector));
}

static void on_return(unsigned int index, void *data)
{
	struct cpu *cpu = cpu_at(index);
	struct frame frame;
	struct place place;

	if (cpu->interrupted && read_frame(read_register("rsp"), &frame, &place))
		returned(cpu, place);
}

static void on_wrmsr(unsigned int index, void *data)
{
	add_events(cpu_at(index), LEVEL_KERNEL, x86_wrmsr_events(read_register("rcx")));
}

/* Without PCIDs a write to CR3 leaves global entries, and nothing else. */
static void flush_by(uint32_t events, unsigned int cr)
{
	struct tlb_flush flush = { .what = cr == 3 ? TLB_OWN : TLB_ALL };

	if (tlb_on() && events & BIT_OF(tlbi_local))
		tlb_flush(&flush);
}

static void on_cr(unsigned int index, void *data)
{
	unsigned int cr = GPOINTER_TO_UINT(data) >> 4, reg = GPOINTER_TO_UINT(data) & 15;
	uint64_t old = read_register(control[cr]), new = read_register(general[reg]);
	uint32_t events = x86_cr_events(cr, old, new, read_register("cr4"));

	add_events(cpu_at(index), LEVEL_KERNEL, events);
	flush_by(events, cr);
}

static void on_invpcid(unsigned int index, void *data)
{
	uint64_t type = read_register(general[GPOINTER_TO_UINT(data)]);

	add_events(cpu_at(index), LEVEL_KERNEL, x86_invpcid_events(type));
	flush_by(BIT_OF(tlbi_local), 0);
}

static void on_invlpg(unsigned int index, void *data)
{
	unsigned int reg = GPOINTER_TO_UINT(data);
	struct tlb_flush flush = { .what = TLB_ALL };

	if (!tlb_on())
		return;
	if (reg != NO_REGISTER)
		flush = (struct tlb_flush){ .what = TLB_RANGE, .size = 1, .any_space = true,
					    .from = read_register(general[reg]) };
	tlb_flush(&flush);
}

/* The local APIC is in memory unless the kernel uses its registers as MSRs. */
static void on_far_store(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address,
			 void *data)
{
	struct qemu_plugin_hwaddr *where;

	/* While the guest sets its devices up the emulator may not know what to answer, and die. */
	if (!cpu_at(index)->open)
		return;
	where = qemu_plugin_get_hwaddr(info, address);
	if (where && qemu_plugin_hwaddr_is_io(where) &&
	    qemu_plugin_hwaddr_phys_addr(where) == APIC_ICR)
		add_events(cpu_at(index), LEVEL_KERNEL, BIT_OF(ipi_sent));
}

static uint64_t executed(const struct cpu *cpu)
{
	return cpu->running[LEVEL_USER][EVENT_instructions] +
	       cpu->running[LEVEL_KERNEL][EVENT_instructions];
}

/*
 * The emulator may come here for each iteration: it is a new instruction if
 * another one was executed in between.
 */
static void on_repeat(struct cpu *cpu, enum level level, uint64_t address)
{
	if (cpu->repeating == address && cpu->repeated_at == executed(cpu))
		return;
	add_events(cpu, level, BIT_OF(instructions));
	cpu->repeating = address;
	cpu->repeated_at = executed(cpu);
}

static void on_user_repeat(unsigned int index, void *data)
{
	on_repeat(cpu_at(index), LEVEL_USER, GPOINTER_TO_SIZE(data));
}

static void on_kernel_repeat(unsigned int index, void *data)
{
	on_repeat(cpu_at(index), LEVEL_KERNEL, GPOINTER_TO_SIZE(data));
}

static void act_on_memory(struct qemu_plugin_insn *insn, enum action action)
{
	if (action == ACT_LIDT)
		qemu_plugin_register_vcpu_mem_cb(insn, on_lidt, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_R, NULL);
	else if (action == ACT_FAR_STORE)
		qemu_plugin_register_vcpu_mem_cb(insn, on_far_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, NULL);
}

static void act_on_repeat(struct qemu_plugin_insn *insn, enum level level)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn,
					       level ? on_kernel_repeat : on_user_repeat,
					       QEMU_PLUGIN_CB_NO_REGS,
					       GSIZE_TO_POINTER(qemu_plugin_insn_vaddr(insn)));
}

static void act(struct qemu_plugin_insn *insn, const struct decoded *decoded, enum level level)
{
	static const qemu_plugin_vcpu_udata_cb_t callbacks[] = {
		[ACT_RETURN] = on_return, [ACT_WRMSR] = on_wrmsr, [ACT_CR] = on_cr,
		[ACT_INVPCID] = on_invpcid, [ACT_INVLPG] = on_invlpg, [ACT_REPEAT] = NULL,
	};

	if (decoded->action == ACT_REPEAT)
		act_on_repeat(insn, level);
	else if (callbacks[decoded->action])
		qemu_plugin_register_vcpu_insn_exec_cb(insn, callbacks[decoded->action],
						       QEMU_PLUGIN_CB_R_REGS,
						       GUINT_TO_POINTER(decoded->operand));
	else if (level == LEVEL_KERNEL)
		act_on_memory(insn, decoded->action);
}

const struct machine x86_machine = {
	.target = "x86_64",
	.name_register = "rdi",
	.level = level_now,
	.decode = decode,
	.at_entry = at_entry,
	.act = act,
};
