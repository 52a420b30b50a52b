/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of each CPU, and what the parts of the plugin give each other. */
#ifndef COUNT_H
#define COUNT_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include <qemu-plugin.h>

#include "events.h"

#define NAME_SIZE	48

/* Where the code runs that is counted; LEVEL_IRQ is an interrupt and all until it returns. */
enum level { LEVEL_USER, LEVEL_KERNEL, NR_PRIVILEGES, LEVEL_IRQ = NR_PRIVILEGES, NR_LEVELS };

/**
 * struct place - Where an interrupted context goes on
 * @sp: Its stack pointer (arm64: that of the kernel)
 * @ip: Address of its next instruction (x86)
 * @space: Its address space (x86)
 */
struct place {
	uint64_t sp;
	uint64_t ip;
	uint64_t space;
};

/**
 * struct cpu - State of one CPU
 * @running: Everything since the start, by privilege
 * @credited: How much of that was credited to a level of a region, or to none
 * @count: Of the open region
 * @open: A region is open
 * @interrupted: An interrupt has not returned yet
 * @place: Where it will
 * @vectors: arm64: address of the exception vectors
 * @repeating: x86: address of the last string instruction
 * @repeated_at: x86: instructions executed with it
 * @name: Of the open region
 * @where: How often each address wrote the register of the keys, in the region
 */
struct cpu {
	uint64_t running[NR_PRIVILEGES][NR_EVENTS];
	uint64_t credited[NR_PRIVILEGES][NR_EVENTS];
	uint64_t count[NR_LEVELS][NR_EVENTS];
	bool open;
	bool interrupted;
	struct place place;
	uint64_t vectors;
	uint64_t repeating;
	uint64_t repeated_at;
	char name[NAME_SIZE];
	GHashTable *where;
};

/**
 * struct machine - What differs between architectures
 * @target: QEMU's name
 * @name_register: Has the address of a region's name
 * @registers: Names of the registers that the architecture reads
 * @level: Privilege that the CPU has now
 * @decode: What an instruction is
 * @at_entry: The first instruction of a block may be where exceptions enter
 * @act: An instruction with an action is translated
 */
struct machine {
	const char *target;
	const char *name_register;
	enum level (*level)(void);
	struct decoded (*decode)(const struct qemu_plugin_insn *insn);
	void (*at_entry)(struct qemu_plugin_insn *insn);
	void (*act)(struct qemu_plugin_insn *insn, const struct decoded *decoded, enum level level);
};

extern const struct machine arm64_machine, x86_machine;

struct cpu *cpu_at(unsigned int index);
uint64_t read_register(const char *name);
bool read_memory(uint64_t address, void *to, size_t len);

void regions_start(FILE *to);
void region_open(struct cpu *cpu, uint64_t name);
void region_close(struct cpu *cpu, unsigned int index);
void add_events(struct cpu *cpu, enum level level, uint32_t events);
void exception_taken(struct cpu *cpu, enum level from, enum event event);
void interrupt_taken(struct cpu *cpu, enum event event, struct place back);
void returned(struct cpu *cpu, struct place to);

bool where_option(const char *option);
void where_instrument(struct qemu_plugin_insn *insn, const struct decoded *decoded);
void where_clear(struct cpu *cpu);
void where_report(struct cpu *cpu, FILE *out);

#endif
