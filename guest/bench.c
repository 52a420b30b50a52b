// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count what page-table protection costs: the differences of kpkeys/stats
 * around each operation, without what reading them costs itself. The least of
 * several rounds, because timers and other processes only ever add.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corrupt.h"
#include "files.h"
#include "kpkeys.h"
#include "mark.h"
#include "results.h"
#include "steady.h"

#define REGION		(64UL << 20)
#define HUGE		(2UL << 20)
#define ROUNDS		5
#define SYSCALLS	200000
#define EXCEPTIONS	20000
#define EXECS		20
#define SHELLS		5
#define RANDOMS		1000
#define TURNS		1000
#define OTHER_USER	1000
#define VMALLOC_PAGES	64
#define DASH		"/bin/dash"
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage/"

static const char * const counters[] = {
	"pkey_reg_writes", "exceptions_open", "sections",
	"publishes", "pool_hits", "pool_refills", "key_tlb_flushes", "direct_map_splits",
	"secret_sections",
};

enum { WRITES, EXCEPTIONS_OPEN };	/* places in counters[] */

#define COUNTERS	(sizeof(counters) / sizeof(counters[0]))

struct counts {
	long n[COUNTERS];
};

static struct counts reader;	/* what two readings in a row differ by */
static struct counts before;

static void read_counters(struct counts *counts)
{
	kpkeys_read_stats(counters, counts->n, COUNTERS);
}

enum operation {
	READER, TOUCH, FORK, EXIT, MPROTECT, MREMAP, MUNMAP, MADVISE, FORK_EXEC, FORK_DASH, SYSCALL,
	EXCEPTION, VMALLOC, VFREE, RANDOM, SWITCH_SAME, SWITCH_OTHER, KEY_BLOCK, TOUCH_64K, TOUCH_THP,
};

static const char * const operations[] = {
	"reader", "touch-64m", "fork-64m", "exit-64m", "mprotect-64m", "mremap-64m", "munmap-64m",
	"madvise-64m", "fork-exec", "fork-dash", "syscall", "exception", "vmalloc-64", "vfree-64", "random",
	"switch-same-user", "switch-other-user", "key-block", "touch-64k", "touch-thp",
};

static void start(enum operation operation)
{
	read_counters(&before);
	mark_open(operations[operation]);
}

static void stop(struct counts *least)
{
	struct counts after;
	long difference;
	size_t i;

	mark_close();
	read_counters(&after);
	/* Shutting and opening the gate around an interrupt is not the operation's. */
	after.n[WRITES] -= 2 * (after.n[EXCEPTIONS_OPEN] - before.n[EXCEPTIONS_OPEN]);
	for (i = 0; i < COUNTERS; i++) {
		difference = after.n[i] - before.n[i] - reader.n[i];
		if (difference < 0)
			difference = 0;
		if (least->n[i] < 0 || difference < least->n[i])
			least->n[i] = difference;
	}
}

static void clear(struct counts *least)
{
	memset(least, 0xff, sizeof(*least));
}

static void tell(enum operation operation, const struct counts *counts, long times)
{
	char text[1024];
	int n = 0;
	size_t i;

	for (i = 0; i < COUNTERS; i++)
		n += snprintf(text + n, sizeof(text) - n, ", \"%s\": %ld", counters[i],
			      counts->n[i]);
	result_json("{\"bench\": \"%s\", \"times\": %ld%s}", operations[operation], times, text);
}

static void measure_reader(void)
{
	struct counts least;
	int i;

	clear(&least);
	for (i = 0; i < 2 * ROUNDS; i++) {
		start(READER);
		stop(&least);
	}
	reader = least;
	tell(READER, &reader, 1);
}

static void touch(char *memory)
{
	size_t at;

	for (at = 0; at < REGION; at += PAGE_SIZE)
		((volatile char *)memory)[at] = 1;
}

/* A child says that it runs, and then waits to be told to go. */
struct child {
	int ready[2];
	int go[2];
	pid_t pid;
};

static void run_child(struct child *child)
{
	char byte = 0;

	close(child->go[1]);
	if (write(child->ready[1], &byte, 1) != 1)
		_exit(1);
	_exit(read(child->go[0], &byte, 1) != 0);
}

static void fork_child(struct child *child)
{
	child->pid = fork();
	if (!child->pid)
		run_child(child);
}

static void prepare_child(struct child *child)
{
	if (pipe(child->ready) || pipe(child->go))
		exit(2);
}

/* Until here a child copies what it writes: neither the fork does that nor the exit. */
static void let_child_run(struct child *child)
{
	char byte;

	close(child->go[0]);
	close(child->ready[1]);
	if (child->pid < 0 || read(child->ready[0], &byte, 1) != 1)
		exit(2);
	close(child->ready[0]);
}

static void end_child(struct child *child)
{
	close(child->go[1]);
	waitpid(child->pid, NULL, 0);
}

/* As many page-table pages as it takes, not one more. */
static char *map_aligned(void)
{
	char *memory = mmap(NULL, REGION + HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t skip = -(unsigned long)memory % HUGE;

	if (memory == MAP_FAILED)
		exit(2);
	munmap(memory, skip);
	munmap(memory + skip + REGION, HUGE - skip);
	return memory + skip;
}

static void move(char *from, char *to)
{
	if (mremap(from, REGION, REGION, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		exit(2);
}

/* It moves to where no table can be moved as a whole, and back. */
static void bench_region(void)
{
	struct counts touched, forked, exited, protected, moved, unmapped;
	int round;

	clear(&touched);
	clear(&forked);
	clear(&exited);
	clear(&protected);
	clear(&moved);
	clear(&unmapped);
	for (round = 0; round < ROUNDS; round++) {
		char *memory = map_aligned(), *place;
		struct child child;

		prepare_child(&child);
		madvise(memory, REGION, MADV_NOHUGEPAGE);
		start(TOUCH);
		touch(memory);
		stop(&touched);
		start(FORK);
		fork_child(&child);
		stop(&forked);
		let_child_run(&child);
		start(EXIT);
		end_child(&child);
		stop(&exited);
		start(MPROTECT);
		mprotect(memory, REGION, PROT_READ);
		stop(&protected);
		place = map_aligned() + PAGE_SIZE;
		start(MREMAP);
		move(memory, place);
		stop(&moved);
		move(place, memory);
		munmap(place - PAGE_SIZE, PAGE_SIZE);
		start(MUNMAP);
		munmap(memory, REGION);
		stop(&unmapped);
	}
	tell(TOUCH, &touched, 1);
	tell(FORK, &forked, 1);
	tell(EXIT, &exited, 1);
	tell(MPROTECT, &protected, 1);
	tell(MREMAP, &moved, 1);
	tell(MUNMAP, &unmapped, 1);
}

static void bench_madvise(void)
{
	struct counts freed;
	int round;

	clear(&freed);
	for (round = 0; round < ROUNDS; round++) {
		char *memory = map_aligned();

		madvise(memory, REGION, MADV_NOHUGEPAGE);
		touch(memory);
		start(MADVISE);
		madvise(memory, REGION, MADV_FREE);
		stop(&freed);
		munmap(memory, REGION);
	}
	tell(MADVISE, &freed, 1);
}

static void repeat(enum operation operation, void (*function)(void), long times)
{
	struct counts least;
	int round;

	clear(&least);
	for (round = 0; round < ROUNDS; round++) {
		start(operation);
		function();
		stop(&least);
	}
	tell(operation, &least, times);
}

static void exec_each(const char *path, char * const args[], int times)
{
	int i;

	for (i = 0; i < times; i++) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			execv(path, args);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		if (status)
			exit(2);
	}
}

static void exec_nothing(void)
{
	static char * const args[] = { "bench", "nothing", NULL };

	exec_each("/proc/self/exe", args, EXECS);
}

/* The loader and the C library are mapped, too; `true` is of the shell itself. */
static void exec_dash(void)
{
	static char * const args[] = { "dash", "-c", "true", NULL };

	exec_each(DASH, args, SHELLS);
}

static void bench_dash(void)
{
	if (access(DASH, X_OK)) {
		result_skip("dash", "no dash in this guest");
		return;
	}
	repeat(FORK_DASH, exec_dash, SHELLS);
	result_ok("dash");
}

static void call_kernel(void)
{
	int i;

	for (i = 0; i < SYSCALLS; i++)
		syscall(SYS_getppid);
}

/* Each uses the key of the random generator once: one access to a secret. */
static void draw_random(void)
{
	char bytes[32];
	int i;

	for (i = 0; i < RANDOMS; i++)
		if (syscall(SYS_getrandom, bytes, sizeof(bytes), 0) != sizeof(bytes))
			exit(2);
}

static int there[2], back[2];

static void answer(void)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
}

/* Two switches of tasks each. */
static void take_turns(void)
{
	char byte = 0;
	int i;

	for (i = 0; i < TURNS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(2);
}

static void bench_switches(enum operation operation, uid_t user)
{
	pid_t pid;

	if (pipe(there) || pipe(back))
		exit(2);
	pid = fork();
	if (!pid) {
		close(there[1]);
		if (!setuid(user))
			answer();
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	repeat(operation, take_turns, 2 * TURNS);
	close(there[1]);
	close(back[0]);
	waitpid(pid, NULL, 0);
}

static int pipe_end;

/* The kernel faults on an address nobody mapped, at its default level. */
static void raise_exceptions(void)
{
	int i;

	for (i = 0; i < EXCEPTIONS; i++)
		if (write(pipe_end, (void *)PAGE_SIZE, 1) >= 0)
			exit(2);
}

static void bench_vmalloc(void)
{
	struct counts allocated, freed;
	int round;

	if (corrupt_open()) {
		result_skip("vmalloc", "no attack component in this kernel");
		return;
	}
	clear(&allocated);
	clear(&freed);
	for (round = 0; round < 2 * ROUNDS; round++) {
		start(VMALLOC);
		corrupt_command("vmalloc count=%d", VMALLOC_PAGES);
		stop(&allocated);
		start(VFREE);
		corrupt_command("vfree");
		stop(&freed);
	}
	tell(VMALLOC, &allocated, 1);
	tell(VFREE, &freed, 1);
	result_ok("vmalloc");
}

/* The pool takes a block of memory and gives it back. */
static void bench_key_block(void)
{
	struct counts grown;
	int round;

	if (access(KPKEYS_DIR "grow", F_OK)) {
		result_skip("key-block", "a kernel without its tests");
		return;
	}
	clear(&grown);
	for (round = 0; round < ROUNDS; round++) {
		start(KEY_BLOCK);
		if (file_write(KPKEYS_DIR "grow", "1"))
			exit(2);
		stop(&grown);
		file_write(KPKEYS_DIR "shrink", "1");
	}
	tell(KEY_BLOCK, &grown, 1);
	result_ok("key-block");
}

static long folios_made(unsigned long kib)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), THP_DIR "hugepages-%lukB/stats/anon_fault_alloc", kib);
	return file_read(path, text, sizeof(text)) > 0 ? atol(text) : -1;
}

static bool touch_folios(enum operation operation, unsigned long kib, struct counts *touched)
{
	long made = folios_made(kib);
	char *memory = map_aligned();

	start(operation);
	touch(memory);
	stop(touched);
	munmap(memory, REGION);
	return folios_made(kib) - made == (long)((REGION >> 10) / kib);
}

/* All memory comes in folios of this size, and a fault maps one of them. */
static void bench_folios(enum operation operation, unsigned long kib, const char *otherwise)
{
	struct counts touched;
	char path[128];
	bool good = true;
	int round;

	snprintf(path, sizeof(path), THP_DIR "hugepages-%lukB/enabled", kib);
	if (file_write(path, "always")) {
		result_skip(operations[operation], "no folios of %lu KiB", kib);
		return;
	}
	clear(&touched);
	for (round = 0; round < ROUNDS; round++)
		good &= touch_folios(operation, kib, &touched);
	file_write(path, otherwise);
	if (!good) {
		result_fail(operations[operation], "folios of another size than %lu KiB", kib);
		return;
	}
	tell(operation, &touched, (REGION >> 10) / kib);
	result_ok(operations[operation]);
}

static void tell_pool(void)
{
	unsigned long idle = kpkeys_stat("pool_free"), used = kpkeys_stat("pool_used");
	char backend[16];

	kpkeys_backend(backend, sizeof(backend));
	result_json("{\"bench\": \"pool\", \"backend\": \"%s\", \"pages_keyed\": %lu, \"pool_free\": %lu, \"pool_used\": %lu, \"pool_blocks\": %lu, \"pool_chunks\": %lu, \"boot_pages\": %lu, \"state_pages\": %lu, \"idle_kib\": %lu, \"direct_map_splits\": %lu, \"key_tlb_flushes\": %lu, \"unkeyed_fallbacks\": %lu}",
		    backend, kpkeys_stat("pages_keyed"), idle, used, kpkeys_stat("pool_blocks"),
		    kpkeys_stat("pool_chunks"), kpkeys_stat("boot_pages"),
		    kpkeys_stat("state_pages"), idle * 4, kpkeys_stat("direct_map_splits"),
		    kpkeys_stat("key_tlb_flushes"), kpkeys_stat("unkeyed_fallbacks"));
}

int main(int argc, char **argv)
{
	char reason[512];
	int fds[2];

	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return 0;

	fix_layout(argv);
	results_begin();
	stay_ahead_on_one_cpu();
	tell_pool();
	measure_reader();
	bench_region();
	result_ok("64 MiB");
	repeat(FORK_EXEC, exec_nothing, EXECS);
	bench_dash();
	bench_madvise();
	repeat(SYSCALL, call_kernel, SYSCALLS);
	if (pipe(fds))
		return 2;
	pipe_end = fds[1];
	repeat(EXCEPTION, raise_exceptions, EXCEPTIONS);
	result_ok("kernel entries");
	repeat(RANDOM, draw_random, RANDOMS);
	result_ok("secrets");
	bench_switches(SWITCH_SAME, getuid());
	bench_switches(SWITCH_OTHER, OTHER_USER);
	result_ok("switches");
	bench_vmalloc();
	bench_key_block();
	/* Behind all others: khugepaged runs from the first large folio on. */
	bench_folios(TOUCH_64K, 64, "never");
	bench_folios(TOUCH_THP, 2048, "inherit");
	if (kpkeys_check(reason, sizeof(reason)))
		result_ok("checker");
	else
		result_fail("checker", "%s", reason);
	return results_end();
}
