// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guarded variables: which pages carry their key, and how a sysctl writes one.
 *
 * Its handler parses into a copy in ordinary memory, with the gate shut. Where
 * that goes, the table says, which is in read-only data. Which table it is that
 * somebody writes to, an inode says: so one that is not there, and whoever is
 * not root, are refused here.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/cred.h>
#include <linux/init.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_guarded.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>

#include <asm/sections.h>

#include "guarded.h"
#include "internal.h"

DEFINE_STATIC_KEY_FALSE_RO(kpkeys_guarded_key);

static bool wanted __ro_after_init = true;

/* One that is always there: the proof that keys work writes it. */
static unsigned long canary __kpkeys_guarded;

static int __init guard_setup(char *arg)
{
	if (!arg || kstrtobool(arg, &wanted))
		pr_warn("kpkeys_guard=%s: not on or off; on\n", arg ?: "");
	return 0;
}
early_param("kpkeys_guard", guard_setup);

/**
 * kpkeys_guarded_init - switch the guards of variables on, if they are wanted
 */
void __init kpkeys_guarded_init(void)
{
	if (wanted)
		static_branch_enable(&kpkeys_guarded_key);
}

/**
 * kpkeys_guarded_nr_pages - pages with KPKEYS_PKEY_GUARDED
 */
unsigned long kpkeys_guarded_nr_pages(void)
{
	return kpkeys_guarded_enabled() ?
	       (__guarded_end - __guarded_start) / PAGE_SIZE : 0;
}

/**
 * kpkeys_guarded_page - one of them
 * @nr: less than kpkeys_guarded_nr_pages()
 *
 * Return: its address in the direct map.
 */
void *kpkeys_guarded_page(unsigned long nr)
{
	return lm_alias(__guarded_start) + nr * PAGE_SIZE;
}

/**
 * kpkeys_key_guarded - key the variables' pages
 */
void __init kpkeys_key_guarded(void)
{
	if (kpkeys_guarded_enabled())
		kpkeys_key_static(kpkeys_guarded_page(0),
				  __guarded_end - __guarded_start,
				  KPKEYS_PKEY_GUARDED, NULL);
}

static bool __init is_denied(unsigned long *addr)
{
	unsigned long value = 0;

	return copy_to_kernel_nofault(addr, &value, sizeof(value));
}

/**
 * kpkeys_guarded_denied - do keys stop writes of a variable?
 */
bool __init kpkeys_guarded_denied(void)
{
	return !kpkeys_guarded_enabled() ||
	       (is_denied(&canary) && is_denied(lm_alias(&canary)));
}

/* ---- sysctls ---- */

/**
 * struct bounced - what a handler sees that writes a guarded variable
 * @table: the table, but with a copy for its data
 * @of: the table itself
 */
struct bounced {
	struct ctl_table	table;
	const struct ctl_table	*of;
};

/* In a section. Both are where nobody writes any more. */
static __always_inline bool is_genuine(const struct ctl_table *table)
{
	return is_kernel_rodata((unsigned long)table) &&
	       is_kernel_rodata((unsigned long)(table + 1) - 1) &&
	       __kpkeys_is_guarded(table->data, table->maxlen);
}

#define COPY_BY(type)							\
	for (; i + sizeof(type) <= size; i += sizeof(type))		\
		WRITE_ONCE(*(type *)(to + i), READ_ONCE(*(const type *)(from + i)))

/* Others see a number change at once, and a string as without a guard. */
static __always_inline void copy_value(void *to, const void *from, unsigned int size)
{
	unsigned int i = 0;

	COPY_BY(unsigned long);
	COPY_BY(u32);
	COPY_BY(u8);
}

/* By all of its IDs: a setuid program writes what its caller says to where he says. */
static __always_inline bool are_roots(const struct cred *cred)
{
	return uid_eq(cred->uid, GLOBAL_ROOT_UID) && uid_eq(cred->euid, GLOBAL_ROOT_UID) &&
	       uid_eq(cred->suid, GLOBAL_ROOT_UID);
}

static bool is_by_root(void)
{
	return are_roots(current_cred());
}

static __always_inline bool is_still_by_root(void)
{
	return are_roots(current_cred());
}

static noinline __flatten bool write_guarded(const struct ctl_table *table, const void *from,
					     bool ask)
{
	guard(kpkeys_guarded)();
	kpkeys_reread(table);
	kpkeys_reread(ask);
	if (!is_genuine(table) ||
	    (!is_still_by_root() && (ask || kpkeys_state.mode != KPKEYS_AUDIT)))
		return false;
	copy_value(table->data, from, table->maxlen);
	return true;
}

static const char *why_not(const struct ctl_table *table)
{
	if (!is_genuine(table))
		return "a guarded variable by a forged table";
	return is_by_root() ? NULL : "a guarded variable by somebody else";
}

/**
 * kpkeys_guarded_commit - have what a handler parsed in place at once
 * @table: as the handler got it, for a write
 *
 * For handlers that look at the variable afterwards. It is done in any case when
 * they are back. What a handler got may be anything, and so may who called it.
 *
 * Return: 0, or -EPERM.
 */
int kpkeys_guarded_commit(const struct ctl_table *table)
{
	const struct ctl_table *of;
	const char *why;

	/* Audit let it through, or it is not guarded: it is where it belongs. */
	if (!kpkeys_guarded_enabled() || kpkeys_is_guarded(table->data))
		return 0;
	of = READ_ONCE(container_of(table, struct bounced, table)->of);
	why = why_not(of);
	if (why && kpkeys_refuse("write", why, of, NULL))
		return -EPERM;
	return write_guarded(of, table->data, !why) ? 0 : -EPERM;
}

/**
 * kpkeys_guarded_sysctl - have a sysctl write a guarded variable
 * @table: its table
 * @buffer: as for a &proc_handler
 * @lenp: likewise
 * @ppos: likewise
 *
 * Return: what the handler returns, or -errno.
 */
int kpkeys_guarded_sysctl(const struct ctl_table *table, void *buffer,
			  size_t *lenp, loff_t *ppos)
{
	struct bounced bounced = { .table = *table, .of = table };
	const char *of = why_not(table);
	int ret;

	if (of && kpkeys_refuse("write", of, table, NULL))
		return -EPERM;
	if (of)
		return table->proc_handler(table, 1, buffer, lenp, ppos);
	bounced.table.data = kmemdup(table->data, table->maxlen, GFP_KERNEL);
	if (!bounced.table.data)
		return -ENOMEM;
	ret = table->proc_handler(&bounced.table, 1, buffer, lenp, ppos);
	ret = ret ?: kpkeys_guarded_commit(&bounced.table);
	kfree(bounced.table.data);
	return ret;
}

/**
 * kpkeys_guarded_check_writer - may the caller write a guarded variable?
 * @var: which
 *
 * For those who write it by another way than a sysctl. That they have the file open
 * to be written, ordinary data say.
 *
 * Return: 0, or -EPERM.
 */
int kpkeys_guarded_check_writer(const void *var)
{
	return kpkeys_guarded_enabled() && !is_by_root() &&
	       kpkeys_refuse("write", "a guarded variable by somebody else", var, NULL) ?
	       -EPERM : 0;
}
