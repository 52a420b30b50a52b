// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker: every page-table page carries its key, every page of secrets
 * theirs, and nothing else does; the kernel image maps none of them without, and
 * the table of frames says the same of each, and which tables map the kernel.
 * Each entry leads to a linked table of the next level, and to each but the
 * shared ones leads one. None maps a keyed page without its key, nor a
 * read-only one writable, and the kernel runs text only. The registers of each CPU
 * protect, and each has reported what it refused.
 *
 * Runs with the machine stopped, so that what it counts is one moment.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/cpu.h>
#include <linux/hash.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_roots.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/nmi.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/stop_machine.h>

#include <asm/kpkeys_entries.h>

#include "addresses.h"
#include "internal.h"
#include "slots.h"
#include "check.h"

static void finding(struct kpkeys_check *check, const char *what,
		    unsigned long pfn, int level, const char *name)
{
	struct kpkeys_finding *f;

	if (check->nr_findings == KPKEYS_MAX_FINDINGS)
		return;
	f = &check->finding[check->nr_findings++];
	f->what = what;
	f->pfn = pfn;
	f->level = level;
	strscpy(f->name, name, sizeof(f->name));
}

static bool is_keyed(void *addr, int wanted)
{
	void *alias = arch_kpkeys_alias(addr);
	int pkey = wanted;

	if (arch_kpkeys_addr_pkey((unsigned long)addr) != wanted)
		return false;
	if (alias)
		pkey = arch_kpkeys_addr_pkey((unsigned long)alias);
	/* Parts of the image mapping are gone after boot. */
	return pkey == wanted || pkey < 0;
}

static bool check_table(void *ptp, int level, const char *name, void *arg)
{
	struct kpkeys_check *check = arg;
	void *addr = __va(__pa(ptp));

	check->ptp_total++;
	if (!is_keyed(addr, KPKEYS_PKEY_PGTABLES)) {
		check->ptp_unkeyed++;
		finding(check, "UNKEYED", __pa(ptp) >> PAGE_SHIFT, level, name);
	}
	if (kpkeys_table_level(PHYS_PFN(__pa(ptp))) != level) {
		check->mislinked++;
		finding(check, "LEVEL", PHYS_PFN(__pa(ptp)), level, name);
	}
	return true;
}

/* Its entries go on leading to what protects. */
static bool check_kernel_table(void *ptp, int level, const char *name, void *arg)
{
	struct kpkeys_check *check = arg;

	if (kpkeys_frame(PHYS_PFN(__pa(ptp))) == KPKEYS_FRAME_KERNEL_TABLE)
		return true;
	check->misentered++;
	finding(check, "KERNEL", PHYS_PFN(__pa(ptp)), level, name);
	return true;
}

static void check_root(struct kpkeys_check *check, struct mm_struct *mm,
		       const char *name)
{
	const struct kpkeys_root *root = __kpkeys_root_at(mm->kpkeys_root);

	if (root->mm == mm && root->pgd == mm->pgd)
		return;
	check->misrooted++;
	finding(check, "ROOT", PHYS_PFN(__pa(mm->pgd)), KPKEYS_LEVEL_PGD, name);
}

static void check_tasks(struct kpkeys_check *check)
{
	struct task_struct *p, *t;

	for_each_process(p) {
		/* The leader may be gone while other threads live. */
		for_each_thread(p, t) {
			if (!t->mm || (t->flags & PF_KTHREAD))
				continue;
			check_root(check, t->mm, t->comm);
			kpkeys_walk_user(t->mm->pgd, t->comm, check_table, check);
			break;
		}
		touch_nmi_watchdog();
	}
}

/* A page of the pool or of a live table is never free, slab or on an LRU. */
static bool is_free_or_listed(struct page *page)
{
	return !page_count(page) || PageLRU(page) || PageSlab(page) ||
	       PageBuddy(page);
}

static void check_page(struct kpkeys_check *check, unsigned long pfn, int pkey)
{
	if (pkey == KPKEYS_PKEY_STATE)
		check->state_keyed++;
	else
		check->keyed++;
	if (!kpkeys_frame_has_key(kpkeys_frame(pfn), pkey)) {
		check->misentered++;
		finding(check, "FRAME", pfn, 0, "page");
	}
	if (is_free_or_listed(pfn_to_page(pfn))) {
		check->foreign++;
		finding(check, "FOREIGN", pfn, 0, "page");
	}
}

/* Returns how many pages the entry that maps @pfn spans. */
static unsigned long check_entry(struct kpkeys_check *check, unsigned long pfn)
{
	unsigned long addr = (unsigned long)pfn_to_kaddr(pfn), end, nr;
	int pkey = arch_kpkeys_addr_pkey(addr);

	nr = arch_kpkeys_mapping_size(addr) >> PAGE_SHIFT;
	if (!nr || pkey < 0)
		return 1;
	end = ALIGN_DOWN(pfn, nr) + nr;
	if (pkey == KPKEYS_PKEY_DEFAULT)
		return end - pfn;
	for (nr = pfn; nr < end; nr++)
		if (pfn_valid(nr))
			check_page(check, nr, pkey);
	return end - pfn;
}

/*
 * Nodes' spans may overlap, so nodes are not gone through one by one. What is behind
 * the table of frames is a device's, at the end of all addresses maybe.
 */
static unsigned long end_of_memory(void)
{
	unsigned long end = 0;
	int nid;

	for_each_online_node(nid)
		end = max(end, node_end_pfn(nid));
	return kpkeys_frames.nr ? min(end, kpkeys_frames.nr * KPKEYS_FRAMES_PER_PAGE) : end;
}

static void check_memory(struct kpkeys_check *check)
{
	unsigned long pfn = 0, end = end_of_memory();

	while (pfn < end) {
		if (pfn_valid(pfn))
			pfn += check_entry(check, pfn);
		else
			pfn = ALIGN(pfn + 1, PAGES_PER_SUBSECTION);
		touch_nmi_watchdog();
	}
}

/* Folded levels lie between a top-level table and the next. */
static bool is_below(int level, int parent)
{
	return level && (level == parent - 1 ||
			 (level < parent && parent == KPKEYS_LEVEL_PGD));
}

static unsigned int bucket(unsigned long pfn)
{
	return hash_long(pfn, KPKEYS_CHECK_BITS);
}

static void check_link(struct kpkeys_check *check, unsigned long pfn, int parent)
{
	int level = kpkeys_table_level(pfn);

	if (kpkeys_table_links(pfn) == KPKEYS_LINK_ONE)
		check->left_over[bucket(pfn)] += pfn;
	if (is_below(level, parent))
		return;
	check->mislinked++;
	finding(check, "LINK", pfn, level, "page");
}

/* Does an entry of @table have the kernel run what is no text? */
static bool is_run(unsigned long table, u64 value, unsigned long pfn, unsigned long nr)
{
	return kpkeys_state.only_text_runs && arch_kpkeys_leaf_runs(value) &&
	       kpkeys_frame(table) == KPKEYS_FRAME_KERNEL_TABLE &&
	       !kpkeys_are_text(pfn, nr) && !kpkeys_is_still_written(pfn);
}

static void check_leaf(struct kpkeys_check *check, unsigned long table, const u64 *entry,
		       int level)
{
	u64 value = READ_ONCE(*entry);
	enum kpkeys_frame frame;
	unsigned long pfn, nr;

	if (!kpkeys_entry_leads_to(value, level, &pfn, &nr))
		return;
	if (is_run(table, value, pfn, nr)) {
		check->mismapped++;
		finding(check, "RUNS", pfn, level, kpkeys_frame_name(pfn));
	}
	if (kpkeys_spreads(entry, value, level) && !kpkeys_is_still_written(pfn)) {
		check->mismapped++;
		finding(check, "SPREADS", pfn, level, kpkeys_frame_name(pfn));
	}
	if (kpkeys_are_ordinary(pfn, nr))
		return;
	for (; nr--; pfn++) {
		frame = kpkeys_frame(pfn);
		if (frame == KPKEYS_FRAME_ORDINARY || frame == KPKEYS_FRAME_LEAVING ||
		    arch_kpkeys_leaf_fits(value, frame) || kpkeys_is_still_written(pfn))
			continue;
		check->mismapped++;
		finding(check, "LEAF", pfn, level, kpkeys_frame_name(pfn));
		return;
	}
}

static bool leads_to_table(u64 value, int level)
{
	return level > KPKEYS_LEVEL_PTE && kpkeys_leads_on(value);
}

/* What the other half says again is no other link. */
static void check_entries(struct kpkeys_check *check, unsigned long pfn)
{
	const u64 *entry = pfn_to_kaddr(pfn);
	int level = kpkeys_table_level(pfn), i;

	if (level && level < KPKEYS_LEVEL_PGD &&
	    kpkeys_table_links(pfn) == KPKEYS_LINK_ONE)
		check->left_over[bucket(pfn)] -= pfn;
	for (i = 0; i < PTRS_PER_PTE; i++) {
		if (!leads_to_table(entry[i], level))
			check_leaf(check, pfn, entry + i, level);
		else if (!kpkeys_is_shadow(entry + i))
			check_link(check, kpkeys_table_pfn(entry[i]), level);
	}
}

/* Memory may be far from the rest. */
static unsigned long next_frame(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;

	if (index < kpkeys_frames.nr && kpkeys_frames.page[index] == kpkeys_no_frames)
		return (index + 1) * KPKEYS_FRAMES_PER_PAGE;
	return pfn + 1;
}

/* Nothing is left of tables with one link. Of two in a bucket the name is wrong. */
static void find_left_over(struct kpkeys_check *check)
{
	long pfn;
	int i;

	for (i = 0; i < ARRAY_SIZE(check->left_over); i++) {
		pfn = check->left_over[i];
		if (!pfn)
			continue;
		check->mislinked++;
		finding(check, "LINKS", abs(pfn), kpkeys_table_level(abs(pfn)),
			pfn < 0 ? "no table" : "several");
	}
}

static void check_links(struct kpkeys_check *check)
{
	unsigned long pfn, end = end_of_memory();

	for (pfn = 0; pfn < end; pfn = next_frame(pfn)) {
		if (kpkeys_table_level(pfn))
			check_entries(check, pfn);
		if (!(pfn % KPKEYS_FRAMES_PER_PAGE))
			touch_nmi_watchdog();
	}
	find_left_over(check);
}

/* Memory of the page allocator may become a table at any time. */
static void check_image_page(struct kpkeys_check *check, unsigned long addr)
{
	unsigned long pfn = PHYS_PFN(arch_kpkeys_phys(addr));
	int pkey;

	if (!pfn_valid(pfn))
		return;
	pkey = arch_kpkeys_addr_pkey((unsigned long)pfn_to_kaddr(pfn));
	if (pkey > KPKEYS_PKEY_DEFAULT && arch_kpkeys_addr_pkey(addr) != pkey)
		finding(check, "ALIAS", pfn, 0, "kernel image");
	else if (!PageReserved(pfn_to_page(pfn)))
		finding(check, "FREED", pfn, 0, "kernel image");
	else
		return;
	check->aliased++;
}

static void check_image(struct kpkeys_check *check)
{
	struct range image = arch_kpkeys_image();
	unsigned long addr;

	for (addr = image.start; addr < image.end; addr += PAGE_SIZE)
		if (arch_kpkeys_addr_pkey(addr) >= 0)
			check_image_page(check, addr);
	touch_nmi_watchdog();
}

/**
 * kpkeys_check_cpu - do this CPU's registers protect page tables?
 *
 * Return: NULL, or the register that does not.
 */
const char *kpkeys_check_cpu(void)
{
	if (arch_kpkeys_read_reg() != ARCH_KPKEYS_REG_DEFAULT)
		return "REGISTER";
	return arch_kpkeys_cpu_finding();
}

static void judge_cpu(struct kpkeys_check *check, unsigned int cpu)
{
	const struct kpkeys_cpu *each = per_cpu_ptr(&kpkeys_cpu, cpu);
	const char *what = check->register_of[cpu];

	if (READ_ONCE(each->in_use) && !cpumask_test_cpu(cpu, &check->cpus))
		what = "ABSENT";
	if (what) {
		check->unruly++;
		finding(check, what, cpu, 0, "CPU");
	}
	if (READ_ONCE(each->refused)) {
		check->unreported++;
		finding(check, "REFUSED", cpu, 0, "CPU");
	}
}

static void check_all(struct kpkeys_check *check)
{
	check->lost = kpkeys_state.lost_pages;
	kpkeys_walk_kernel(check_table, check);
	kpkeys_walk_pgd(lm_alias(init_mm.pgd), KPKEYS_WALK_ALL, "kernel",
			check_kernel_table, check);
	check_tasks(check);
	check_memory(check);
	check_links(check);
	check_image(check);
	check->pool_free = kpkeys_pool_nr_free();
	check->pool_used = kpkeys_pool_nr_used();
	check->headers = kpkeys_state.nr_regions;
	check->boot = kpkeys_state.boot_pages - kpkeys_depot_nr_orphans();
	check->state = kpkeys_state.state_pages;
}

/* On each CPU at once. */
static int check_stopped(void *arg)
{
	struct kpkeys_check *check = arg;
	unsigned int cpu = smp_processor_id();

	check->register_of[cpu] = kpkeys_check_cpu();
	cpumask_set_cpu(cpu, &check->cpus);
	if (cpu == cpumask_first(cpu_online_mask))
		check_all(check);
	return 0;
}

/**
 * kpkeys_check - run the checker
 * @check: filled in; large, not for the stack
 */
void kpkeys_check(struct kpkeys_check *check)
{
	unsigned int cpu;

	memset(check, 0, sizeof(*check));
	/* In the order in which CPUs come up; a new one forks. */
	cpus_read_lock();
	get_online_mems();
	stop_machine_cpuslocked(check_stopped, check, cpu_online_mask);
	for_each_possible_cpu(cpu)
		judge_cpu(check, cpu);
	put_online_mems();
	cpus_read_unlock();
	check->ok = !check->ptp_unkeyed && !check->foreign && !check->aliased &&
		    !check->misentered && !check->misrooted &&
		    !check->mislinked && !check->mismapped &&
		    !check->unruly && !check->unreported &&
		    check->keyed == kpkeys_check_expected(check) &&
		    check->state_keyed == check->state;
}
