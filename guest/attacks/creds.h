/* SPDX-License-Identifier: GPL-2.0-only */
/* Credentials, in force or prepared, and what only some of them allow. */
#ifndef GUEST_CREDS_H
#define GUEST_CREDS_H

#include <stdbool.h>
#include <stdint.h>

struct task;

#define CRED_SIZE	208	/* of struct cred, at most */
#define CRED_IDS	8	/* uid, gid, suid, sgid, euid, egid, fsuid, fsgid */
#define CRED_EFFECTIVE	56	/* the effective capabilities, behind the first id */

/*
 * A program of root's ends. It is not waited for: it has credentials still, and no
 * stack. Returns its number, or 0.
 */
int end_program(struct task *task);

#define FIRST_NS	"init_user_ns"
#define NS_SIZE		512	/* where in user_namespace its parent may be ... */
#define NS_LEVEL	8	/* ... and what is behind that: int, then the owner */

/* Number of a task's record, behind its pointer to credentials. */
#define RECORD_NUMBER	8

/* Where the first id is of credentials whose ids are all the attacker's, or 0. */
uint64_t find_ids(uint64_t cred);

/* What credentials in force were made of, where users are counted; without seals, themselves. Or 0. */
uint64_t find_prepared(uint64_t cred);

/*
 * A user namespace of one's own: returns where credentials name it, or 0. Nobody may
 * set the clock there.
 */
uint64_t enter_namespace(void);

/* To the time that it is: who has CAP_SYS_TIME in the first namespace. */
bool can_set_clock(void);

#endif
