/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guarded variables: everybody may read them, and only a guard of their own
 * level writes them.
 *
 *	static int limit __kpkeys_guarded;
 *
 *	kpkeys_guarded_set(limit, 1);
 *
 * They share pages that carry KPKEYS_PKEY_GUARDED from
 * kpkeys_hardened_pgtables_init() on; until then, and where they are not
 * guarded, they are ordinary variables. A module cannot have any.
 *
 * One that a sysctl writes needs a table in read-only data, and nothing else:
 *
 *	static struct ctl_table limits[] __ro_after_init = {
 *		{
 *			.procname	= "limit",
 *			.data		= &limit,
 */
#ifndef _LINUX_KPKEYS_GUARDED_H
#define _LINUX_KPKEYS_GUARDED_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/kpkeys.h>
#include <linux/sysctl.h>

#if defined(KPKEYS_BUILT_IN) && defined(CONFIG_KPKEYS_GUARDED)

#ifndef MODULE
#define __kpkeys_guarded	__section(".data..guarded")
#endif

/* From the linker script. */
extern char __guarded_start[], __guarded_end[];

static __always_inline bool kpkeys_guarded_enabled(void)
{
	return kpkeys_level_enabled(KPKEYS_LVL_GUARDED);
}

static __always_inline bool __kpkeys_is_guarded(const void *addr, unsigned long size)
{
	unsigned long all = __guarded_end - __guarded_start;
	unsigned long at = (const char *)addr - __guarded_start;

	return at < all && size <= all - at;
}

/**
 * kpkeys_is_guarded - does a store to an address need a guard?
 * @addr: of a variable
 */
static __always_inline bool kpkeys_is_guarded(const void *addr)
{
	return kpkeys_guarded_enabled() && __kpkeys_is_guarded(addr, 1);
}

int kpkeys_guarded_sysctl(const struct ctl_table *table, void *buffer,
			  size_t *lenp, loff_t *ppos);
int kpkeys_guarded_commit(const struct ctl_table *table);
int kpkeys_guarded_check_writer(const void *var);

#else

#define __kpkeys_guarded	__read_mostly

static __always_inline bool kpkeys_guarded_enabled(void) { return false; }
static __always_inline bool kpkeys_is_guarded(const void *addr) { return false; }
static inline int kpkeys_guarded_sysctl(const struct ctl_table *table, void *buffer,
					size_t *lenp, loff_t *ppos)
{
	return table->proc_handler(table, 1, buffer, lenp, ppos);
}

static inline int kpkeys_guarded_commit(const struct ctl_table *table) { return 0; }
static inline int kpkeys_guarded_check_writer(const void *var) { return 0; }

#endif /* CONFIG_KPKEYS_GUARDED */

/**
 * DOC: guard(kpkeys_guarded)()
 *
 * The scope may write guarded variables, and no page table. Wrong: to write
 * where a pointer leads that is in ordinary memory, or to copy from user space.
 */
DEFINE_KPKEYS_GUARD(kpkeys_guarded,
		    kpkeys_set_level(KPKEYS_LVL_GUARDED),
		    kpkeys_restore_level(KPKEYS_LVL_GUARDED, *old), void);

/**
 * kpkeys_guarded_set - write a guarded variable
 * @var: the variable itself, not what a pointer leads to
 * @value: what it becomes
 */
#define kpkeys_guarded_set(var, value)					\
do {									\
	typeof(var) __value = (value);					\
									\
	scoped_guard(kpkeys_guarded) {					\
		kpkeys_reread(__value);					\
		WRITE_ONCE(var, __value);				\
	}								\
} while (0)

/**
 * kpkeys_guarded_copy - write a guarded variable that is no scalar
 * @var: the variable itself
 * @from: what it becomes
 * @size: of both, constant, a multiple of a word
 */
#define kpkeys_guarded_copy(var, from, size)				\
do {									\
	const unsigned long *__from = (const void *)(from);		\
	unsigned long *__to = (void *)&(var);				\
	unsigned int __i;						\
									\
	BUILD_BUG_ON((size) % sizeof(long));				\
	scoped_guard(kpkeys_guarded) {					\
		kpkeys_reread(__from);					\
		for (__i = 0; __i < (size) / sizeof(long); __i++)	\
			WRITE_ONCE(__to[__i], READ_ONCE(__from[__i]));	\
	}								\
} while (0)

#endif /* _LINUX_KPKEYS_GUARDED_H */
