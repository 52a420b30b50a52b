/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attack component: what an attacker with a memory-corruption bug has.
 * Private to mm/kpkeys/attack*.c. Test only, never part of a product.
 */
#ifndef __MM_KPKEYS_ATTACK_H
#define __MM_KPKEYS_ATTACK_H

#include <linux/completion.h>
#include <linux/kallsyms.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>

#define ATTACK_MAX_STORE	64
#define ATTACK_MAX_READ		4096
/* A read of ATTACK_MAX_READ bytes in hexadecimal, newline and NUL. */
#define ATTACK_RESULT_SIZE	(2 * ATTACK_MAX_READ + 2)

/**
 * enum attack_context - where the store is executed
 * @ATTACK_TASK: in the writing task
 * @ATTACK_SOFTIRQ: in a timer softirq
 * @ATTACK_HARDIRQ: in a hard interrupt (irq_work)
 * @ATTACK_KTHREAD: in a kernel thread
 * @ATTACK_OTHER_OPEN: in the writing task, while a kernel thread on another
 *	CPU sits inside a lazy-MMU section
 * @ATTACK_SECTION: in the writing task, inside a section of its own
 * @ATTACK_CR0: in the writing task, after a stray call has cleared CR0.WP
 */
enum attack_context {
	ATTACK_TASK,
	ATTACK_SOFTIRQ,
	ATTACK_HARDIRQ,
	ATTACK_KTHREAD,
	ATTACK_OTHER_OPEN,
	ATTACK_SECTION,
	ATTACK_CR0,
};

/**
 * enum attack_form - the instructions that store, or load
 * @ATTACK_PLAIN: ordinary mov of 8, 4, 2 or 1 bytes
 * @ATTACK_MEMCPY: string move
 * @ATTACK_CMPXCHG: locked compare and exchange, 8 bytes at a time
 * @ATTACK_NOFAULT: copy_to_kernel_nofault() or copy_from_kernel_nofault()
 */
enum attack_form {
	ATTACK_PLAIN,
	ATTACK_MEMCPY,
	ATTACK_CMPXCHG,
	ATTACK_NOFAULT,
};

/**
 * struct attack_store - one store
 * @form: instructions to use
 * @may_oops: no exception-table entry: a refused store is a kernel oops
 * @addr: kernel address
 * @len: number of bytes
 * @data: the bytes
 */
struct attack_store {
	enum attack_form form;
	bool may_oops;
	unsigned long addr;
	unsigned int len;
	u8 data[ATTACK_MAX_STORE];
};

/**
 * struct attack_request - a parsed command
 * @context: where to store from
 * @store: what to store; @store.addr also is the address of other commands,
 *	and @store.form how to load
 * @to: user address to copy to
 * @cpu: CPU number or -1
 * @pid: process looked at, 0 is the caller
 * @level: page-table level, 1 is PTE, 5 is PGD, 0 is the leaf
 * @order: page order
 * @count: bytes to read, pages or blocks to allocate
 * @user_half: start at the user half of the PGD (page-table isolation)
 * @section: the sleeper waits inside a lazy-MMU section
 * @spin: the sleeper spins instead
 * @holes: free every other block only
 * @name: symbol name
 */
struct attack_request {
	enum attack_context context;
	struct attack_store store;
	unsigned long to;
	int cpu;
	int pid;
	unsigned int level;
	unsigned int order;
	unsigned int count;
	bool user_half;
	bool section;
	bool spin;
	bool holes;
	char name[KSYM_NAME_LEN];
};

struct attack_sleeper;

/**
 * struct attack_file - one open file
 * @lock: protects everything below; never held during a store
 * @result: text of the last answer
 * @result_len: its length
 * @blocks: memory handed out by this file, freed with it
 * @sleeper: kernel thread waiting to store
 */
struct attack_file {
	struct mutex lock; /* everything below */
	char result[ATTACK_RESULT_SIZE];
	size_t result_len;
	struct list_head blocks;
	struct attack_sleeper *sleeper;
};

__printf(2, 3) void attack_print(struct attack_file *file, const char *fmt, ...);

int attack_parse(char *text, struct attack_request *request);

int attack_store(const struct attack_store *store);
int attack_store_in_context(struct attack_file *file,
			    struct attack_request *request);

int attack_sleep(struct attack_file *file, struct attack_request *request);
int attack_wake(struct attack_file *file, struct attack_request *request);
void attack_sleeper_release(struct attack_file *file);

int attack_load(struct attack_file *file, struct attack_request *request);
int attack_copy(struct attack_file *file, struct attack_request *request);

int attack_read(struct attack_file *file, struct attack_request *request);
int attack_symbol(struct attack_file *file, struct attack_request *request);
int attack_task(struct attack_file *file, struct attack_request *request);
int attack_walk(struct attack_file *file, struct attack_request *request);
int attack_register(struct attack_file *file, struct attack_request *request);

int attack_alloc(struct attack_file *file, struct attack_request *request);
int attack_free(struct attack_file *file, struct attack_request *request);
int attack_split(struct attack_file *file, struct attack_request *request);
extern void *attack_thunk;
int attack_vmalloc(struct attack_file *file, struct attack_request *request);
int attack_vfree(struct attack_file *file, struct attack_request *request);
int attack_call(struct attack_file *file, struct attack_request *request);
void attack_memory_release(struct attack_file *file);

#endif /* __MM_KPKEYS_ATTACK_H */
