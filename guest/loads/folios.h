/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory whose folios and page tables are what a benchmark says. */
#ifndef GUEST_FOLIOS_H
#define GUEST_FOLIOS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Anonymous memory, all of it touched and mapped by PTEs, with folios of one
 * page or of LOAD_HUGE bytes. Returns NULL after load_failed().
 */
char *folios_map(size_t size, bool huge);

/* How much of the memory is mapped by PMDs. */
long folios_huge_kib(const char *memory, size_t size);

/* As many page-table pages as it takes, not one more; not touched yet. */
char *folios_reserve(size_t size);

#endif
