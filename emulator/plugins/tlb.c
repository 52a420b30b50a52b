// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of the TLB for data. It knows what QEMU's own TLB does not: entries,
 * ways, address spaces. Accesses and invalidations come from one CPU.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tlb.h"

#define LEVELS		2
#define MOST_ENTRIES	16384
#define MOST_SIZES	8
#define SMALLEST	12
#define LARGEST		40
#define KERNEL_BIT	55
#define NAME_SIZE	48

struct entry {
	uint64_t page;
	uint64_t space;
	uint64_t used;		/* zero: not valid */
	unsigned int bits;
	bool global;
};

struct level {
	unsigned int entries;
	unsigned int ways;
	struct entry *table;
};

static struct level levels[LEVELS];
static unsigned int sizes[MOST_SIZES];
static unsigned int nr_sizes;
static char profile[NAME_SIZE];
static bool kernel_global = true;
static const char *trouble;

static uint64_t now;
static uint64_t present_space;
static uint64_t last_page = UINT64_MAX;

enum { LOOKUPS, L1_MISSES, MISSES, NR_COUNTS };

static const char * const count_names[NR_COUNTS] = { "lookups", "l1_misses", "misses" };
static uint64_t counts[2][NR_COUNTS];	/* of user space, of the kernel */

/**
 * tlb_on() - Whether the model was asked for
 *
 * Return: True if it was.
 */
bool tlb_on(void)
{
	return profile[0];
}

static bool complain(const char *what)
{
	trouble = what;
	return true;
}

static bool take_level(struct level *level, const char *value)
{
	if (sscanf(value, "%u:%u", &level->entries, &level->ways) != 2 || !level->ways ||
	    !level->entries || level->entries > MOST_ENTRIES || level->entries % level->ways)
		return complain("give ENTRIES:WAYS, entries a multiple of ways");
	free(level->table);
	level->table = calloc(level->entries, sizeof(*level->table));
	return true;
}

static bool take_sizes(const char *value)
{
	char *end;

	for (nr_sizes = 0; nr_sizes < MOST_SIZES; value = end + 1) {
		sizes[nr_sizes] = strtoul(value, &end, 10);
		if (sizes[nr_sizes] < SMALLEST || sizes[nr_sizes] > LARGEST ||
		    (nr_sizes && sizes[nr_sizes] <= sizes[nr_sizes - 1]))
			return complain("page sizes are powers of two, 12 to 40, ascending");
		nr_sizes++;
		if (*end != '+')
			return *end ? complain("separate page sizes by +") : true;
	}
	return complain("too many page sizes");
}

/**
 * tlb_option() - Take an option of the plugin
 * @option: tlb=NAME, l1=ENTRIES:WAYS, l2=ENTRIES:WAYS, pages=BITS+BITS..., global=on or off
 *
 * Return: False if it is not one of these; tlb_broken() tells if its value is wrong.
 */
bool tlb_option(const char *option)
{
	trouble = NULL;
	if (!strncmp(option, "l1=", 3) || !strncmp(option, "l2=", 3))
		return take_level(&levels[option[1] - '1'], option + 3);
	if (!strncmp(option, "pages=", 6))
		return take_sizes(option + 6);
	if (!strncmp(option, "tlb=", 4)) {
		if (strlen(option + 4) >= sizeof(profile) || strpbrk(option + 4, "\"\\"))
			return complain("the name of the TLB does not fit");
		strcpy(profile, option + 4);
		return true;
	}
	kernel_global = !strcmp(option, "global=on");
	return kernel_global || !strcmp(option, "global=off");
}

/**
 * tlb_broken() - Whether the last option was wrong
 *
 * Return: True if it was; tlb_trouble() says how.
 */
bool tlb_broken(void)
{
	return trouble;
}

/**
 * tlb_trouble() - What is wrong with the last option, or with all of them
 *
 * Return: NULL if nothing is.
 */
const char *tlb_trouble(void)
{
	if (trouble || !tlb_on())
		return trouble;
	return levels[0].entries && levels[1].entries && nr_sizes && sizes[0] == SMALLEST ?
		       NULL : "a TLB needs l1, l2, and pages from 12 on";
}

static bool is_kernel_half(uint64_t address)
{
	return address >> KERNEL_BIT & 1;
}

/* Larger pages than the TLB holds are held in pieces. */
static unsigned int held_bits(unsigned int page_bits)
{
	unsigned int i, bits = SMALLEST;

	for (i = 0; i < nr_sizes && sizes[i] <= page_bits; i++)
		bits = sizes[i];
	return bits;
}

static struct entry *set_of(const struct level *level, uint64_t page)
{
	return level->table + page % (level->entries / level->ways) * level->ways;
}

static bool is_same(const struct entry *entry, const struct entry *wanted)
{
	return entry->used && entry->page == wanted->page && entry->bits == wanted->bits &&
	       (entry->global || entry->space == wanted->space);
}

/* True for a hit; a miss replaces what was not used for longest. */
static bool look_up(struct level *level, const struct entry *wanted)
{
	struct entry *set = set_of(level, wanted->page), *oldest = set;
	unsigned int i;

	for (i = 0; i < level->ways; i++) {
		if (is_same(&set[i], wanted)) {
			set[i].used = now;
			return true;
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	*oldest = *wanted;
	oldest->used = now;
	return false;
}

/**
 * tlb_same_page() - An access to the page of the last one needs no more
 * @address: That is accessed
 * @kernel: By the kernel
 * @counted: In a region
 *
 * Return: True if it was the same page, and has been counted.
 */
bool tlb_same_page(uint64_t address, bool kernel, bool counted)
{
	if (address >> SMALLEST != last_page)
		return false;
	counts[kernel][LOOKUPS] += counted;
	return true;
}

/**
 * tlb_access() - An access to another page than the last one
 * @address: That is accessed
 * @page_bits: Size of the page or block that maps it
 * @kernel: By the kernel
 * @counted: In a region
 */
void tlb_access(uint64_t address, unsigned int page_bits, bool kernel, bool counted)
{
	struct entry wanted = { .bits = held_bits(page_bits), .space = present_space };
	uint64_t *count = counts[kernel];
	bool first, second;

	wanted.page = address >> wanted.bits;
	wanted.global = kernel_global && is_kernel_half(address);
	last_page = address >> SMALLEST;
	now++;
	first = look_up(&levels[0], &wanted);
	second = first || look_up(&levels[1], &wanted);
	count[LOOKUPS] += counted;
	count[L1_MISSES] += counted && !first;
	count[MISSES] += counted && !second;
}

/**
 * tlb_space() - Another address space is in use
 * @space: Its number
 */
void tlb_space(uint64_t space)
{
	present_space = space;
	last_page = UINT64_MAX;
}

static bool overlaps(const struct entry *entry, const struct tlb_flush *flush)
{
	uint64_t first = entry->page << entry->bits, size = 1ULL << entry->bits;

	return first - flush->from < flush->size || flush->from - first < size;
}

static bool is_named(const struct entry *entry, const struct tlb_flush *flush)
{
	switch (flush->what) {
	case TLB_ALL:
		return true;
	case TLB_OWN:
		return !entry->global;
	case TLB_SPACE:
		return !entry->global && entry->space == flush->space;
	case TLB_RANGE:
		return overlaps(entry, flush) &&
		       (flush->any_space || entry->global || entry->space == flush->space);
	}
	return true;
}

/**
 * tlb_flush() - Forget entries
 * @flush: Which
 */
void tlb_flush(const struct tlb_flush *flush)
{
	unsigned int i, n;

	for (i = 0; i < LEVELS; i++)
		for (n = 0; n < levels[i].entries; n++)
			if (is_named(&levels[i].table[n], flush))
				levels[i].table[n].used = 0;
	last_page = UINT64_MAX;
}

/**
 * tlb_clear_counts() - A region opens
 */
void tlb_clear_counts(void)
{
	memset(counts, 0, sizeof(counts));
}

/**
 * tlb_report() - A region closes
 * @out: Where its line is written
 */
void tlb_report(FILE *out)
{
	int i;

	fprintf(out, ", \"tlb\": {\"profile\": \"%s\"", profile);
	for (i = 0; i < NR_COUNTS; i++)
		fprintf(out, ", \"%s\": %" PRIu64, count_names[i], counts[0][i] + counts[1][i]);
	for (i = 0; i < NR_COUNTS; i++)
		fprintf(out, ", \"kernel_%s\": %" PRIu64, count_names[i], counts[1][i]);
	fprintf(out, "}");
}
