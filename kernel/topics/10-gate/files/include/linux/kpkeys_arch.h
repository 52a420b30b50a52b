/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mm/kpkeys asks of an architecture that selects ARCH_HAS_KPKEYS, beyond
 * <asm/kpkeys.h>, and what it offers in return. Not for anybody else.
 */
#ifndef _LINUX_KPKEYS_ARCH_H
#define _LINUX_KPKEYS_ARCH_H

#include <linux/kpkeys.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/range.h>
#include <linux/string.h>

struct pt_regs;

/* Returns whether to go further down. */
typedef bool (*kpkeys_ptp_fn)(void *ptp, int level, const char *name, void *arg);

/* Which half of a top-level table to walk. */
#define KPKEYS_WALK_USER	1
#define KPKEYS_WALK_KERNEL	2
#define KPKEYS_WALK_ALL		3

/* Entries of a top-level table that are user space's. */
#ifndef ARCH_KPKEYS_USER_PGDS
#define ARCH_KPKEYS_USER_PGDS	(PTRS_PER_PGD / 2)
#endif

/* What the register has while user space runs, if not that of DEFAULT. It may read. */
#ifndef ARCH_KPKEYS_REG_USER
#define ARCH_KPKEYS_REG_USER	ARCH_KPKEYS_REG_DEFAULT
#endif

/* Do all mappings of a module's memory become read-only with it? */
#ifndef ARCH_KPKEYS_ALIASES_FOLLOW
#define ARCH_KPKEYS_ALIASES_FOLLOW	true
#endif

void kpkeys_walk_pgd(pgd_t *pgd, int halves, const char *name,
		     kpkeys_ptp_fn fn, void *arg);
void kpkeys_walk_entry(pgd_t *pgdp, const char *name, kpkeys_ptp_fn fn,
		       void *arg);
void kpkeys_mark_user_half(const pgd_t *pgd);
void kpkeys_mark_process(pgd_t *pgd);
int kpkeys_set_pkey(void *addr, unsigned int nr, int pkey, bool alias);
bool kpkeys_refuse(const char *what, const char *of, const void *at,
		   struct task_struct *task);
bool kpkeys_refuse_quietly(const char *what, const char *of, const void *at);
unsigned int kpkeys_level_below_root(void);
bool kpkeys_set_elsewhere(void *entry, u64 value);
bool kpkeys_clear_elsewhere(void *entry, u64 *old);

/**
 * struct kpkeys_leaf - the entry that maps a kernel address
 * @entry: where it is
 * @phys: what the address is mapped to
 * @size: of the page or block, in bytes
 * @pkey: its key; KPKEYS_PKEY_DEFAULT if it is one that protects nothing here
 * @constant: nobody writes by this mapping, nor runs what is there
 */
struct kpkeys_leaf {
	phys_addr_t	entry;
	phys_addr_t	phys;
	unsigned long	size;
	int		pkey;
	bool		constant;
};

/**
 * kpkeys_clear_words - memset() of zero, in a section, which calls nothing
 * @to: where
 * @size: bytes, a multiple of a word
 */
static __always_inline void kpkeys_clear_words(void *to, size_t size)
{
	unsigned long *word = to;

	for (; size; size -= sizeof(*word))
		WRITE_ONCE(*word++, 0);
}

/**
 * kpkeys_copy_words - memcpy(), likewise
 * @to: where
 * @from: what
 * @size: bytes, a multiple of a word
 */
static __always_inline void kpkeys_copy_words(void *to, const void *from, size_t size)
{
	const unsigned long *word = from;
	unsigned long *place = to;

	for (; size; size -= sizeof(*word))
		WRITE_ONCE(*place++, *word++);
}

#ifndef arch_kpkeys_clear_page
#define arch_kpkeys_clear_page(page)	kpkeys_clear_words(page, PAGE_SIZE)
#endif

/**
 * enum kpkeys_resume - how code goes on that an exception moved
 * @KPKEYS_RESUME_SAME: where it was: nothing may move it
 * @KPKEYS_RESUME_NEXT: behind the trap, otherwise as it was
 * @KPKEYS_RESUME_AS_IS: as the handler says
 */
enum kpkeys_resume {
	KPKEYS_RESUME_SAME,
	KPKEYS_RESUME_NEXT,
	KPKEYS_RESUME_AS_IS,
};

/* Pages of its own that each CPU has and that are state, beside what the gate remembers */
#ifdef ARCH_KPKEYS_CPU_PAGES
void *arch_kpkeys_cpu_page(unsigned int cpu, unsigned int nr);
#else
#define ARCH_KPKEYS_CPU_PAGES	0
static inline void *arch_kpkeys_cpu_page(unsigned int cpu, unsigned int nr)
{
	return NULL;
}
#endif

/* What the backend implements. Strings of options are for messages. */
const char *arch_kpkeys_cpu_finding(void);
extern const char arch_kpkeys_options[];
bool arch_kpkeys_option(const char *word);
const char *arch_kpkeys_unsupported(void);
const char *arch_kpkeys_backend(void);
bool arch_kpkeys_has_keys(void);
bool arch_kpkeys_leaf(unsigned long addr, struct kpkeys_leaf *leaf);
int arch_kpkeys_set_pkey(unsigned long addr, unsigned int nr, int pkey,
			 bool alias);
unsigned long arch_kpkeys_offset(void);
u64 arch_kpkeys_cpu_id(void);
void *arch_kpkeys_alias(void *addr);
struct range arch_kpkeys_image(void);
void arch_kpkeys_share_tables(void);
void arch_kpkeys_walk_extra(kpkeys_ptp_fn fn, void *arg);
void arch_kpkeys_walk_user_half(pgd_t *pgd, const char *name, kpkeys_ptp_fn fn,
				void *arg);
enum kpkeys_resume arch_kpkeys_resume(unsigned long from, unsigned long to);
bool arch_kpkeys_is_violation(unsigned long error_code, unsigned long address);
bool arch_kpkeys_is_write(unsigned long error_code);
bool arch_kpkeys_repeat(struct pt_regs *regs, unsigned long address, bool write);
bool arch_kpkeys_may_pass(struct pt_regs *regs, unsigned long address,
			  bool write);
unsigned long arch_kpkeys_step(struct pt_regs *regs);
void arch_kpkeys_step_done(struct pt_regs *regs, unsigned long flags);

/**
 * arch_kpkeys_addr_pkey - key of the mapping at a kernel address
 * @addr: any address
 *
 * Return: the key or -1 if nothing is mapped there.
 */
static inline int arch_kpkeys_addr_pkey(unsigned long addr)
{
	struct kpkeys_leaf leaf;

	return arch_kpkeys_leaf(addr, &leaf) ? leaf.pkey : -1;
}

/**
 * arch_kpkeys_mapping_size - size of the page that maps a kernel address
 * @addr: any address
 *
 * Return: bytes, or 0 if nothing is mapped there.
 */
static inline unsigned long arch_kpkeys_mapping_size(unsigned long addr)
{
	struct kpkeys_leaf leaf;

	return arch_kpkeys_leaf(addr, &leaf) ? leaf.size : 0;
}

/**
 * arch_kpkeys_phys - physical address behind a kernel address
 * @addr: any address
 *
 * Return: the address, or 0 if nothing is mapped there.
 */
static inline phys_addr_t arch_kpkeys_phys(unsigned long addr)
{
	struct kpkeys_leaf leaf;

	return arch_kpkeys_leaf(addr, &leaf) ? leaf.phys : 0;
}

#endif /* _LINUX_KPKEYS_ARCH_H */
