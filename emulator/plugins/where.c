// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instructions write the register of the keys, and how often each: by
 * address, in the regions' lines. A map of each CPU, which only that CPU touches.
 */
#include <inttypes.h>

#include "count.h"

static bool on;

/**
 * where_option() - Take an option
 * @option: As given behind the name of the plugin
 *
 * Return: False if it is not one of these.
 */
bool where_option(const char *option)
{
	if (g_strcmp0(option, "where=on"))
		return false;
	on = true;
	return true;
}

static void note(struct cpu *cpu, uint64_t address)
{
	uint64_t *times;

	if (!cpu->open || cpu->interrupted)
		return;
	if (!cpu->where)
		cpu->where = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	times = g_hash_table_lookup(cpu->where, &address);
	if (!times) {
		times = g_new0(uint64_t, 1);
		g_hash_table_insert(cpu->where, g_memdup2(&address, sizeof(address)), times);
	}
	++*times;
}

static void on_write(unsigned int index, void *data)
{
	note(cpu_at(index), GPOINTER_TO_SIZE(data));
}

/* Of those that write registers by number, only some write this one. */
static void on_wrmsr(unsigned int index, void *data)
{
	if (x86_wrmsr_events(read_register("rcx")) & BIT_OF(pkey_writes))
		on_write(index, data);
}

/**
 * where_instrument() - Note where an instruction is whenever it writes the register
 * @insn: The instruction
 * @decoded: What it is
 *
 * With write protection that is CR0.
 */
void where_instrument(struct qemu_plugin_insn *insn, const struct decoded *decoded)
{
	bool written = decoded->events & (BIT_OF(pkey_writes) | BIT_OF(cr0_writes));

	if (!on || (!written && decoded->action != ACT_WRMSR))
		return;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, written ? on_write : on_wrmsr,
					       QEMU_PLUGIN_CB_R_REGS,
					       GSIZE_TO_POINTER(qemu_plugin_insn_vaddr(insn)));
}

/**
 * where_clear() - A region begins
 * @cpu: Its CPU
 */
void where_clear(struct cpu *cpu)
{
	if (cpu->where)
		g_hash_table_remove_all(cpu->where);
}

/**
 * where_report() - Add the addresses to a region's line
 * @cpu: Its CPU
 * @out: Behind a part of the line
 */
void where_report(struct cpu *cpu, FILE *out)
{
	const char *comma = "";
	GHashTableIter each;
	gpointer address, times;

	if (!on)
		return;
	fprintf(out, ", \"where\": {");
	if (cpu->where)
		g_hash_table_iter_init(&each, cpu->where);
	while (cpu->where && g_hash_table_iter_next(&each, &address, &times)) {
		fprintf(out, "%s\"0x%" PRIx64 "\": %" PRIu64, comma, *(uint64_t *)address,
			*(uint64_t *)times);
		comma = ", ";
	}
	fprintf(out, "}");
}
