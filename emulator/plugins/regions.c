// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets what was counted. Counters run all the time; whenever a CPU changes
 * hands (a region opens or closes, an interrupt comes or returns) the growth
 * since the last time is credited to what it was for.
 */
#include <inttypes.h>
#include <string.h>

#include "count.h"
#include "tlb.h"

#define EVENT_NAME(name)	#name,

static const char * const event_names[NR_EVENTS] = { EVENTS(EVENT_NAME) };
static const char * const level_names[NR_LEVELS] = { "user", "kernel", "irq" };
static FILE *out;

/**
 * regions_start() - Say where reports go
 * @to: A file that stays open
 */
void regions_start(FILE *to)
{
	out = to;
}

static void credit(struct cpu *cpu)
{
	int level, event;

	for (level = 0; level < NR_PRIVILEGES; level++) {
		uint64_t *count = cpu->count[cpu->interrupted ? LEVEL_IRQ : level];

		for (event = 0; event < NR_EVENTS; event++)
			count[event] += cpu->running[level][event] - cpu->credited[level][event];
	}
	memcpy(cpu->credited, cpu->running, sizeof(cpu->credited));
}

/* What JSON would take for something else becomes a question mark. */
static void take_name(struct cpu *cpu, uint64_t name)
{
	size_t i;

	memset(cpu->name, 0, sizeof(cpu->name));
	for (i = 0; i < sizeof(cpu->name) - 1; i++) {
		if (!read_memory(name + i, &cpu->name[i], 1) || !cpu->name[i])
			return;
		if (cpu->name[i] < ' ' || cpu->name[i] > '~' || strchr("\"\\", cpu->name[i]))
			cpu->name[i] = '?';
	}
}

/**
 * region_open() - Count from here on
 * @cpu: The CPU
 * @name: Address of the region's name
 */
void region_open(struct cpu *cpu, uint64_t name)
{
	take_name(cpu, name);
	cpu->interrupted = false;
	cpu->open = true;
	credit(cpu);
	memset(cpu->count, 0, sizeof(cpu->count));
	tlb_clear_counts();
	where_clear(cpu);
}

static void report_level(const char *name, const uint64_t *count)
{
	const char *comma = "";
	int event;

	fprintf(out, ", \"%s\": {", name);
	for (event = 0; event < NR_EVENTS; event++) {
		if (!count[event])
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, comma, event_names[event], count[event]);
		comma = ", ";
	}
	fprintf(out, "}");
}

/**
 * region_close() - Report what was counted
 * @cpu: The CPU; it need not have a region open
 * @index: Its number
 */
void region_close(struct cpu *cpu, unsigned int index)
{
	int level;

	if (!cpu->open)
		return;
	credit(cpu);
	cpu->open = false;
	cpu->interrupted = false;
	flockfile(out);
	fprintf(out, "{\"region\": \"%s\", \"cpu\": %u, \"cpus\": %d", cpu->name, index,
		qemu_plugin_num_vcpus());
	for (level = 0; level < NR_LEVELS; level++)
		report_level(level_names[level], cpu->count[level]);
	if (tlb_on())
		tlb_report(out);
	where_report(cpu, out);
	fprintf(out, "}\n");
	fflush(out);
	funlockfile(out);
}

/**
 * add_events() - Count what only the execution told
 * @cpu: The CPU
 * @level: Its privilege
 * @events: A bit for each event
 */
void add_events(struct cpu *cpu, enum level level, uint32_t events)
{
	int event;

	for (event = 0; event < NR_EVENTS; event++)
		cpu->running[level][event] += events >> event & 1;
}

/**
 * exception_taken() - Count an exception that is not an interrupt
 * @cpu: The CPU
 * @from: Privilege of what it came in
 * @event: The exception
 */
void exception_taken(struct cpu *cpu, enum level from, enum event event)
{
	cpu->running[from][event]++;
}

/**
 * interrupt_taken() - What follows does not belong to the interrupted context
 * @cpu: The CPU
 * @event: An interrupt or NMI
 * @back: Where it will return to; within another one nothing changes
 *
 * Must come before the first instruction behind the exception is counted.
 */
void interrupt_taken(struct cpu *cpu, enum event event, struct place back)
{
	credit(cpu);
	if (!cpu->interrupted)
		cpu->place = back;
	cpu->interrupted = true;
	cpu->running[LEVEL_KERNEL][event]++;
}

/**
 * returned() - An exception returns
 * @cpu: The CPU
 * @to: Where to; the interrupt is over if it came from there
 *
 * Must come when the returning instruction was counted.
 */
void returned(struct cpu *cpu, struct place to)
{
	const struct place *from = &cpu->place;

	if (!cpu->interrupted || to.sp != from->sp || to.ip != from->ip || to.space != from->space)
		return;
	credit(cpu);
	cpu->interrupted = false;
}
