// SPDX-License-Identifier: GPL-2.0-only
/* Memory failure: an entry that says the page is poisoned, and a page that moves away from failing memory. */
#include <setjmp.h>
#include <signal.h>

#include "part.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif
#define PAGES		8

static sigjmp_buf back;
static volatile int code;
static volatile bool armed;	/* else it is a warning only */

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	code = info->si_code;
	if (armed)
		siglongjmp(back, 1);
}

static bool readable(volatile char *at)
{
	volatile bool good = false;

	if (!sigsetjmp(back, 1)) {
		armed = true;
		(void)*at;
		good = true;
	}
	armed = false;
	return good;
}

static void poisoned(char *memory, size_t size)
{
	uint64_t pfn = pagemap(memory) & PAGEMAP_PFN;
	char text[32];

	need(!madvise(memory, size, MADV_HWPOISON), "no memory failure");
	check(!readable(memory), "a poisoned page can be read");
	check(code == BUS_MCEERR_AR || code == BUS_MCEERR_AO, "another bus error: %d", code);
	check(!in_child(check(!readable(memory), "a child reads it")), "child");
	check(!munmap(memory, size), "munmap");
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)pfn);
	check(write_file("/sys/kernel/debug/hwpoison/unpoison-pfn", text), "unpoison %s", text);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	char *memory;
	uint64_t before;
	int i;

	sigaction(SIGBUS, &action, NULL);
	for (i = 0; i < PAGES; i++) {
		memory = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		memory[0] = 1;
		poisoned(memory, PAGE);
	}
	memory = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memory[0] = 42;
	before = pagemap(memory) & PAGEMAP_PFN;
	check(!madvise(memory, PAGE, MADV_SOFT_OFFLINE), "soft offline");
	check(memory[0] == 42 && (pagemap(memory) & PAGEMAP_PFN) != before, "the page did not move");
	printf("%d pages poisoned, one moved\n", PAGES);
	return 0;
}
