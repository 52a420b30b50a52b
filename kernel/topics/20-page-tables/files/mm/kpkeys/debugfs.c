// SPDX-License-Identifier: GPL-2.0-only
/* debugfs: kpkeys/mode, backend, stats, check and shrink */
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "check.h"
#include "counters.h"
#include "depot.h"

static int mode_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", kpkeys_mode_names[kpkeys_state.mode]);
	return 0;
}

static int mode_open(struct inode *inode, struct file *file)
{
	return single_open(file, mode_show, NULL);
}

/* Only ever tightened: whoever can write here can also log and reboot. */
static noinline __flatten int set_mode(int mode)
{
	if (mode < 0)
		return -EINVAL;
	guard(kpkeys_hardened_pgtables)();
	/* An interrupt that came ahead had it on its stack. */
	kpkeys_reread(mode);
	if (kpkeys_state.mode == KPKEYS_OFF || mode < (int)kpkeys_state.mode ||
	    mode >= (int)ARRAY_SIZE(kpkeys_mode_names))
		return -EPERM;
	kpkeys_state.mode = mode;
	return 0;
}

static ssize_t mode_write(struct file *file, const char __user *ubuf,
			  size_t len, loff_t *pos)
{
	char buf[16] = {};
	int ret;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	ret = set_mode(match_string(kpkeys_mode_names,
				    ARRAY_SIZE(kpkeys_mode_names), strim(buf)));
	return ret ?: len;
}

static const struct file_operations mode_fops = {
	.owner		= THIS_MODULE,
	.open		= mode_open,
	.read		= seq_read,
	.write		= mode_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int backend_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n",
		   kpkeys_pgtables_enabled() ? arch_kpkeys_backend() : "none");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(backend);

static void show(struct seq_file *m, const char *name, unsigned long value)
{
	seq_printf(m, "%s %lu\n", name, value);
}

static void show_event(struct seq_file *m, const char *name,
		       const atomic_long_t *event)
{
	show(m, name, atomic_long_read(event));
}

static int stats_show(struct seq_file *m, void *v)
{
	const struct kpkeys_events *e = &kpkeys_events;

#ifdef CONFIG_KPKEYS_STATS
	show(m, "pkey_reg_writes", SUM(reg_writes));
	show(m, "sections", SUM(sections));
	show(m, "publishes", SUM(publishes));
	show(m, "pool_hits", SUM(pool_hits));
#endif
	show(m, "repeats", SUM(repeats));
	show(m, "exceptions_open", SUM(exceptions_open));
	show(m, "left_open", SUM(left_open));
	show(m, "violations", SUM(violations));
	show(m, "refusals", kpkeys_nr_refusals());
	show(m, "searched", SUM(searched));
	show_event(m, "pool_refills", &e->pool_refills);
	show_event(m, "pool_refill_failures", &e->pool_refill_failures);
	show_event(m, "pages_keyed", &e->pages_keyed);
	show_event(m, "key_tlb_flushes", &e->key_tlb_flushes);
	show_event(m, "direct_map_splits", &e->direct_map_splits);
	show_event(m, "unkeyed_fallbacks", &e->unkeyed_fallbacks);
	show_event(m, "shrink_returned", &e->shrink_returned);
	show_event(m, "freelist_errors", &e->freelist_errors);
	show_event(m, "pool_blocks", &e->pool_blocks);
	show_event(m, "pool_chunks", &e->pool_chunks);
	show_event(m, "retype_scans", &e->retype_scans);
	show_event(m, "retype_tables", &e->retype_tables);
	show(m, "pool_free", kpkeys_pool_nr_free());
	show(m, "pool_used", kpkeys_pool_nr_used());
	show(m, "pool_resting", kpkeys_depot_nr_resting());
	show(m, "lost_pages", kpkeys_state.lost_pages);
	show(m, "boot_pages", kpkeys_state.boot_pages);
	show(m, "state_pages", kpkeys_state.state_pages);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static void show_finding(struct seq_file *m, const struct kpkeys_finding *f)
{
	seq_printf(m, "%s pfn %lx level %s of %s\n", f->what, f->pfn,
		   kpkeys_level_name(f->level), f->name);
}

static void show_check(struct seq_file *m, const struct kpkeys_check *check)
{
	unsigned int i;

	show(m, "ptp_total", check->ptp_total);
	show(m, "ptp_unkeyed", check->ptp_unkeyed);
	show(m, "keyed_pages", check->keyed);
	show(m, "expected_keyed", kpkeys_check_expected(check));
	show(m, "pool_free", check->pool_free);
	show(m, "pool_used", check->pool_used);
	show(m, "pool_headers", check->headers);
	show(m, "lost_pages", check->lost);
	show(m, "boot_pages", check->boot);
	show(m, "state_keyed", check->state_keyed);
	show(m, "state_pages", check->state);
	show(m, "keyed_foreign", check->foreign);
	show(m, "image_aliases", check->aliased);
	show(m, "misentered_frames", check->misentered);
	show(m, "misrooted_mms", check->misrooted);
	show(m, "mislinked_tables", check->mislinked);
	show(m, "mismapped_entries", check->mismapped);
	show(m, "unruly_cpus", check->unruly);
	show(m, "unreported_refusals", check->unreported);
	for (i = 0; i < check->nr_findings; i++)
		show_finding(m, &check->finding[i]);
	seq_printf(m, "verdict %s\n", check->ok ? "ok" : "FAILED");
}

static int check_show(struct seq_file *m, void *v)
{
	struct kpkeys_check *check;

	if (!kpkeys_pgtables_enabled()) {
		seq_puts(m, "verdict off\n");
		return 0;
	}
	check = kmalloc(sizeof(*check), GFP_KERNEL);
	if (!check)
		return -ENOMEM;
	kpkeys_check(check);
	show_check(m, check);
	kfree(check);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(check);

static int shrink_set(void *data, u64 nr_pages)
{
	if (kpkeys_pgtables_enabled())
		kpkeys_depot_shrink(nr_pages);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(shrink_fops, NULL, shrink_set, "%llu\n");

static int __init kpkeys_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("kpkeys", NULL);

	debugfs_create_file("mode", 0600, dir, NULL, &mode_fops);
	debugfs_create_file("backend", 0400, dir, NULL, &backend_fops);
	debugfs_create_file("stats", 0400, dir, NULL, &stats_fops);
	debugfs_create_file("check", 0400, dir, NULL, &check_fops);
	debugfs_create_file_unsafe("shrink", 0200, dir, NULL, &shrink_fops);
	return 0;
}
late_initcall(kpkeys_debugfs_init);
