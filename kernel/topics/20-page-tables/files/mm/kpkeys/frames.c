// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of frames: one byte for each, in pages of the pool. What has a key
 * is entered when its mapping in the direct map gets the key, and leaves
 * before the key is taken back.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_ptp.h>
#include <linux/kpkeys_taken.h>
#include <linux/memblock.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include <asm/kpkeys_entries.h>

#include "addresses.h"
#include "internal.h"
#include "slots.h"
#include "tables.h"

/* Memory may be plugged in behind what is there. */
#define LEAST_SPAN	(1UL << (38 - PAGE_SHIFT))

struct kpkeys_frames kpkeys_frames __ro_after_init;

/* Where there is no memory. */
u8 *kpkeys_no_frames __ro_after_init;

/* ---- what frames are ---- */

/* What is entered stays what it is: where this is may have been a lie. */
static noinline __flatten void enter_run(unsigned long pfn, unsigned long nr, u8 frame)
{
	unsigned long index, first;
	u8 *frames;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	kpkeys_reread(nr);
	/* Nor text, nor a table that somebody could link: how it is linked is not said here. */
	kpkeys_reread(frame);
	if (frame != (KPKEYS_FRAME_STATE | KPKEYS_FRAME_NEW) &&
	    frame != (KPKEYS_FRAME_SECRET | KPKEYS_FRAME_NEW))
		frame &= KPKEYS_FRAME_KIND;
	index = pfn / KPKEYS_FRAMES_PER_PAGE;
	first = pfn % KPKEYS_FRAMES_PER_PAGE;
	if (index >= kpkeys_frames.nr || kpkeys_frames.page[index] == kpkeys_no_frames ||
	    nr > KPKEYS_FRAMES_PER_PAGE - first || kpkeys_frame_is_constant(frame))
		return;
	for (frames = kpkeys_frames.page[index] + first; nr; nr--, frames++)
		if (*frames == KPKEYS_FRAME_ORDINARY)
			*frames = frame;
}

static void set_frames(unsigned long pfn, unsigned long nr, u8 frame)
{
	unsigned long run;

	for (; nr; nr -= run, pfn += run) {
		run = KPKEYS_FRAMES_PER_PAGE - pfn % KPKEYS_FRAMES_PER_PAGE;
		run = min(nr, run);
		enter_run(pfn, run, frame);
	}
}

/* For those alone who do it before there is a process. */
static noinline __flatten void enter_readonly(unsigned long pfn)
{
	u8 *frame;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	frame = frame_at(pfn);
	if (frame && *frame == KPKEYS_FRAME_ORDINARY)
		*frame = KPKEYS_FRAME_READONLY;
}

/**
 * kpkeys_frames_sync - enter pages as what their keys say they are
 * @addr: in a kernel mapping
 * @nr: number of pages
 * @are_new: and that nobody uses them yet
 */
void kpkeys_frames_sync(void *addr, unsigned long nr, bool are_new)
{
	unsigned long start = (unsigned long)addr, run;
	struct kpkeys_leaf leaf;

	for (; nr && kpkeys_frames.nr; nr -= run, start += run * PAGE_SIZE) {
		run = 1;
		if (!arch_kpkeys_leaf(start, &leaf))
			continue;
		run = (leaf.size - (start & (leaf.size - 1))) / PAGE_SIZE;
		run = min(nr, run);
		set_frames(PHYS_PFN(leaf.phys), run, are_new ?
			   kpkeys_new_frame(leaf.pkey) : kpkeys_frame_of_key(leaf.pkey));
	}
}

/* In audit mode: the answer that led here lay on the stack of an interrupt, maybe. */
static noinline __flatten void forget(unsigned long pfn)
{
	u8 *frame;

	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(pfn);
	frame = frame_at(pfn);
	if (frame && kpkeys_state.mode == KPKEYS_AUDIT)
		*frame = KPKEYS_FRAME_ORDINARY;
}

static bool leave(void *addr)
{
	phys_addr_t phys = arch_kpkeys_phys((unsigned long)addr);
	unsigned long pfn;

	if (!phys || kpkeys_table_leave(PHYS_PFN(phys)))
		return true;
	pfn = PHYS_PFN(phys);
	if (kpkeys_refuse("release", kpkeys_frame(pfn) == KPKEYS_FRAME_TABLE ?
			  "a page table in use" : kpkeys_frame_name(pfn), addr, NULL))
		return false;
	forget(PHYS_PFN(phys));
	return true;
}

/**
 * kpkeys_frames_leave - pages are about to lose their keys
 * @addr: in a kernel mapping
 * @nr: number of pages
 *
 * Reports it if one of them is in use, or no page of the pool, whatever led here.
 *
 * Return: false if they must keep them.
 */
bool kpkeys_frames_leave(void *addr, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr && kpkeys_frames.nr; i++) {
		if (leave(addr + i * PAGE_SIZE))
			continue;
		kpkeys_frames_sync(addr, i, false);
		return false;
	}
	return true;
}

/**
 * kpkeys_frames_table - enter a page that becomes a table before it has its key
 * @page: in the direct map
 */
void kpkeys_frames_table(void *page)
{
	set_frames(PHYS_PFN(__pa(page)), 1, KPKEYS_FRAME_TABLE);
	guard(kpkeys_hardened_pgtables)();
	kpkeys_table_take(page);
}

/**
 * kpkeys_pages_readonly - enter what is as good as the kernel's text
 * @addr: in the direct map, page-aligned
 * @nr: pages
 *
 * Page tables that lie in there stay what they are.
 */
void kpkeys_pages_readonly(void *addr, unsigned int nr)
{
	unsigned long pfn = PHYS_PFN(__pa(addr));

	for (; kpkeys_pgtables_enabled() && nr; nr--, pfn++)
		enter_readonly(pfn);
}

/**
 * kpkeys_frames_readonly - enter text or read-only data of the kernel
 * @start: in the kernel image's mapping, page-aligned
 * @end: page-aligned
 */
void kpkeys_frames_readonly(void *start, void *end)
{
	kpkeys_pages_readonly(lm_alias(start), (end - start) / PAGE_SIZE);
}

/* ---- refusals ---- */

static const char * const frame_names[] = {
	[KPKEYS_FRAME_STATE]	= "gate state",
	[KPKEYS_FRAME_TABLE]	= "a page table",
	[KPKEYS_FRAME_ORDINARY]	= "an ordinary page",
	[KPKEYS_FRAME_SECRET]	= "a secret",
	[KPKEYS_FRAME_READONLY]	= "a read-only page",
	[KPKEYS_FRAME_MODULE]	= "a read-only page of a module",
	[KPKEYS_FRAME_LEAVING]	= "a page that a module had",
	[KPKEYS_FRAME_KERNEL_TABLE] = "a page table of the kernel",
};

/**
 * kpkeys_frame_name - what a page frame is, for messages
 * @pfn: any number
 */
const char *kpkeys_frame_name(unsigned long pfn)
{
	return frame_names[kpkeys_frame(pfn)];
}

static void print_refusal(const struct kpkeys_refusal *r)
{
	if (kpkeys_may_print())
		pr_err("violation: %s of %s at %p by %s[%d] (%s)\n",
		       r->what, r->of, r->at, r->task->comm,
		       task_pid_nr(r->task),
		       kpkeys_mode_names[kpkeys_state.mode]);
}

static bool take_refusal(struct kpkeys_refusal *r)
{
	guard(irqsave)();
	if (!raw_cpu_read(kpkeys_cpu.refused))
		return false;
	r->what = raw_cpu_read(kpkeys_cpu.refusal.what);
	r->of = raw_cpu_read(kpkeys_cpu.refusal.of);
	r->at = raw_cpu_read(kpkeys_cpu.refusal.at);
	r->task = raw_cpu_read(kpkeys_cpu.refusal.task);
	r->is_task = raw_cpu_read(kpkeys_cpu.refusal.is_task);
	guard(kpkeys_hardened_pgtables)();
	raw_cpu_write(kpkeys_cpu.refused, false);
	return true;
}

/**
 * kpkeys_finish_refusal - report what this CPU refused, if it has not yet
 *
 * And kill who asked for it. With the gate shut.
 */
void kpkeys_finish_refusal(void)
{
	struct kpkeys_refusal r;

	if (!take_refusal(&r))
		return;
	if (kpkeys_state.mode != KPKEYS_AUDIT && r.is_task &&
	    !(r.task->flags & PF_KTHREAD))
		send_sig(SIGKILL, r.task, 1);
	add_taint(TAINT_WARN, LOCKDEP_STILL_OK);
	print_refusal(&r);
	put_task_struct(r.task);
	kpkeys_reported();
}

/* From an interrupt: the gate may be open, and locks held, where it happens. */
static void finish_soon(struct irq_work *work)
{
	kpkeys_finish_refusal();
}

/* Who forges it finds the refusal dealt with on the way to user space. */
DEFINE_PER_CPU(struct irq_work, kpkeys_refusal_work) =
	IRQ_WORK_INIT(finish_soon);

/* By pointers from ordinary memory: not with the gate open. */
static struct task_struct *hold(struct task_struct *task)
{
	unsigned long slot;

	kpkeys_softirq_enter(&slot);
	task = get_task_struct(task ?: current);
	kpkeys_softirq_exit(&slot);
	return task;
}

static void finish_by_interrupt(void)
{
	unsigned long slot;

	kpkeys_softirq_enter(&slot);
	irq_work_queue(this_cpu_ptr(&kpkeys_refusal_work));
	kpkeys_softirq_exit(&slot);
}

static void note_refusal(const char *what, const char *of, const void *at,
			 struct task_struct *task, bool is_task)
{
	guard(irqsave)();
	raw_cpu_inc(kpkeys_counters.violations);
	scoped_guard(kpkeys_hardened_pgtables)
		raw_cpu_inc(kpkeys_cpu.nr_refused);
	if (raw_cpu_read(kpkeys_cpu.refused))
		return;
	task = hold(task);
	scoped_guard(kpkeys_hardened_pgtables) {
		raw_cpu_write(kpkeys_cpu.refusal.what, what);
		raw_cpu_write(kpkeys_cpu.refusal.of, of);
		raw_cpu_write(kpkeys_cpu.refusal.at, at);
		raw_cpu_write(kpkeys_cpu.refusal.task, task);
		raw_cpu_write(kpkeys_cpu.refusal.is_task, is_task);
		raw_cpu_write(kpkeys_cpu.refused, true);
	}
	finish_by_interrupt();
}

/**
 * kpkeys_refuse - report what is not to be done
 * @what: was to be done
 * @of: to what
 * @at: address of it
 * @task: who has the kernel do this, and goes; NULL for the current one
 *
 * Return: true if it must not be done, in audit mode never.
 */
bool kpkeys_refuse(const char *what, const char *of, const void *at,
		   struct task_struct *task)
{
	note_refusal(what, of, at, task, task || in_task());
	return kpkeys_state.mode != KPKEYS_AUDIT;
}

/**
 * kpkeys_refuse_quietly - the same where the current task is not to blame
 * @what: was to be done
 * @of: to what
 * @at: address of it
 *
 * Return: true if it must not be done, in audit mode never.
 */
bool kpkeys_refuse_quietly(const char *what, const char *of, const void *at)
{
	note_refusal(what, of, at, NULL, false);
	return kpkeys_state.mode != KPKEYS_AUDIT;
}

/* The entry stays as it is. */
static bool refuse(const char *what, unsigned long pfn)
{
	return kpkeys_refuse(what, kpkeys_frame_name(pfn), pfn_to_kaddr(pfn),
			     NULL);
}

/* A table of the kernel is entered before it has its key. */
static bool refuse_key(unsigned long pfn, unsigned long nr, int pkey)
{
	enum kpkeys_frame frame;

	for (; nr--; pfn++) {
		frame = kpkeys_frame(pfn);
		if (frame != KPKEYS_FRAME_ORDINARY &&
		    !(kpkeys_frame_is_table(frame) && pkey == KPKEYS_PKEY_PGTABLES))
			return kpkeys_refuse("new key", kpkeys_frame_name(pfn),
					     pfn_to_kaddr(pfn), NULL);
	}
	return false;
}

/**
 * kpkeys_frames_refuse_key - may pages not get a key, since they are not ordinary?
 * @addr: in a kernel mapping
 * @nr: number of pages
 * @pkey: KPKEYS_PKEY_*
 *
 * Reports it if so.
 *
 * Return: true if they must stay as they are, in audit mode never.
 */
bool kpkeys_frames_refuse_key(void *addr, unsigned long nr, int pkey)
{
	unsigned long start = (unsigned long)addr, run;
	struct kpkeys_leaf leaf;

	for (; nr && kpkeys_frames.nr; nr -= run, start += run * PAGE_SIZE) {
		run = 1;
		if (!arch_kpkeys_leaf(start, &leaf))
			continue;
		run = (leaf.size - (start & (leaf.size - 1))) / PAGE_SIZE;
		run = min(nr, run);
		if (!kpkeys_are_ordinary(PHYS_PFN(leaf.phys), run) &&
		    refuse_key(PHYS_PFN(leaf.phys), run, pkey))
			return true;
	}
	return false;
}

static noinline bool refuse_loss(const void *entry, unsigned long table, u64 value)
{
	return kpkeys_slot_loses(entry, table, value) &&
	       kpkeys_refuse("change of a mapping", "protected memory", entry, NULL);
}

/* EFI's mm, whose code the kernel runs, has its entries before there is a process. */
bool kpkeys_processes_run __ro_after_init;

static int __init let_processes_run(void)
{
	kpkeys_processes_run = true;
	return 0;
}
late_initcall(let_processes_run);

static bool refuse_bits(const void *entry, unsigned long table, u64 value)
{
	return is_foreign(table, value) &&
	       kpkeys_refuse("mapping", "a page for others than it is for", entry, NULL);
}

static bool refuse_run(const void *entry, unsigned long table, u64 value)
{
	return kpkeys_runs_anew(entry, table, value) &&
	       kpkeys_refuse("mapping", "a page to be run that is no text", entry, NULL);
}

static bool refuse_spread(const void *entry, unsigned long table, u64 value)
{
	return kpkeys_spreads(entry, value, kpkeys_level_to_search(table)) &&
	       kpkeys_refuse("mapping", "a contiguous run that is not all of its kind", entry,
			     NULL);
}

static bool refuse_keyed(const void *entry, unsigned long table, u64 value)
{
	return kpkeys_maps_anew(entry, table, value) &&
	       kpkeys_refuse("mapping", "protected memory at another address", entry, NULL);
}

/**
 * kpkeys_refuse_leaf - may an entry of a page or a huge page not be written?
 * @entry: where
 * @value: what
 * @pfn: the first frame it maps, or a number that there is not
 * @nr: how many
 *
 * Reports it if so. An entry that is in no keyed table, but on a stack or in
 * what kexec prepares, may map anything: no CPU walks it. So may all until
 * kpkeys_frames_init() is done.
 *
 * Return: true if it must not be written, in audit mode never.
 */
bool kpkeys_refuse_leaf(const void *entry, u64 value, unsigned long pfn,
			unsigned long nr)
{
	unsigned long table = kpkeys_entry_pfn(entry);

	if (!kpkeys_frame_is_table(kpkeys_frame(table)))
		return false;
	if (refuse_loss(entry, table, value) ||
	    refuse_bits(entry, table, value) ||
	    refuse_run(entry, table, value) ||
	    refuse_spread(entry, table, value))
		return true;
	if (kpkeys_are_ordinary(pfn, nr))
		return false;
	if (refuse_keyed(entry, table, value))
		return true;
	for (; nr--; pfn++)
		if (!kpkeys_may_map(value, kpkeys_frame(pfn)))
			return refuse("mapping", pfn);
	return false;
}

/* ---- the table itself ---- */

static __always_inline void fill(u8 *page)
{
	u32 *word = (u32 *)page;

	do {
		WRITE_ONCE(*word, ORDINARY_FRAMES);
	} while (offset_in_page(++word));
}

/* Kept and entered at once: which page it is, and where, is on a stack until then. */
static noinline __flatten bool enter_frames(unsigned long index, u8 *page)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(index);
	kpkeys_reread(page);
	if (index >= kpkeys_frames.nr || kpkeys_frames.page[index] != kpkeys_no_frames ||
	    !kpkeys_table_keep_new(page))
		return false;
	fill(page);
	WRITE_ONCE(kpkeys_frames.page[index], page);
	return true;
}

/**
 * kpkeys_frames_add - have room for page frames in the table
 * @pfn: the first one
 * @end: behind the last one
 *
 * Return: 0, or -ERANGE where there is never room, or -ENOMEM.
 */
int kpkeys_frames_add(unsigned long pfn, unsigned long end)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;
	u8 *page;

	for (; index * KPKEYS_FRAMES_PER_PAGE < end; index++) {
		if (index >= kpkeys_frames.nr)
			return -ERANGE;
		if (kpkeys_frames.page[index] != kpkeys_no_frames)
			continue;
		page = ptp_alloc(GFP_KERNEL, 0);
		if (!page || !enter_frames(index, page))
			return -ENOMEM;
	}
	return 0;
}

static int memory_comes(struct notifier_block *nb, unsigned long action,
			void *data)
{
	struct memory_notify *memory = data;
	unsigned long pfn = memory->start_pfn;
	int ret;

	if (action != MEM_GOING_ONLINE)
		return NOTIFY_OK;
	ret = kpkeys_frames_add(pfn, pfn + memory->nr_pages);
	if (ret)
		pr_err("memory at %#llx stays offline: %s\n", PFN_PHYS(pfn),
		       ret == -ERANGE ? "it is behind the table of frames" :
					"no memory for its frames");
	return notifier_from_errno(ret);
}

static int __init frames_hotplug_init(void)
{
	if (kpkeys_frames.nr)
		hotplug_memory_notifier(memory_comes, DEFAULT_CALLBACK_PRI);
	return 0;
}
core_initcall(frames_hotplug_init);

static __flatten void __init fill_no_frames(void)
{
	guard(kpkeys_hardened_pgtables)();
	fill(kpkeys_no_frames);
}

static void __init make_root(void)
{
	unsigned long span = max3(max_pfn, max_possible_pfn, LEAST_SPAN), i;
	unsigned long nr = DIV_ROUND_UP(span, KPKEYS_FRAMES_PER_PAGE);
	size_t size = PAGE_ALIGN(nr * sizeof(u8 *));

	kpkeys_no_frames = ptp_alloc(GFP_KERNEL, 0);
	kpkeys_frames.page = alloc_pages_exact(size, GFP_KERNEL);
	if (!kpkeys_no_frames || !kpkeys_table_keep(kpkeys_no_frames) ||
	    !kpkeys_frames.page)
		panic("kpkeys: no memory for the table of frames");
	fill_no_frames();
	for (i = 0; i < size / sizeof(u8 *); i++)
		kpkeys_frames.page[i] = kpkeys_no_frames;
	kpkeys_frames.nr = nr;
	kpkeys_key_static(kpkeys_frames.page, size, KPKEYS_PKEY_STATE,
			  &kpkeys_state.state_pages);
}

/* Those that were taken when there was no table. */
static void __init keep_pages(void)
{
	unsigned long i;

	kpkeys_table_keep(kpkeys_no_frames);
	for (i = 0; i < kpkeys_frames.nr; i++)
		if (kpkeys_frames.page[i] != kpkeys_no_frames)
			kpkeys_table_keep(kpkeys_frames.page[i]);
	kpkeys_depot_keep();
	kpkeys_roots_keep();
}

/**
 * kpkeys_frames_init - make the table, and enter what is keyed already
 *
 * On the boot CPU, when no other runs; in force after kpkeys_flush().
 */
void __init kpkeys_frames_init(void)
{
	unsigned long start, end;
	int i;

	make_root();
	for_each_mem_pfn_range(i, MAX_NUMNODES, &start, &end, NULL)
		if (kpkeys_frames_add(start, end))
			panic("kpkeys: no memory for the table of frames");
	for_each_mem_pfn_range(i, MAX_NUMNODES, &start, &end, NULL)
		kpkeys_frames_sync(pfn_to_kaddr(start), end - start, false);
	kpkeys_links_init();
	keep_pages();
}
