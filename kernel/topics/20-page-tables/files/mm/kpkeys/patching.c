// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text is patched where read-only data says so: the kernel's own text by its
 * own tables of places, that of a module by the module's, and nothing else
 * that is read-only at all.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_patching.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/range.h>
#include <linux/string.h>
#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_patch.h>
#include <asm/mmu_context.h>
#include <asm/sections.h>

#include "internal.h"

u8 kpkeys_patch_queue[PAGE_SIZE] __aligned(PAGE_SIZE);

/**
 * struct coming - a module whose sites are not read-only yet
 * @mod: which, or NULL
 * @sites: where they are, among what becomes read-only after init
 * @text: what they may have patched
 * @init: likewise
 */
struct coming {
	const struct module	*mod;
	struct range		sites;
	struct range		text;
	struct range		init;
};

/* In a page of its own, as the queue is. */
static union {
	struct coming	mods[PAGE_SIZE / sizeof(struct coming)];
	u8		page[PAGE_SIZE];
} coming __aligned(PAGE_SIZE);

/**
 * kpkeys_patching_init - key what is in force while text is patched
 */
void __init kpkeys_patching_init(void)
{
	kpkeys_key_static(lm_alias(kpkeys_patch_queue), PAGE_SIZE,
			  KPKEYS_PKEY_STATE, &kpkeys_state.state_pages);
	arch_kpkeys_patch_init();
	kpkeys_key_static(lm_alias(&coming), PAGE_SIZE, KPKEYS_PKEY_STATE,
			  &kpkeys_state.state_pages);
}

static bool is_in(const struct range *range, unsigned long addr)
{
	return addr >= range->start && addr < range->end;
}

/* ---- modules that come ---- */

#ifdef CONFIG_MODULES
/* Who forges it may have records mixed up, and modules refused. */
static DEFINE_MUTEX(coming_lock);

static struct range range_of(const struct module *mod, enum mod_mem_type type)
{
	unsigned long start = (unsigned long)mod->mem[type].base;

	return (struct range) { start, start + mod->mem[type].size };
}

/* Where the record is waited for a lock; and it is a whole one. */
static bool is_record(const struct coming *each)
{
	unsigned long at = (unsigned long)each - (unsigned long)coming.mods;

	return at < sizeof(coming.mods) && !(at % sizeof(*each));
}

static void set_coming(struct coming *each, const struct module *mod)
{
	struct coming new = {
		.mod = mod,
		.sites = range_of(mod, MOD_RO_AFTER_INIT),
		.text = range_of(mod, MOD_TEXT),
		.init = range_of(mod, MOD_INIT_TEXT),
	};

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(each);
	if (is_record(each))
		*each = new;
}

static __always_inline struct coming *find_coming(const struct module *mod)
{
	struct coming *each = coming.mods;

	for (; each < coming.mods + ARRAY_SIZE(coming.mods); each++)
		if (each->mod == mod)
			return each;
	return NULL;
}

int __kpkeys_module_comes(const struct module *mod)
{
	struct coming *each;

	guard(mutex)(&coming_lock);
	each = find_coming(NULL);
	if (!each) {
		pr_err("module %s: too many others are being loaded\n",
		       mod->name);
		return -EBUSY;
	}
	set_coming(each, mod);
	return 0;
}

void __kpkeys_module_came(const struct module *mod)
{
	struct coming *each;

	guard(mutex)(&coming_lock);
	guard(kpkeys_hardened_pgtables)();
	each = find_coming(mod);
	if (each)
		kpkeys_clear_words(each, sizeof(*each));
}
#endif

static bool may_come(unsigned long site, unsigned long code)
{
	struct coming *each = coming.mods;

	for (; each < coming.mods + ARRAY_SIZE(coming.mods); each++)
		if (is_in(&each->sites, site) &&
		    (is_in(&each->text, code) || is_in(&each->init, code)))
			return true;
	return false;
}

/* ---- places in text ---- */

static bool is_constant(unsigned long addr)
{
	struct kpkeys_leaf leaf;

	/* There compiled filters cannot be run, which have constants of user space. */
	if (kpkeys_is_linear((void *)addr))
		return false;
	if (!arch_kpkeys_leaf(addr, &leaf) || !leaf.constant)
		return false;
	return kpkeys_frame_byte(PHYS_PFN(leaf.phys)) ==
	       (kpkeys_modules_are_entered() ? KPKEYS_FRAME_MODULE : KPKEYS_FRAME_ORDINARY);
}

/* Those of a module, when it has been loaded: by each mapping of them. */
static bool is_readonly(unsigned long site, size_t size)
{
	if (!IS_ENABLED(CONFIG_STRICT_MODULE_RWX) || !rodata_enabled)
		return true;
	return is_constant(site) && is_constant(site + size - 1);
}

static bool is_image(unsigned long code)
{
	unsigned long pfn = PHYS_PFN(arch_kpkeys_phys(code));

	return kpkeys_frame(pfn) == KPKEYS_FRAME_READONLY;
}

bool __kpkeys_refuse_site(const void *site, size_t size, const void *start,
			  const void *stop, unsigned long code)
{
	unsigned long addr = (unsigned long)site;

	if (site >= start && site < stop && !((site - start) % size))
		return false;
	if (!is_image(code) &&
	    (may_come(addr, code) || is_readonly(addr, size)))
		return false;
	return kpkeys_refuse("patching", "text by a site that can be written",
			     (void *)code, NULL);
}
