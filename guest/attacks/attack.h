/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What attacks share. An attack is one function that ends in a win it can
 * show: it says so with won() and the proof, and puts back what it changed.
 */
#ifndef GUEST_ATTACK_H
#define GUEST_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "corrupt.h"

#define ATTACKER_UID	1000
#define VICTIM_UID	1001
#define SECRET_SIZE	32

enum outcome {
	BROKEN,		/* could not be tried: a bug of the attack */
	WON,
	LOST,
	SKIPPED,
};

enum {
	NEEDS_VICTIM	= 1,	/* start a process that holds a secret */
	NEEDS_SETUID	= 2,	/* create a root-owned setuid program */
	NEEDS_HELPER	= 4,	/* start a root process that patches kernel text */
	NEEDS_KCORE	= 8,	/* open /proc/kcore while it may be */
	NEEDS_LOG	= 16,	/* watch the kernel log from now on */
	NEEDS_HOTPLUG	= 32,	/* start a root process that takes a CPU off and back */
	NEEDS_CAPS	= 64,	/* keep root's capabilities, as some servers do */
	NEEDS_FILE	= 128,	/* create a file of root's that nobody else may open */
	NEEDS_GROUPS	= 256,	/* start a root process that has lists of groups made */
	NEEDS_SERVICE	= 512,	/* start a root process in a user namespace that has root */
};

struct attack {
	const char *name;
	enum outcome (*run)(void);
	unsigned int needs;
};

/* All of them; the last one has no name. */
extern const struct attack attacks[];

/* Each sets the evidence line. */
enum outcome won(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum outcome lost(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum outcome skipped(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum outcome broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Stores one page-table entry; returns 0 or -errno. */
typedef int store_function(const void *how, uint64_t slot, uint64_t value);

/* window.c: a user address with an empty page-table entry to be forged */
struct window {
	char *page;		/* what the forged entry maps */
	uint64_t slot;
	uint64_t forged;	/* 0 while nothing is */
	uint64_t size;
};

/* Room that takes one page table of the lowest level for each PMD_SIZE touched. */
volatile char *sparse_region(uint64_t base, int tables, int protection);

bool window_open(struct window *window, int level);
/* On a page behind one that is mapped. */
bool window_open_behind(struct window *window, volatile char *mapped);
int window_map(struct window *window, store_function *store, const void *how,
	       uint64_t phys);
void window_close(struct window *window);

/* forge.c: page tables the attacker writes into his own memory */
uint64_t user_page(void **page);	/* a fresh page; its physical address */
int top_level(void);			/* LEVEL_PGD with five levels, LEVEL_P4D with four */
uint64_t top_level_size(void);		/* what one top-level entry covers */
void flush_tlb(void);

/* pgd_pointer.c: a copy of both halves that maps the victim's page as well */
uint64_t forge_root(uint64_t pgd, uint64_t *addr);

/* A top-level entry whose first address maps leaf, an entry of level PTE. */
uint64_t forge_tables(uint64_t leaf);

/*
 * leaves.c: a page of any frame, to be written, where the vdso was; NULL if it is not
 * found. Nothing may call the vdso until it is back.
 */
volatile char *vdso_replace(uint64_t page, int *err);
void vdso_put_back(void);

/* victim.c: another user's process with a secret */
#define VICTIM_KEY	"victim"	/* in its session keyring, and says the secret */
void victim_start(void);
int victim_pid(void);
uint64_t victim_phys(void);
uint64_t victim_secret(void);		/* its address, for the victim */
enum outcome judge_secret(const char *text, int err);
enum outcome judge_forged(const char *text, int err);	/* put in the secret's place */

/* By an entry written in user space: table is a mapping of the window's page table. */
void take_secret_in(volatile void *table, const struct window *window, char *text, size_t size);
enum outcome steal_secret_by(store_function *store, const void *how);
enum outcome steal_secret(const struct store *how);
store_function plain_store;	/* ignores how */

/* text.c: kernel code patched so that setuid(0) is allowed to everybody */
bool is_root_for_the_asking(void);
uint64_t text_address(void);
uint64_t text_phys(void);
enum outcome patch_text_through(uint64_t kernel_alias);
enum outcome patch_text_in_user_mapping(char *code);

/* Likewise; store() is called again, to put back what it changed. */
enum outcome patch_text_by(bool (*store)(uint64_t addr, const void *data, size_t len));

/* patching.c: the kernel's own list of places to patch, changed by store() */
uint64_t patched_entry(void);
enum outcome patch_by_own_entry(bool (*store)(uint64_t addr, void *data, size_t len));

/* setuid.c: the page cache of a root-owned setuid program, and one that writes its name (x86-64) */
#define SETUID_PROGRAM	"/setuid-program"
#define SETUID_TALKER	"/tmp/setuid-talker"
void setuid_program_create(void);
volatile char *setuid_program_map(uint64_t at);	/* read-only; at 0 anywhere */
enum outcome setuid_program_overwrite(volatile char *file);	/* where it can be written */
enum outcome setuid_program_judge(int err);	/* by running it */

/* out_of_scope.c: a file of root and of its group */
#define ROOT_FILE	"/tmp/root-file"

void root_file_create(void);
bool root_file_says(char *text, size_t size);

/* kernel_log.c: warnings that come once per boot come again after watch */
void kernel_log_watch(void);
bool kernel_log_says(const char *text);

/* ist.c: where the GDT says that a TSS or an LDT is */
uint64_t descriptor_base(uint64_t descriptor);

/* helper.c: a root process that makes the kernel patch its own text */
void helper_start(void);
void helper_patch_text(void);
void helper_stop(void);
int helper_pid(void);			/* it sleeps until it is to patch */

/* helper.c: a root process that takes CPU 1 off and back */
void hotplug_start(void);
void hotplug_cpu(bool online);

/* helper.c: a root process whose children all give themselves root's group alone, and stay */
void groups_start(void);
void groups_take(void);

/* helper.c: a root process in a user namespace of its own that has ID 0, and that alone */
void service_start(void);
pid_t service_pid(void);

#endif
