// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCG plugin that counts what arm64 code executes between two markers, on
 * the CPU that executes them:
 *
 *	hint #64	opens the region whose number is in X0
 *	hint #65	closes it: one line of JSON
 *
 * Interrupts that come in between, and everything until they return, do not
 * count. Use: -plugin count.so,out=FILE
 */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define MARK_OPEN	64
#define MARK_CLOSE	65
#define VECTORS_SIZE	0x800
#define SLOT_SIZE	0x80
#define SLOT_IRQ_EL1	0x280
#define SLOT_IRQ_EL0	0x480

enum event { INSTRUCTIONS, POR_WRITES, ISBS, DSBS, TLBIS, ERETS, SLOTS, MARKS, NR_COUNTED = ERETS };

static const char * const names[NR_COUNTED] = {
	"instructions", "por_el1_writes", "isbs", "dsbs", "tlbis",
};

struct cpu {
	uint64_t instructions;	/* all of them; the rest is of the open region */
	uint64_t count[NR_COUNTED];
	uint64_t since;		/* instructions when counting began or went on */
	uint64_t vectors;
	uint64_t depth;		/* exceptions taken since an interrupt, it included */
	uint64_t open;		/* region + 1 */
};

static struct qemu_plugin_scoreboard *cpus;
static struct qemu_plugin_register *vbar, *x0;
static FILE *out;

static void pause_counting(struct cpu *cpu)
{
	cpu->count[INSTRUCTIONS] += cpu->instructions - cpu->since;
}

static uint64_t read_register(struct qemu_plugin_register *which)
{
	GByteArray *bytes = g_byte_array_new();
	uint64_t value = 0;

	if (which && qemu_plugin_read_register(which, bytes) == sizeof(value))
		memcpy(&value, bytes->data, sizeof(value));
	g_byte_array_free(bytes, TRUE);
	return value;
}

static void report(const struct cpu *cpu)
{
	int i;

	fprintf(out, "{\"region\": %" PRIu64, cpu->open - 1);
	for (i = 0; i < NR_COUNTED; i++)
		fprintf(out, ", \"%s\": %" PRIu64, names[i], cpu->count[i]);
	fprintf(out, "}\n");
	fflush(out);
}

static void on_mark(unsigned int index, void *data)
{
	struct cpu *cpu = qemu_plugin_scoreboard_find(cpus, index);
	unsigned int mark = GPOINTER_TO_UINT(data);

	if (mark == MARK_CLOSE && cpu->open) {
		pause_counting(cpu);
		report(cpu);
		cpu->open = 0;
	} else if (mark == MARK_OPEN) {
		memset(cpu->count, 0, sizeof(cpu->count));
		cpu->since = cpu->instructions;
		cpu->vectors = read_register(vbar);
		cpu->depth = 0;
		cpu->open = read_register(x0) + 1;
	}
}

/* The address may be one of the exception vectors. */
static void on_slot(unsigned int index, void *data)
{
	struct cpu *cpu = qemu_plugin_scoreboard_find(cpus, index);
	uint64_t offset = GPOINTER_TO_SIZE(data) - cpu->vectors;

	if (!cpu->open || offset >= VECTORS_SIZE)
		return;
	if (!cpu->depth && offset != SLOT_IRQ_EL1 && offset != SLOT_IRQ_EL0)
		return;
	if (!cpu->depth++)
		pause_counting(cpu);
}

static void on_eret(unsigned int index, void *data)
{
	struct cpu *cpu = qemu_plugin_scoreboard_find(cpus, index);

	if (cpu->open && cpu->depth && !--cpu->depth)
		cpu->since = cpu->instructions;
}

static void on_counted(unsigned int index, void *data)
{
	struct cpu *cpu = qemu_plugin_scoreboard_find(cpus, index);

	if (cpu->open && !cpu->depth)
		cpu->count[GPOINTER_TO_UINT(data)]++;
}

static unsigned int hint_number(uint32_t insn)
{
	return (insn & 0xfffff01f) == 0xd503201f ? insn >> 5 & 0x7f : 0;
}

static enum event classify(uint32_t insn, uint64_t address)
{
	if ((insn & 0xfffff0ff) == 0xd50330df)
		return ISBS;
	if ((insn & 0xfffff0ff) == 0xd503309f)
		return DSBS;
	if ((insn & 0xffffffe0) == 0xd518a280)
		return POR_WRITES;
	if ((insn & 0xfff8f000) == 0xd5088000)
		return TLBIS;
	if ((insn & 0xfffff3ff) == 0xd69f03e0)
		return ERETS;
	if (hint_number(insn) == MARK_OPEN || hint_number(insn) == MARK_CLOSE)
		return MARKS;
	if (address >> 63 && address % SLOT_SIZE == 0)
		return SLOTS;
	return INSTRUCTIONS;
}

static void instrument(struct qemu_plugin_insn *insn, enum event event, uint32_t code)
{
	static const qemu_plugin_vcpu_udata_cb_t callbacks[] = {
		[POR_WRITES] = on_counted, [ISBS] = on_counted, [DSBS] = on_counted,
		[TLBIS] = on_counted, [ERETS] = on_eret, [SLOTS] = on_slot, [MARKS] = on_mark,
	};
	void *data = GUINT_TO_POINTER(event);

	if (event == MARKS)
		data = GUINT_TO_POINTER(hint_number(code));
	if (event == SLOTS)
		data = GSIZE_TO_POINTER(qemu_plugin_insn_vaddr(insn));
	if (callbacks[event])
		qemu_plugin_register_vcpu_insn_exec_cb(insn, callbacks[event],
						       event == MARKS ? QEMU_PLUGIN_CB_R_REGS :
									QEMU_PLUGIN_CB_NO_REGS,
						       data);
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	qemu_plugin_u64 total = qemu_plugin_scoreboard_u64_in_struct(cpus, struct cpu, instructions);
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t code = 0;

		qemu_plugin_insn_data(insn, &code, sizeof(code));
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
								    total, 1);
		instrument(insn, classify(code, qemu_plugin_insn_vaddr(insn)), code);
	}
}

static void on_cpu(qemu_plugin_id_t id, unsigned int index)
{
	GArray *registers = qemu_plugin_get_registers();
	guint i;

	for (i = 0; i < registers->len; i++) {
		qemu_plugin_reg_descriptor *each = &g_array_index(registers, qemu_plugin_reg_descriptor, i);

		if (!strcmp(each->name, "VBAR"))
			vbar = each->handle;
		if (!strcmp(each->name, "x0"))
			x0 = each->handle;
	}
	g_array_free(registers, TRUE);
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	fclose(out);
	qemu_plugin_scoreboard_free(cpus);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4) || strcmp(info->target_name, "aarch64")) {
		fprintf(stderr, "count: give out=FILE, on qemu-system-aarch64\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	cpus = qemu_plugin_scoreboard_new(sizeof(struct cpu));
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
