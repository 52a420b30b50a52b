/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where things are in the kernel's structures, found by what they hold: only
 * loads, and few offsets to be known.
 */
#ifndef GUEST_OBJECTS_H
#define GUEST_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpus.h"	/* tables and lists of one CPU only */

/* struct page; a table's struct ptdesc has its deposit where lru.prev is. */
#define STRUCT_PAGE		64
#define PAGE_FLAGS		0
#define PAGE_LRU		8
#define PAGE_COMPOUND_HEAD	8	/* one more than the head of a tail page */
#define PAGE_MAPPING		24
#define PAGE_INDEX		32
#define PAGE_PRIVATE		40
#define PAGE_MAPCOUNT		48
#define PAGE_REFCOUNT		52
#define PAGE_MEMCG		56
#define TABLE_DEPOSIT		16
#define UPTODATE		(1UL << 3)
#define ON_LRU			(1UL << 5)

/* struct vm_area_struct */
#define VMA_SIZE		256	/* at most */
#define VMA_MM			16
#define VMA_PROT		24
#define VMA_FLAGS		32
#define VM_SHARED		0x008UL
#define VM_PFNMAP		0x400UL

/* struct vm_special_mapping: name, pages, ...; several in a row */
#define SPECIAL_PAGES		8
#define SPECIAL_MAPPINGS	128
#ifdef __x86_64__
#define VDSO			"vdso_mapping"
#else
#define VDSO			"aarch64_vdso_maps"
#endif

/* What the table of frames says, a byte for each: zero is not ordinary. */
#define FRAME_STATE		0
#define FRAME_ORDINARY		2

#define MM_SIZE			1024	/* where in mm_struct a pointer may be */
#define TASK_WORDS		2048	/* of task_struct, at most */
#define TASK_BEGIN		4096	/* as much of it as has its stack and memory */
#define SIGHAND_SIZE		1024	/* begins with the lock; has all handlers */

struct task;

bool is_kernel_address(uint64_t value);

/* Another process sets it, within seconds; or it has not. */
bool wait_for_flag(const volatile bool *flag);

/* Address of the first word from here on with this value, or 0. */
uint64_t find_word(uint64_t from, size_t size, uint64_t value);

/* Likewise of one that points into what lies at start. */
uint64_t find_pointer_into(uint64_t from, size_t size, uint64_t start, size_t len);

/* This process has a handler of alarms, and a timer that interrupts it. */
void heed_alarms(void);
void alarm_every(unsigned int microseconds);

/*
 * Where a CPU has its task; what it counts interrupts and held-off preemption in; and
 * the end of the stack that it enters the kernel on, which is known to be @end.
 */
uint64_t cpu_current(int cpu);
uint64_t cpu_preempt_count(int cpu);
uint64_t cpu_stack_end(int cpu, uint64_t end);

/* The lock of the signals of a task that heeds alarms, or 0; to look held, for their handler to wait. */
uint64_t find_signal_lock(const struct task *task);
void set_lock(uint64_t lock, bool held);

/*
 * A CPU that waits for a lock with interrupts off answers nobody. Who writes to a page that
 * he has shared since fork() waits for its answer, so this is ahead of each set_lock().
 */
void have_own_pages(void);

/* Has an interrupt of that CPU hit an open section? By its keyed page, which may be read. */
bool has_hit_section(int cpu);

/* Where the table of frames says of a page frame what it is, or 0; and of text_address(). */
uint64_t frame_at(uint64_t pfn);
uint8_t frame_of(uint64_t phys);	/* what is there; ordinary without a table of frames */
uint64_t frame_of_text(void);

/* Its mmap_lock, or 0. */
uint64_t find_mmap_lock(uint64_t mm);

/* The vm_area_struct of our own address, or 0. */
uint64_t find_vma(const volatile void *addr);

/* struct page of what is mapped at a kernel address, or 0. */
uint64_t page_of(uint64_t addr);

/* A page of the kernel's ordinary memory, cleared; freed with the open file. */
struct kernel_page {
	uint64_t addr, page, phys;
};

bool kernel_page(struct kernel_page *page);

/* What a private mapping lacks in its vm_page_prot to be written at once. */
uint64_t writable_protection(void);

int add_reference(uint64_t page, int nr);

/* Where the kernel has the number of the zero page, which newer ones keep constant; or 0. */
uint64_t zero_page_at(void);

/* The next block of this order that this CPU takes begins with that struct page. */
int put_on_free_list(uint64_t page, int order);

/* Since the machine started. */
uint64_t now_ms(void);

/* Is there a register that protects? */
bool is_protected(void);

/* Of the running kernel: it moved fields of structures since. */
bool is_since(int major, int minor);

/* Was a child killed, as the kernel does with who is to blame for a violation? */
bool was_killed(pid_t pid);

/* To what is read-only after init: one entry away, where nothing protects page tables. */
int store_constant(uint64_t addr, uint64_t value);

/* Leave small holes in free memory, and no block that the pool would take. */
void use_up_blocks(void);

#endif
