/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's table of BUG() and WARN() says where an interrupted section may go
 * on behind a trap. So it is read-only, and which warnings were given is kept
 * elsewhere. Those of modules are ordinary memory.
 *
 * Only lib/bug.c includes this file.
 */
#ifndef _LINUX_KPKEYS_BUGS_H
#define _LINUX_KPKEYS_BUGS_H

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/kconfig.h>

#ifdef CONFIG_KPKEYS

#define KPKEYS_MAX_BUGS	65536	/* what comes behind warns each time */

static DECLARE_BITMAP(kpkeys_bugs_done, KPKEYS_MAX_BUGS);

static inline bool kpkeys_is_core_bug(const struct bug_entry *bug)
{
	return bug >= __start___bug_table && bug < __stop___bug_table;
}

static inline bool bug_is_done(const struct bug_entry *bug)
{
	unsigned long nr = bug - __start___bug_table;

	if (!kpkeys_is_core_bug(bug))
		return bug->flags & BUGFLAG_DONE;
	return nr < KPKEYS_MAX_BUGS && test_bit(nr, kpkeys_bugs_done);
}

static inline void bug_set_done(struct bug_entry *bug)
{
	unsigned long nr = bug - __start___bug_table;

	if (!kpkeys_is_core_bug(bug))
		bug->flags |= BUGFLAG_DONE;
	else if (nr < KPKEYS_MAX_BUGS)
		set_bit(nr, kpkeys_bugs_done);
}

static inline void bug_clear_done(struct bug_entry *bug)
{
	unsigned long nr = bug - __start___bug_table;

	if (!kpkeys_is_core_bug(bug))
		bug->flags &= ~BUGFLAG_DONE;
	else if (nr < KPKEYS_MAX_BUGS)
		clear_bit(nr, kpkeys_bugs_done);
}

#else

static inline bool bug_is_done(const struct bug_entry *bug)
{
	return bug->flags & BUGFLAG_DONE;
}

static inline void bug_set_done(struct bug_entry *bug)
{
	bug->flags |= BUGFLAG_DONE;
}

static inline void bug_clear_done(struct bug_entry *bug)
{
	bug->flags &= ~BUGFLAG_DONE;
}

#endif

#endif /* _LINUX_KPKEYS_BUGS_H */
