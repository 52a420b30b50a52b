/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attacker's bug: arbitrary kernel write, arbitrary read and an
 * information leak, by way of debugfs kpkeys_attack/command.
 */
#ifndef GUEST_CORRUPT_H
#define GUEST_CORRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine.h"
#include "paging.h"

/* How to store; NULL members are "task" and "plain". */
struct store {
	const char *context;
	const char *form;
	bool oops;	/* without a fixup, from a child that may be killed */
};

struct slot {
	uint64_t slot;		/* kernel address of the entry */
	uint64_t value;
	int level;		/* where the walk ended */
	uint64_t phys;		/* what the address maps to */
	uint64_t alias;		/* that, in the direct map */
	uint64_t page;		/* its struct page */
};

struct task {
	uint64_t task, size, cred, cred_slot, real_cred_slot, mm, pgd;
	uint64_t stack, stack_size, regs, thread, sp;
	uint64_t keys;		/* of pointer authentication, or 0 */
	uint64_t keys_slot;	/* where the number is that names them, or 0 */
	uint64_t kernel_key;	/* the kernel's own, or 0 */
	uint64_t enabled_keys;	/* which ones user space may use, or 0 */
	uint64_t frame;		/* of the function that the task sleeps in, or 0 */
	uint64_t cpu_word;	/* the number of its CPU */
};

/* Open the component; returns 0 or -errno. Do it before giving up root. */
int corrupt_open(void);

/* Send one command; returns 0 or -errno. */
int corrupt_command(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Answer of the last command: the value behind "name=", or 0. */
uint64_t corrupt_answer(const char *name);

/* The n-th "name=" of the last answer. */
uint64_t corrupt_answer_nth(const char *name, int n);

int kstore(const struct store *how, uint64_t addr, const void *data, size_t len);
int kwrite(uint64_t addr, const void *data, size_t len);
int kwrite64(uint64_t addr, uint64_t value);
int kread(uint64_t addr, void *data, size_t len);
uint64_t kread64(uint64_t addr);

/* At most 64 bytes by plain loads, memcpy or nofault; "plain" may kill a child. */
int kload(const char *form, uint64_t addr, void *data, size_t len);

/* The same by copy_to_user(); may kill a child, too. */
int kcopy(uint64_t addr, void *data, size_t len);

/* Through /proc/kcore; kcore_open() before giving up root. Returns 0 or -errno. */
int kcore_open(void);
int kcore_read(uint64_t addr, void *data, size_t len);

/* Bits of an address below those that only tell user space from kernel. */
int address_bits(void);

/* Room for attacks: user addresses far from all others, of 256 parts. */
uint64_t user_room(int part);

/* Where the kernel has its direct map, memory map and vmalloc space. */
uint64_t direct_map_base(void);
uint64_t memory_map_base(void);
uint64_t vmalloc_base(void);

/* 0 when there is no such symbol. */
uint64_t ksymbol(const char *name);

/* The name of two that this kernel has: those by which it patches text were renamed. */
const char *known_symbol(const char *name, const char *newer);
#define PATCH_MM	known_symbol("poking_mm", "text_poke_mm")
#define PATCH_ADDR	known_symbol("poking_addr", "text_poke_mm_addr")
uint64_t ksymbol_cpu(const char *name, int cpu);

/* pid 0 is the caller; kernel addresses are looked up in init_mm. */
int kwalk(uint64_t addr, int level, pid_t pid, struct slot *slot);
int kwalk_user_half(uint64_t addr, int level, struct slot *slot);
int ktask(pid_t pid, struct task *task);

#endif
