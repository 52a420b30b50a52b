/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may have text patched. Lists of places, keys and packs are ordinary
 * data; what says that a place in text is to be patched, and how, must be data
 * that nobody can write.
 */
#ifndef _LINUX_KPKEYS_PATCHING_H
#define _LINUX_KPKEYS_PATCHING_H

#include <linux/kpkeys.h>
#include <linux/set_memory.h>
#include <linux/types.h>

#include <asm/page.h>

struct module;
struct page;

#ifdef KPKEYS_BUILT_IN

/* What waits to be patched, for the architecture: a page with the state's key. */
extern u8 kpkeys_patch_queue[PAGE_SIZE];

/* May ftrace, kprobes and others patch the kernel's own text? Read-only after init. */
extern bool kpkeys_kernel_probes;

void kpkeys_patching_init(void);
bool __kpkeys_refuse_site(const void *site, size_t size, const void *start,
			  const void *stop, unsigned long code);
bool kpkeys_copy_text(void *to, const void *from, size_t len, bool same);
bool kpkeys_poke_text(void *to, const void *from, size_t len);
int kpkeys_check_probe(void);
int __kpkeys_module_comes(const struct module *mod);
void __kpkeys_module_came(const struct module *mod);
int __kpkeys_text_came(unsigned long addr, unsigned int nr);
bool __kpkeys_text_leaves(struct page **pages, unsigned int nr);
void kpkeys_restore_runs(void);

#else

static __maybe_unused u8 kpkeys_patch_queue[PAGE_SIZE] __aligned(PAGE_SIZE);

static inline bool __kpkeys_refuse_site(const void *site, size_t size,
					const void *start, const void *stop,
					unsigned long code)
{
	return false;
}

static inline bool kpkeys_copy_text(void *to, const void *from, size_t len,
				    bool same)
{
	return false;
}

static inline bool kpkeys_poke_text(void *to, const void *from, size_t len)
{
	return false;
}

static inline int kpkeys_check_probe(void) { return 0; }

static inline int __kpkeys_module_comes(const struct module *mod)
{
	return 0;
}

static inline void __kpkeys_module_came(const struct module *mod) { }

static inline int __kpkeys_text_came(unsigned long addr, unsigned int nr)
{
	return 0;
}

static inline bool __kpkeys_text_leaves(struct page **pages, unsigned int nr)
{
	return true;
}

static inline void kpkeys_restore_runs(void) { }

#endif /* KPKEYS_BUILT_IN */

/**
 * kpkeys_refuse_site - may what a site says not be done to text?
 * @site: a jump entry or the site of a static call
 * @start: the kernel's own table of such
 * @stop: its end
 * @code: what is to be patched
 *
 * Return: true if text must not be patched, in audit mode never.
 */
#define kpkeys_refuse_site(site, start, stop, code)			\
	(kpkeys_pgtables_enabled() &&					\
	 __kpkeys_refuse_site(site, sizeof(*(site)), start, stop, code))

/**
 * kpkeys_module_comes - the text of a module may be patched from now on
 * @mod: the module, whose sites can still be written
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_module_comes(const struct module *mod)
{
	return kpkeys_pgtables_enabled() ? __kpkeys_module_comes(mod) : 0;
}

/**
 * kpkeys_module_came - the sites of a module are read-only now, or it goes
 * @mod: the module
 */
static inline void kpkeys_module_came(const struct module *mod)
{
	if (kpkeys_pgtables_enabled())
		__kpkeys_module_came(mod);
}

/**
 * kpkeys_text_came - read-only data of a module, or what is to be run, is complete
 * @addr: its address, which is mapped read-only
 * @nr: number of pages
 *
 * From then on it is written by text_poke() only. May sleep.
 *
 * Return: 0 or -EPERM, if something else can write it.
 */
static inline int kpkeys_text_came(unsigned long addr, unsigned int nr)
{
	return kpkeys_pgtables_enabled() ? __kpkeys_text_came(addr, nr) : 0;
}

/**
 * kpkeys_make_text - set_memory_rox() for text that is complete
 * @addr: its address
 * @nr: number of pages
 *
 * The kernel runs it when it is known that nothing else can write it. May sleep.
 *
 * Return: 0 or -errno.
 */
static inline int kpkeys_make_text(unsigned long addr, unsigned int nr)
{
	if (!kpkeys_pgtables_enabled())
		return set_memory_rox(addr, nr);
	return set_memory_ro(addr, nr) ?: kpkeys_text_came(addr, nr) ?:
	       set_memory_x(addr, nr);
}

/**
 * kpkeys_text_leaves - memory is released that text may be in
 * @pages: which; unmapped but for the direct map
 * @nr: how many
 *
 * May sleep.
 *
 * Return: false if something else maps it, so that it must not be used again.
 */
static inline bool kpkeys_text_leaves(struct page **pages, unsigned int nr)
{
	return !kpkeys_pgtables_enabled() || __kpkeys_text_leaves(pages, nr);
}

#endif /* _LINUX_KPKEYS_PATCHING_H */
