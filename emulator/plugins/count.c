// SPDX-License-Identifier: GPL-2.0-only
/*
 * A TCG plugin that counts what code executes between two marks, on the CPU
 * that executes them, for arm64 and x86-64. guest/lib/mark.h has the marks;
 * each region that is closed gives one line of JSON.
 *
 * Use: -plugin count.so,out=FILE
 * With a model of a TLB, for one CPU, add for example
 * tlb=NAME,l1=64:4,l2=1024:8,pages=12+21+30,global=on
 * With where=on a region's line also has the addresses that wrote the register of the keys.
 */
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "tlb.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static const struct machine * const machines[] = { &arm64_machine, &x86_machine };
static const struct machine *machine;
static struct qemu_plugin_scoreboard *cpus;
static GHashTable *registers;
static GMutex registers_lock;
static FILE *out;

/**
 * cpu_at() - The state of a CPU
 * @index: Its number
 *
 * Return: Valid until CPUs are added.
 */
struct cpu *cpu_at(unsigned int index)
{
	return qemu_plugin_scoreboard_find(cpus, index);
}

/**
 * read_register() - A register of the CPU that runs
 * @name: As the debugger knows it
 *
 * Return: Its value, zero if there is no such register.
 */
uint64_t read_register(const char *name)
{
	static __thread GByteArray *bytes;
	void *handle = g_hash_table_lookup(registers, name);
	uint64_t value = 0;
	int size;

	if (!bytes)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	size = handle ? qemu_plugin_read_register(handle, bytes) : 0;
	if (size > 0)
		memcpy(&value, bytes->data, MIN((size_t)size, sizeof(value)));
	return value;
}

/**
 * read_memory() - What a virtual address has now
 * @address: In the address space that is in use
 * @to: Room for the bytes
 * @len: How many
 *
 * Return: False if it is not mapped.
 */
bool read_memory(uint64_t address, void *to, size_t len)
{
	static __thread GByteArray *bytes;

	if (!bytes)
		bytes = g_byte_array_new();
	if (!qemu_plugin_read_memory_vaddr(address, bytes, len))
		return false;
	memcpy(to, bytes->data, len);
	return true;
}

static void on_open(unsigned int index, void *data)
{
	region_open(cpu_at(index), read_register(machine->name_register));
}

static void on_close(unsigned int index, void *data)
{
	region_close(cpu_at(index), index);
}

static void count_inline(struct qemu_plugin_insn *insn, enum level level, enum event event)
{
	qemu_plugin_u64 counter = {
		cpus, offsetof(struct cpu, running) +
		      (level * NR_EVENTS + event) * sizeof(uint64_t),
	};

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    counter, 1);
}

/* Devices are not in memory, but have translations. */
static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct cpu *cpu = cpu_at(index);
	bool kernel = GPOINTER_TO_UINT(data) == LEVEL_KERNEL;
	bool counted = cpu->open && !cpu->interrupted;
	struct qemu_plugin_hwaddr *where;

	if (tlb_same_page(address, kernel, counted))
		return;
	where = qemu_plugin_get_hwaddr(info, address);
	if (where)
		tlb_access(address, qemu_plugin_hwaddr_page_bits(where), kernel, counted);
}

/* Callbacks run in the order in which they are registered: what returns was counted before. */
static void instrument(struct qemu_plugin_insn *insn, enum level level)
{
	struct decoded decoded = machine->decode(insn);
	int event;

	if (tlb_on())
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, GUINT_TO_POINTER(level));

	for (event = 0; event < NR_EVENTS; event++)
		if (decoded.events >> event & 1)
			count_inline(insn, level, event);
	where_instrument(insn, &decoded);
	if (decoded.action == ACT_OPEN || decoded.action == ACT_CLOSE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn,
						       decoded.action == ACT_OPEN ? on_open :
										    on_close,
						       QEMU_PLUGIN_CB_R_REGS, NULL);
	else if (decoded.action != ACT_NONE)
		machine->act(insn, &decoded, level);
}

/* A block belongs to the level it is translated at: the emulator keeps others apart. */
static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	enum level level = machine->level();
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	if (n && level == LEVEL_KERNEL)
		machine->at_entry(qemu_plugin_tb_get_insn(tb, 0));
	for (i = 0; i < n; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i), level);
}

static void on_cpu(qemu_plugin_id_t id, unsigned int index)
{
	GArray *list = qemu_plugin_get_registers();
	guint i;

	if (index && tlb_on()) {
		fprintf(stderr, "count: the model of a TLB is for one CPU\n");
		exit(1);
	}

	g_mutex_lock(&registers_lock);
	for (i = 0; i < list->len && !index; i++) {
		qemu_plugin_reg_descriptor *each =
			&g_array_index(list, qemu_plugin_reg_descriptor, i);

		g_hash_table_insert(registers, g_strdup(each->name), each->handle);
	}
	g_mutex_unlock(&registers_lock);
	g_array_free(list, TRUE);
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	fclose(out);
	qemu_plugin_scoreboard_free(cpus);
}

static const struct machine *machine_of(const char *target)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(machines); i++)
		if (!strcmp(machines[i]->target, target))
			return machines[i];
	return NULL;
}

static int complain(const char *what)
{
	fprintf(stderr, "count: %s\n", what);
	return -1;
}

static bool take_tlb_option(const char *option)
{
	return tlb_option(option) && !tlb_broken();
}

/* Returns the file's name, NULL when the options are wrong. */
static const char *take_options(int argc, char **argv)
{
	const char *name = NULL;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			name = argv[i] + 4;
		else if (!where_option(argv[i]) && !take_tlb_option(argv[i]))
			return NULL;
	}
	return name;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	const char *name = take_options(argc, argv);

	machine = machine_of(info->target_name);
	if (!machine || !info->system_emulation)
		return complain("it is for qemu-system-aarch64 and qemu-system-x86_64");
	if (tlb_trouble())
		return complain(tlb_trouble());
	if (!name)
		return complain("give out=FILE, and no other options than where=on and those of a TLB");
	out = fopen(name, "w");
	if (!out)
		return complain("the file for the counts cannot be written");
	regions_start(out);
	registers = g_hash_table_new(g_str_hash, g_str_equal);
	cpus = qemu_plugin_scoreboard_new(sizeof(struct cpu));
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
