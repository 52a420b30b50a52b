// SPDX-License-Identifier: GPL-2.0-only
/* Writing to text where page tables are protected: a page in each section. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/errno.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_patching.h>
#include <linux/printk.h>

#include "text.h"

bool kpkeys_kernel_probes __ro_after_init;

static int __init probes_setup(char *arg)
{
	kpkeys_kernel_probes = kpkeys_parse_switch("kpkeys_kernel_probes", arg);
	return 0;
}
early_param("kpkeys_kernel_probes", probes_setup);

/**
 * kpkeys_check_probe - may somebody have the kernel's own text patched?
 *
 * What begins while the kernel starts could not be ended later, so it does not either.
 *
 * Return: 0, or -EOPNOTSUPP. He has not done anything bad, and so it is no
 * violation.
 */
int kpkeys_check_probe(void)
{
	if (!kpkeys_pgtables_enabled() || kpkeys_kernel_probes)
		return 0;
	pr_notice_ratelimited("no tracer of the kernel's text without kpkeys_kernel_probes=1\n");
	return -EOPNOTSUPP;
}

typedef enum kpkeys_patched patch_fn(unsigned long to, const void *from, unsigned long len,
				     bool same, bool ask);

/* In line: what a section is given may be changed until it has begun. */
static __always_inline enum kpkeys_patched
write_page(unsigned long to, const void *from, unsigned long len, bool same, bool ask,
	   bool own)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(to);
	kpkeys_reread(from);
	kpkeys_reread(len);
	kpkeys_reread(same);
	kpkeys_reread(ask);
	aim_at(to, from, len, same);
	return take_slot() ? leave_slot(write_text(own, ask)) : KPKEYS_PATCH_BUSY;
}

static noinline __flatten enum kpkeys_patched
write_copy(unsigned long to, const void *from, unsigned long len, bool same, bool ask)
{
	return write_page(to, from, len, same, ask, false);
}
NOKPROBE_SYMBOL(write_copy);

static noinline __flatten enum kpkeys_patched
write_any(unsigned long to, const void *from, unsigned long len, bool same, bool ask)
{
	return write_page(to, from, len, same, ask, kpkeys_allows_probes());
}
NOKPROBE_SYMBOL(write_any);

/* Whoever interrupts it might write, too, and wait for ever. */
static __always_inline bool write_one(patch_fn *write, unsigned long to, const void *from,
				      unsigned long len, bool same)
{
	enum kpkeys_patched done;
	bool ask = true;

	guard(irqsave)();
	do {
		done = write(to, from, len, same, ask);
	} while (is_to_repeat(done, &ask, (void *)to));
	return done == KPKEYS_PATCHED;
}

static __always_inline bool write_all(patch_fn *write, void *to, const void *from, size_t len,
				      bool same)
{
	size_t done = 0, nr;

	for (; done < len; done += nr) {
		nr = min(len - done, PAGE_SIZE - offset_in_page(to + done));
		if (!write_one(write, (unsigned long)to + done, from + (same ? 0 : done), nr, same))
			return false;
	}
	return true;
}

/**
 * kpkeys_copy_text - write compiled code, or text of a module
 * @to: its address
 * @from: what
 * @len: bytes
 * @same: the first instruction over and over
 *
 * Not the kernel's own text, whatever becomes of @to on the way.
 *
 * Return: false if it is refused.
 */
bool kpkeys_copy_text(void *to, const void *from, size_t len, bool same)
{
	return write_all(write_copy, to, from, len, same);
}
NOKPROBE_SYMBOL(kpkeys_copy_text);

/**
 * kpkeys_poke_text - write any text
 * @to: its address
 * @from: what
 * @len: bytes
 *
 * What ftrace, kprobes and others of root's have patched: the kernel's own text where
 * kpkeys_kernel_probes=1 allows it. Jump labels have a section of their own.
 *
 * Return: false if it is refused.
 */
bool kpkeys_poke_text(void *to, const void *from, size_t len)
{
	return write_all(write_any, to, from, len, false);
}
NOKPROBE_SYMBOL(kpkeys_poke_text);
