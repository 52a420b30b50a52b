// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/kpkeys: what an operator watches, one value in each file.
 *
 * Anybody may read them: no value is an address or leads to one.
 */
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "counters.h"

#define KPKEYS_ATTR(_name, _format, _value)				\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, _format "\n", _value);			\
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

#define EVENT(name)	atomic_long_read(&kpkeys_events.name)

KPKEYS_ATTR(mode, "%s", kpkeys_mode_names[kpkeys_state.mode]);
KPKEYS_ATTR(backend, "%s",
	    kpkeys_pgtables_enabled() ? arch_kpkeys_backend() : "none");
KPKEYS_ATTR(violations, "%lu", SUM(violations));
KPKEYS_ATTR(refusals, "%lu", kpkeys_nr_refusals());
KPKEYS_ATTR(left_open, "%lu", SUM(left_open));
KPKEYS_ATTR(freelist_errors, "%lu", EVENT(freelist_errors));
KPKEYS_ATTR(unkeyed_fallbacks, "%lu", EVENT(unkeyed_fallbacks));
KPKEYS_ATTR(pool_refill_failures, "%lu", EVENT(pool_refill_failures));
KPKEYS_ATTR(direct_map_splits, "%lu", EVENT(direct_map_splits));
KPKEYS_ATTR(keyed_pages, "%lu", kpkeys_state.region_pages +
	    kpkeys_state.boot_pages + kpkeys_state.lost_pages);
KPKEYS_ATTR(state_pages, "%lu", kpkeys_state.state_pages);
KPKEYS_ATTR(lost_pages, "%lu", kpkeys_state.lost_pages);
KPKEYS_ATTR(pool_free, "%lu", kpkeys_pool_nr_free());
KPKEYS_ATTR(pool_used, "%lu", kpkeys_pool_nr_used());
KPKEYS_ATTR(pool_reserved, "%lu", kpkeys_depot_nr_reserved());

static struct attribute *kpkeys_attrs[] = {
	&mode_attr.attr,
	&backend_attr.attr,
	&violations_attr.attr,
	&refusals_attr.attr,
	&left_open_attr.attr,
	&freelist_errors_attr.attr,
	&unkeyed_fallbacks_attr.attr,
	&pool_refill_failures_attr.attr,
	&direct_map_splits_attr.attr,
	&keyed_pages_attr.attr,
	&state_pages_attr.attr,
	&lost_pages_attr.attr,
	&pool_free_attr.attr,
	&pool_used_attr.attr,
	&pool_reserved_attr.attr,
	NULL
};

static const struct attribute_group kpkeys_group = {
	.attrs = kpkeys_attrs,
};

static int __init kpkeys_sysfs_init(void)
{
	struct kobject *dir = kobject_create_and_add("kpkeys", kernel_kobj);
	int ret;

	if (!dir)
		return -ENOMEM;
	ret = sysfs_create_group(dir, &kpkeys_group);
	if (ret)
		kobject_put(dir);
	return ret;
}
late_initcall(kpkeys_sysfs_init);
