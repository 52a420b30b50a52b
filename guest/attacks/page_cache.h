/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_PAGE_CACHE_H
#define GUEST_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attack.h"
#include "setuid.h"

#define CODE_OFFSET	(SETUID_ENTRY - LOAD_ADDRESS)	/* where the program's code begins */
#define MAX_CODE	64

/* The cached page of a setuid program, and what is to stand there. */
extern struct program {
	int fd;
	uint64_t page, code;	/* struct page; the kernel's address of the code */
	char old[MAX_CODE];
	const void *evil;
	size_t size;
} program;

bool open_program(void);

/* Runs it, and puts back what was there. */
enum outcome judge_page(int err);

#endif
