/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel address among the mappings of this process. */
#ifndef GUEST_ADDRESSES_H
#define GUEST_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

/* Where the tree of mappings has the one of a kernel address: none is there. Or 0. */
uint64_t find_empty_entry(uint64_t mm, uint64_t addr);

/* One like that of our page, for a page at addr; the frame of the copy is the kernel's. Or 0. */
uint64_t forge_vma(const volatile void *like, uint64_t addr, uint64_t protection);

/* What is there at its first address is that page from then on, as the vdso's are. */
bool make_special(uint64_t vma, uint64_t phys);

/* A fault maps what is there at a kernel address, by an entry with these bits. Whether it did. */
bool map_address(uint64_t addr, uint64_t phys, uint64_t protection);

#endif
