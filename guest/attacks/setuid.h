/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of one page. */
#ifndef GUEST_SETUID_H
#define GUEST_SETUID_H

#include <elf.h>
#include <stddef.h>

#define LOAD_ADDRESS	0x400000UL
#define SETUID_ENTRY	(LOAD_ADDRESS + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define IS_ROOT		42		/* how it exits if the code below made it root */

/* setuid(0), then exit */
const void *setuid_evil(size_t *size);

/* A setuid program of that code, which belongs to who creates it. */
void setuid_own_create(const char *name);

/* Returns how it exits, or -1. */
int setuid_run(const char *name);

#endif
