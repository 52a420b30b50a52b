// SPDX-License-Identifier: GPL-2.0-only
/* debugfs: kpkeys/leave_open and grow, for tests in user space. */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/numa.h>
#include <linux/preempt.h>
#include <linux/resume_user_mode.h>
#include <linux/topology.h>

#include "depot.h"

#define REGISTER_ALONE	255	/* beside a copy that says shut; no level */

/* Go back to user space with a gate open: what the way out must notice. */
static int leave_open_set(void *data, u64 level)
{
	if (level != REGISTER_ALONE &&
	    (level == KPKEYS_LVL_DEFAULT || level >= KPKEYS_NR_LEVELS))
		return -EINVAL;
	/* As in a guard: a switch between register and copy makes the copy fault. */
	guard(preempt)();
	if (!kpkeys_pgtables_enabled())
		return 0;
	if (level == REGISTER_ALONE) {
		arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
		/* Work on the way out. */
		set_notify_resume(current);
	} else {
		__kpkeys_raise(level, KPKEYS_LVL_DEFAULT);
	}
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(leave_open_fops, NULL, leave_open_set, "%llu\n");

/* Key one block more: what benchmarks count. */
static int grow_set(void *data, u64 value)
{
	if (!kpkeys_pgtables_enabled())
		return 0;
	return min(kpkeys_depot_refill(numa_mem_id(), NULL, GFP_KERNEL), 0);
}
DEFINE_DEBUGFS_ATTRIBUTE(grow_fops, NULL, grow_set, "%llu\n");

static int __init test_files_init(void)
{
	struct dentry *dir = debugfs_lookup("kpkeys", NULL);

	debugfs_create_file_unsafe("leave_open", 0200, dir, NULL,
				   &leave_open_fops);
	debugfs_create_file_unsafe("grow", 0200, dir, NULL, &grow_fops);
	dput(dir);
	return 0;
}
/* After the folder is made. */
late_initcall_sync(test_files_init);
