/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs by architecture: page-table entries, addresses, machine code. */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#define PTE_PRESENT	(1UL << 0)
#define PTE_RW		(1UL << 1)
#define PTE_USER	(1UL << 2)
#define PTE_ACCESSED	(1UL << 5)
#define PTE_DIRTY	(1UL << 6)
#define PTE_HUGE	(1UL << 7)
#define PTE_NX		(1UL << 63)
#define PTE_PFN_MASK	0x000ffffffffff000UL

#define PTE_TABLE	(PTE_PRESENT | PTE_RW | PTE_USER | PTE_ACCESSED | PTE_DIRTY)
#define PTE_USER_RW	(PTE_TABLE | PTE_NX)
#define PTE_KERNEL_RW	(PTE_PRESENT | PTE_RW | PTE_ACCESSED | PTE_DIRTY | PTE_NX)
/* What the CPU may change by itself. */
#define PTE_BY_CPU	(PTE_ACCESSED | PTE_DIRTY)

static inline uint64_t pte_block(uint64_t value) { return value | PTE_HUGE; }
static inline bool pte_is_writable(uint64_t value) { return value & PTE_RW; }
static inline uint64_t pte_make_writable(uint64_t value) { return value | PTE_RW; }
static inline bool pte_is_executable(uint64_t value) { return !(value & PTE_NX); }
static inline uint64_t pte_make_executable(uint64_t value) { return value & ~PTE_NX; }

#define FIXMAP_BASE	0xffffffffff400000UL	/* of its lowest page table */

/* The protection's register when it denies nothing; only the low word counts. */
#define REGISTER_OPEN	0x0UL

#elif defined(__aarch64__)

#define PTE_VALID	(1UL << 0)
#define PTE_PAGE	(1UL << 1)	/* or a table */
#define PTE_USER	(1UL << 6)
#define PTE_READ_ONLY	(1UL << 7)
#define PTE_SHARED	(3UL << 8)
#define PTE_ACCESSED	(1UL << 10)
#define PTE_NOT_GLOBAL	(1UL << 11)
#define PTE_MAY_WRITE	(1UL << 51)
#define PTE_KERNEL_NX	(1UL << 53)
#define PTE_USER_NX	(1UL << 54)
#define PTE_DIRTY	(1UL << 55)
#define PTE_PFN_MASK	0x0000fffffffff000UL

#define PTE_TABLE	(PTE_VALID | PTE_PAGE)
#define PTE_KERNEL_RW	(PTE_TABLE | PTE_SHARED | PTE_ACCESSED | PTE_MAY_WRITE | \
			 PTE_KERNEL_NX | PTE_USER_NX | PTE_DIRTY)
#define PTE_USER_RW	(PTE_KERNEL_RW | PTE_USER | PTE_NOT_GLOBAL)
#define PTE_BY_CPU	(PTE_ACCESSED | PTE_READ_ONLY)

static inline uint64_t pte_block(uint64_t value) { return value & ~PTE_PAGE; }
static inline bool pte_is_writable(uint64_t value) { return !(value & PTE_READ_ONLY); }
static inline uint64_t pte_make_writable(uint64_t value)
{
	return (value & ~PTE_READ_ONLY) | PTE_MAY_WRITE;
}
static inline bool pte_is_executable(uint64_t value) { return !(value & PTE_KERNEL_NX); }
static inline uint64_t pte_make_executable(uint64_t value) { return value & ~PTE_KERNEL_NX; }

#define FIXMAP_BASE	(((-8UL << 20) - 1) & -PMD_SIZE)	/* likewise */

#define REGISTER_OPEN	0x77777777UL

#endif

#endif
