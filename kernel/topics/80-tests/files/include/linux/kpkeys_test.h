/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit tests of kernel protection keys. Each asks memory itself: a store to a
 * page-table page must fail where the gate is shut and work where it is open.
 * The violations this reports in the log are the tests' own.
 */
#ifndef _LINUX_KPKEYS_TEST_H
#define _LINUX_KPKEYS_TEST_H

#include <kunit/test.h>

#include <linux/bitfield.h>
#include <linux/kpkeys_arch.h>

#include <asm/sections.h>

struct kpkeys_check;
struct perf_event_attr;

#define KPKEYS_TEST_REQUIRES(test, condition)				\
do {									\
	if (!(condition))						\
		kunit_skip((test), "needs " #condition);		\
} while (0)

/* What an entry has that leads to a table. */
#ifdef CONFIG_X86
#define TABLE_BITS	_PAGE_TABLE
#else
#define TABLE_BITS	(PMD_TYPE_TABLE | PMD_TABLE_UXN)
#endif

/* What maps a page as one that has a key: with write protection read-only. */
#ifdef CONFIG_X86
#define KPKEYS_TEST_PKEY(pkey)	((u64)(pkey) << _PAGE_BIT_PKEY_BIT0)
#define KPKEYS_TEST_WRITABLE	(arch_kpkeys_has_keys() ? 0 : _PAGE_RW)
#else
#define KPKEYS_TEST_PKEY(pkey)	FIELD_PREP(PTE_PO_IDX_MASK, pkey)
#define KPKEYS_TEST_WRITABLE	0
#endif
#define kpkeys_test_prot(prot, pkey)					\
	__pgprot((pgprot_val(prot) & ~(u64)KPKEYS_TEST_WRITABLE) |	\
		 KPKEYS_TEST_PKEY(pkey))

/* Some text. */
#define KPKEYS_TEST_TEXT	((void *)_stext)

/* A page-table page of the running test's own. */
extern struct page *kpkeys_test_ptp;

int kpkeys_test_store(void);
int kpkeys_test_init(struct kunit *test);
void kpkeys_test_exit(struct kunit *test);
u8 kpkeys_test_set_frame(void *page, u8 value);
unsigned long kpkeys_test_enter_text(void);
int kpkeys_test_key(void *page, int pkey, bool alias);
struct page *kpkeys_test_retake(struct page *page, gfp_t gfp);
unsigned long kpkeys_test_writes(void);
unsigned long kpkeys_test_publishes(void);
unsigned long kpkeys_test_violations(void);
void kpkeys_test_remove_cpu(struct kunit *test, int cpu);
u64 *kpkeys_test_entry(const void *addr);
void kpkeys_test_plant(u64 *entry, u64 value);
pmd_t *kpkeys_test_new_pmds(struct kunit *test, pud_t *pud);
void kpkeys_test_free_pmds(pmd_t *table, pud_t *pud);
struct kpkeys_check *kpkeys_test_check_bare(struct kunit *test, void *page, int pkey);
void kpkeys_test_expect_report(struct kunit *test, const char *text, int (*access)(void));
void kpkeys_test_watch(struct perf_event_attr *attr, void *at);
void kpkeys_test_expect_clean(struct kunit *test);

#endif /* _LINUX_KPKEYS_TEST_H */
