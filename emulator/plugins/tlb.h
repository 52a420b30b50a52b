/* SPDX-License-Identifier: GPL-2.0-only */
/* A model of the TLB for data: two levels, least recently used, several page sizes. */
#ifndef TLB_H
#define TLB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What an invalidation names. */
enum tlb_what { TLB_ALL, TLB_OWN, TLB_SPACE, TLB_RANGE };

/**
 * struct tlb_flush - An invalidation
 * @what: Everything, all but global entries, one address space, addresses
 * @from: First address
 * @size: Bytes
 * @space: Address space; global entries match any for addresses
 * @any_space: It does not matter
 */
struct tlb_flush {
	enum tlb_what what;
	uint64_t from;
	uint64_t size;
	uint64_t space;
	bool any_space;
};

bool tlb_option(const char *option);
bool tlb_broken(void);
const char *tlb_trouble(void);
bool tlb_on(void);
void tlb_access(uint64_t address, unsigned int page_bits, bool kernel, bool counted);
bool tlb_same_page(uint64_t address, bool kernel, bool counted);
void tlb_space(uint64_t space);
void tlb_flush(const struct tlb_flush *flush);
void tlb_clear_counts(void);
void tlb_report(FILE *out);

#endif
