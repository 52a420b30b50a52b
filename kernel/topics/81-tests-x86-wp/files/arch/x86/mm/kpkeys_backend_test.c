// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: which backend is chosen, and what only write protection does. */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/pgtable.h>
#include <linux/set_memory.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/cpufeature.h>
#include <asm/kpkeys_mm.h>

#include <linux/kpkeys_ptp.h>
#include <linux/kpkeys_test.h>
#include "kpkeys.h"

struct choice {
	enum kpkeys_backend	asked;
	struct kpkeys_machine	machine;
	enum kpkeys_backend	chosen;
	const char		*reason;	/* a word of it */
};

static const struct choice choices[] = {
	{ KPKEYS_AUTO, { .pks = true }, KPKEYS_PKS },
	{ KPKEYS_AUTO, { .pks = true, .cet = true }, KPKEYS_PKS },
	{ KPKEYS_AUTO, { }, KPKEYS_WP },
	{ KPKEYS_AUTO, { .cet = true }, KPKEYS_AUTO, "no PKS, and control-flow" },
	{ KPKEYS_AUTO, { .xen_pv = true, .pks = true }, KPKEYS_AUTO, "Xen PV" },
	{ KPKEYS_PKS, { .pks = true, .cet = true }, KPKEYS_PKS },
	{ KPKEYS_PKS, { }, KPKEYS_AUTO, "no protection keys" },
	{ KPKEYS_WP, { .pks = true }, KPKEYS_WP },
	{ KPKEYS_WP, { }, KPKEYS_WP },
	{ KPKEYS_WP, { .pks = true, .cet = true }, KPKEYS_AUTO, "use kpkeys=pks" },
	{ KPKEYS_WP, { .cet = true }, KPKEYS_AUTO, "clearcpuid=shstk" },
	{ KPKEYS_WP, { .xen_pv = true }, KPKEYS_AUTO, "Xen PV" },
};

static void describe_choice(const struct choice *c, char *text)
{
	snprintf(text, KUNIT_PARAM_DESC_SIZE, "asked %d, xen_pv %d, pks %d, cet %d",
		 c->asked, c->machine.xen_pv, c->machine.pks, c->machine.cet);
}
KUNIT_ARRAY_PARAM(choice, choices, describe_choice);

static void test_choice(struct kunit *test)
{
	const struct choice *c = test->param_value;
	const char *reason;

	KUNIT_EXPECT_EQ(test, c->chosen,
			kpkeys_decide(c->asked, &c->machine, &reason));
	KUNIT_EXPECT_EQ(test, !c->reason, !reason);
	if (c->reason && reason)
		KUNIT_EXPECT_NOT_NULL(test, strstr(reason, c->reason));
}

static kpkeys_reg_t seen;

static int look(pte_t *pte, unsigned long addr, void *data)
{
	seen = arch_kpkeys_read_reg();
	return 0;
}

/* A section opens text as well: no callback runs in one. */
static void test_callbacks_run_shut(struct kunit *test)
{
	void *area;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_KPKEYS_WP));
	area = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	seen = ~0;
	apply_to_page_range(&init_mm, (unsigned long)area, PAGE_SIZE, look, NULL);
	vfree(area);
	KUNIT_EXPECT_EQ(test, seen, (kpkeys_reg_t)ARCH_KPKEYS_REG_DEFAULT);
}

static u64 *new_table(pmd_t *pmdp)
{
	void *table = ptp_alloc(GFP_KERNEL, 0);

	if (table)
		set_pmd(pmdp, __pmd(_PAGE_TABLE | __pa(table)));
	return table;
}

static void free_table(pmd_t *pmdp, u64 *table)
{
	pmd_clear(pmdp);
	ptp_free(table, 0);
}

/* Where the kernel copies entries to may come from data that anybody can write. */
static void test_copy_writes_tables_only(struct kunit *test)
{
	pmd_t *parent = page_address(kpkeys_test_ptp);
	u64 *from = new_table(parent), *to = new_table(parent + 1);
	u64 *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	unsigned long *state = &per_cpu_ptr(&kpkeys_cpu, 0)->audit_flags;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_NOT_NULL(test, from);
	KUNIT_ASSERT_NOT_NULL(test, to);
	set_pte((pte_t *)from, __pte(16));
	set_pte((pte_t *)from + 1, __pte(32));
	kpkeys_test_set_frame(from, KPKEYS_KERNEL_TABLE(KPKEYS_LEVEL_PTE,
							KPKEYS_LINK_ONE));
	kpkeys_copy_entries(page, from, 2);
	KUNIT_EXPECT_EQ(test, page[0], 0);
	kpkeys_copy_entries(state, from, 1);
	KUNIT_EXPECT_NE(test, *state, 16);
	kpkeys_copy_entries(to + 511, from, 2);
	KUNIT_EXPECT_EQ(test, to[511], 0);
	kpkeys_copy_entries(parent + 2, from, 1);
	KUNIT_EXPECT_TRUE(test, pmd_none(parent[2]));
	free_table(parent, from);
	free_table(parent + 1, to);
}

static void clear_raw(pgd_t *entry)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*entry, __pgd(0));
}

/* There a copy is at another address. */
static bool copies_below(void)
{
	u64 *table = (u64 *)pgd_page_vaddr(init_mm.pgd[pgd_index(VMALLOC_START)]);
	u64 *used = table, *empty = table;

	while (!*used)
		used++;
	while (*empty)
		empty++;
	kpkeys_copy_entries(empty, used, 1);
	return *empty;
}

/* An mm of the kernel's half alone, as if some of it were new. */
static void test_copy_keeps_the_place(struct kunit *test)
{
	unsigned int nr = pgd_index(PAGE_OFFSET);
	struct mm_struct *mm = mm_alloc();
	pgd_t *from = init_mm.pgd, *to;

	/* With isolation the last copies come behind KUnit. */
	KPKEYS_TEST_REQUIRES(test, !kpkeys_top_has_twin());
	KUNIT_ASSERT_NOT_NULL(test, mm);
	to = mm->pgd;
	clear_raw(to + nr);
	/* That of the image: addresses of vmalloc may share an entry with the direct map. */
	kpkeys_copy_entries(to + nr, from + pgd_index(__START_KERNEL_map), 1);
	KUNIT_EXPECT_TRUE(test, pgd_none(to[nr]));
	/* A table of a process is nothing to copy from. */
	kpkeys_copy_entries(from + nr, to + nr, 1);
	KUNIT_EXPECT_FALSE(test, pgd_none(from[nr]));
	KUNIT_EXPECT_FALSE(test, copies_below());
	kpkeys_copy_entries(to + nr, from + nr, 1);
	KUNIT_EXPECT_EQ(test, pgd_val(to[nr]), pgd_val(from[nr]));
	mmdrop(mm);
}

static int label(pte_t *pte, unsigned long addr, void *data)
{
	pteval_t key = (pteval_t)KPKEYS_PKEY_PGTABLES << _PAGE_BIT_PKEY_BIT0;

	set_pte(pte, __pte(pte_val(*pte) | key));
	return 0;
}

/* Without the read-only bit a key is but a label. */
static void test_writable_is_unkeyed(struct kunit *test)
{
	void *area;

	KPKEYS_TEST_REQUIRES(test, boot_cpu_has(X86_FEATURE_KPKEYS_WP));
	area = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, area);
	apply_to_page_range(&init_mm, (unsigned long)area, PAGE_SIZE, label, NULL);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)area),
			KPKEYS_PKEY_DEFAULT);
	set_memory_ro((unsigned long)area, 1);
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey((unsigned long)area),
			KPKEYS_PKEY_PGTABLES);
	set_memory_rw((unsigned long)area, 1);
	vfree(area);
}

static struct kunit_case backend_cases[] = {
	KUNIT_CASE(test_callbacks_run_shut),
	KUNIT_CASE(test_copy_writes_tables_only),
	KUNIT_CASE(test_copy_keeps_the_place),
	KUNIT_CASE(test_writable_is_unkeyed),
	{}
};

static struct kunit_suite backend_suite = {
	.name = "kpkeys-backend",
	.init = kpkeys_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = backend_cases,
};

static struct kunit_case choice_cases[] = {
	KUNIT_CASE_PARAM(test_choice, choice_gen_params),
	{}
};

static struct kunit_suite choice_suite = {
	.name = "kpkeys-choice",
	.test_cases = choice_cases,
};

kunit_test_suites(&backend_suite, &choice_suite);
