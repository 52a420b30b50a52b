// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text and read-only data that come and go: those of modules, and compiled
 * filters. From when they are complete until they are released the table of
 * frames says what they are, so no entry makes them writable. Where they are,
 * and that they are not used any more, is said by ordinary data. So the page
 * tables are asked.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_force.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_patching.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/range.h>
#include <linux/sched.h>
#include <asm/mmu_context.h>

#include "arrivals.h"
#include "brings.h"
#include "internal.h"
#include "tables.h"

#define TRIES	20	/* a tick each */

#define MAX_FIRMWARE_TEXT	64	/* pieces */

/**
 * kpkeys_modules_are_entered - does the table of frames know text of modules?
 *
 * Not where it is not read-only, or has writable aliases.
 */
bool kpkeys_modules_are_entered(void)
{
	return kpkeys_frames.nr && IS_ENABLED(CONFIG_STRICT_MODULE_RWX) &&
	       rodata_enabled && ARCH_KPKEYS_ALIASES_FOLLOW;
}

/* ---- they come ---- */

/* Returns whether the search has to look for what leads to it. */
static bool begin_to_come(unsigned long addr, unsigned int nr)
{
	bool begun = false;

	for (; nr; nr--, addr += PAGE_SIZE)
		begun |= kpkeys_arrivals_come(PHYS_PFN(arch_kpkeys_phys(addr)));
	return begun;
}

/* By what the search found: whatever a stack says of that, no other page is run. */
static noinline __flatten void settle(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	if (kpkeys_modules_are_sound() || kpkeys_state.mode == KPKEYS_AUDIT)
		kpkeys_change_frame_now(pfn, KPKEYS_FRAME_COMING, KPKEYS_FRAME_MODULE);
	else
		kpkeys_change_frame_now(pfn, KPKEYS_FRAME_COMING, KPKEYS_FRAME_ORDINARY);
}

static void settle_all(unsigned long addr, unsigned int nr)
{
	for (; nr; nr--, addr += PAGE_SIZE)
		settle(PHYS_PFN(arch_kpkeys_phys(addr)));
}

static bool is_known(unsigned long addr, unsigned int nr)
{
	for (; nr; nr--, addr += PAGE_SIZE)
		if (kpkeys_frame_byte(PHYS_PFN(arch_kpkeys_phys(addr))) !=
		    KPKEYS_FRAME_MODULE)
			return false;
	return true;
}

int __kpkeys_text_came(unsigned long addr, unsigned int nr)
{
	bool writable = false;

	if (!kpkeys_modules_are_entered())
		return 0;
	kpkeys_arrivals_expect();
	kpkeys_arrivals_begin();
	if (begin_to_come(addr, nr)) {
		kpkeys_arrivals_search();
		writable = !kpkeys_modules_are_sound();
		settle_all(addr, nr);
	}
	kpkeys_arrivals_end();
	kpkeys_arrivals_settle();
	if (!writable && is_known(addr, nr))
		return 0;
	return kpkeys_refuse("use as text", writable ? "a page that can be written" :
			     "a page of another kind", (void *)addr, NULL) ? -EPERM : 0;
}

/* ---- what was run from the start ---- */

static struct range firmware_text[MAX_FIRMWARE_TEXT] __initdata;	/* page frames */
static unsigned int nr_firmware_text __initdata;

/**
 * kpkeys_firmware_text - note code of the firmware that the kernel runs
 * @phys: page-aligned; nothing maps it to be written
 * @size: bytes
 *
 * There may be no table of frames yet.
 */
void __init kpkeys_firmware_text(phys_addr_t phys, unsigned long size)
{
	if (nr_firmware_text == MAX_FIRMWARE_TEXT) {
		pr_warn("too many pieces of the firmware's code: %pa can be written\n", &phys);
		return;
	}
	firmware_text[nr_firmware_text].start = PHYS_PFN(phys);
	firmware_text[nr_firmware_text++].end = PHYS_PFN(phys + size);
}

/* Before there is a process. */
static int __init enter_firmware_text(void)
{
	struct range *text;

	for (text = firmware_text; text < firmware_text + nr_firmware_text; text++) {
		if (!kpkeys_frames.nr)
			return 0;
		if (kpkeys_frames_add(text->start, text->end))
			pr_warn("no room for frames of the firmware's code: it can be written\n");
		else
			kpkeys_pages_readonly(pfn_to_kaddr(text->start), text->end - text->start);
	}
	return 0;
}
core_initcall(enter_firmware_text);

/* Calls @arg for each page that a table has the kernel run, and that is no text. */
static bool __init look_at_run(void *ptp, int level, const char *name, void *arg)
{
	void (*fn)(unsigned long pfn) = arg;
	unsigned long pfn, nr;
	const u64 *entry;

	for (entry = ptp; entry < (u64 *)ptp + PTRS_PER_PTE; entry++) {
		if (!is_no_text(*entry, level) ||
		    !kpkeys_entry_leads_to(*entry, level, &pfn, &nr))
			continue;
		for (; nr; nr--, pfn++)
			if (!kpkeys_frame_is_text(pfn) && !kpkeys_is_still_written(pfn))
				fn(pfn);
	}
	return true;
}

static void __init walk(void (*fn)(unsigned long pfn))
{
	kpkeys_walk_pgd(lm_alias(init_mm.pgd), KPKEYS_WALK_ALL, "kernel", look_at_run, fn);
}

static bool any_begun __initdata;

static void __init begin_to_be_text(unsigned long pfn)
{
	any_begun |= kpkeys_arrivals_come(pfn);
}

static noinline __flatten void __init settle_text(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	kpkeys_change_frame_now(pfn, KPKEYS_FRAME_COMING, kpkeys_modules_are_sound() ?
				KPKEYS_FRAME_READONLY : KPKEYS_FRAME_ORDINARY);
}

static void __init name_run(unsigned long pfn)
{
	pr_warn_once("the kernel runs pages that can be written, frame %#lx among them\n", pfn);
}

/* Thunks for the kernel's text, say, each of which was made writable for the next one. */
static void __init enter_what_runs(void)
{
	kpkeys_arrivals_expect();
	kpkeys_arrivals_begin();
	walk(begin_to_be_text);
	if (any_begun) {
		kpkeys_arrivals_search();
		walk(settle_text);
	}
	kpkeys_arrivals_end();
	kpkeys_arrivals_settle();
	walk(name_run);
}

static int __init run_text_only(void)
{
	if (!kpkeys_modules_are_entered())
		return 0;
	enter_what_runs();
	guard(kpkeys_hardened_pgtables)();
	kpkeys_state.only_text_runs = true;
	return 0;
}
late_initcall(run_text_only);

/* ---- they leave ---- */

static bool begin_to_leave(unsigned long pfn)
{
	return kpkeys_frame(pfn) == KPKEYS_FRAME_MODULE &&
	       kpkeys_arrivals_leave(pfn);
}

/* For something leads to a page that was to leave. */
static noinline __flatten void stay(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	if (kpkeys_change_frame_now(pfn, KPKEYS_FRAME_LEAVING, KPKEYS_FRAME_MODULE))
		kpkeys_state.arrivals.leaving--;
}

static noinline __flatten bool has_left(unsigned long pfn)
{
	if (kpkeys_frame(pfn) != KPKEYS_FRAME_LEAVING)
		return true;
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	if (!kpkeys_modules_may_leave() ||
	    !kpkeys_change_frame_now(pfn, KPKEYS_FRAME_LEAVING, KPKEYS_FRAME_ORDINARY))
		return false;
	kpkeys_state.arrivals.leaving--;
	return true;
}

/* Somebody else may key something at any time, and CPUs have to say so then. */
static void leave(unsigned long pfn)
{
	unsigned int tries;

	for (tries = 0; tries < TRIES && !has_left(pfn); tries++) {
		schedule_timeout_uninterruptible(1);
		kpkeys_flush();
	}
}

static bool begin_all(struct page **pages, unsigned int nr)
{
	bool begun = false;
	unsigned int i;

	for (i = 0; i < nr; i++)
		begun |= begin_to_leave(page_to_pfn(pages[i]));
	return begun;
}

static bool have_left(struct page **pages, unsigned int nr)
{
	bool left = true;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		leave(page_to_pfn(pages[i]));
		stay(page_to_pfn(pages[i]));
		left &= kpkeys_frame(page_to_pfn(pages[i])) < KPKEYS_FRAME_MODULE;
	}
	return left;
}

/* In audit mode: the answer that led here lay on the stack of an interrupt, maybe. */
static noinline __flatten void let_go(unsigned long pfn)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	if (kpkeys_state.mode != KPKEYS_AUDIT)
		return;
	kpkeys_change_frame_now(pfn, KPKEYS_FRAME_MODULE, KPKEYS_FRAME_ORDINARY);
}

bool __kpkeys_text_leaves(struct page **pages, unsigned int nr)
{
	bool left = true;
	unsigned int i;

	if (!kpkeys_modules_are_entered())
		return true;
	kpkeys_arrivals_expect();
	kpkeys_arrivals_begin();
	if (begin_all(pages, nr)) {
		kpkeys_arrivals_search();
		left = have_left(pages, nr);
	}
	kpkeys_arrivals_end();
	kpkeys_arrivals_settle();
	if (left || kpkeys_refuse("release", "text that is mapped", pages, NULL))
		return left;
	for (i = 0; i < nr; i++)
		let_go(page_to_pfn(pages[i]));
	return true;
}
