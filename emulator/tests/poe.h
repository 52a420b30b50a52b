/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests stand on: a small machine (machine.c), accesses that may fault
 * (access.c), the vectors and stores in start.S.
 */
#ifndef POE_H
#define POE_H

#include <stdbool.h>
#include <stdint.h>

#include "regime.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define BIT(n)		(1ULL << (n))
#define EC(esr)		((esr) >> 26 & 0x3f)
#define READ_REG(r)	({ u64 v_; asm volatile("mrs %0, " TEXT(r) : "=r"(v_)); v_; })
#define WRITE_REG(r, v)	asm volatile("msr " TEXT(r) ", %0" : : "r"((u64)(v)) : "memory")
#define ISB()		asm volatile("isb" : : : "memory")

#define TWO_RANGES	(EL == 1 || VHE)
#define ENTRIES		(1ULL << (GRANULE - 3))
#define BLOCK_SHIFT	(2 * GRANULE - 3)
#define BLOCK_SIZE	(1ULL << BLOCK_SHIFT)
#define PAGE_SIZE	(1ULL << GRANULE)
#define RAM		0x40000000ULL
#define UART		0x09000000ULL

/* The last two blocks that the level 2 table maps are windows on the page under test. */
#define TABLE_BASE	(GRANULE == 12 ? RAM : 0)
#define PAGES_VA	(TABLE_BASE + (ENTRIES - 1) * BLOCK_SIZE)
#define BLOCK_VA	(TABLE_BASE + (ENTRIES - 2) * BLOCK_SIZE)

#define DESC_BLOCK	1ULL
#define DESC_TABLE	3ULL
#define DESC_PAGE	3ULL
#define DESC_ATTR(n)	((u64)(n) << 2)
#define DESC_USER	BIT(6)
#define DESC_RO		BIT(7)
#define DESC_SH		(3ULL << 8)
#define DESC_AF		BIT(10)
#define DESC_DBM	BIT(51)
#define DESC_PXN	BIT(53)
#define DESC_UXN	BIT(54)
#define DESC_PO(n)	((u64)(n) << 60)
/* With permission indirection: PIIndex in bits 54, 53, 51 and 6, and bit 7 */
#define DESC_PI(n)	((u64)((n) & 0xc) << 51 | (u64)((n) & 2) << 50 | ((n) & 1) << 6)
#define DESC_NDIRTY	DESC_RO

#define R		1
#define X		2
#define W		4
#define ALL		7

/* What the vectors note; `expected` is how long a fault is not an error. */
struct seen {
	u64 esr, far, count, expected;
};
extern struct seen seen;

extern char page[], page_code[], page_user_code[], page_user_por[];
extern char read_tcr2_el1[], write_tcr2_el1[], read_por_el1[], write_por_el1[], read_por_el0[], write_por_el0[];
extern char read_pir_el1[], write_pir_el1[], read_pire0_el1[], write_pire0_el1[];
extern char spin[];
void finish(u64 status) __attribute__((noreturn));
void run_lower(u64 address, u64 spsr);
u64 do_read(u64 address), do_exec(u64 address), do_read_user(u64 address);
void do_write(u64 address, u64 value), do_write_user(u64 address, u64 value);
void set_then_write(u64 por, u64 address, u64 value), set_svc_write(u64 por, u64 address, u64 value);

/* machine.c */
extern u64 level3[ENTRIES];	/* maps the pages of the window on the page under test */
extern unsigned tests, failed;
void put(const char *text);
void put_number(u64 value, unsigned base);
void check(bool good, const char *what, u64 a, u64 b);
void result(const char *name);
void mmu_on(void);
void map_own(unsigned index);
void map_own_indirect(unsigned index);
void map_windows(unsigned index, u64 bits);
u64 window(bool block);
void table_bits(u64 bits);
void overlays(bool on);
void indirection(bool on);
u64 por_value(unsigned index, unsigned rights);
void set_por(unsigned index, unsigned rights);

/* access.c */
bool faults(void (*access)(u64 address), u64 address);
void reads(u64 address), writes(u64 address), executes(u64 address);
void reads_user(u64 address), writes_user(u64 address);
void expect_all(u64 address, bool block, unsigned rights);

/* pie.c, traps.c, delay.c, psci.c */
void test_pie(bool poe);
void test_no_pie(void);
void test_traps(void);
void test_delay(void);
void test_psci(void);

#endif
