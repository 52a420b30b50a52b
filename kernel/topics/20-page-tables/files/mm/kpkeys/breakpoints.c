// SPDX-License-Identifier: GPL-2.0-only
/* Breakpoints at addresses of the kernel: who may have them, and who is told. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_breakpoints.h>
#include <linux/printk.h>

#include "internal.h"

bool kpkeys_kernel_breakpoints __ro_after_init;

static int __init breakpoints_setup(char *arg)
{
	kpkeys_kernel_breakpoints = kpkeys_parse_switch("kpkeys_kernel_breakpoints", arg);
	return 0;
}
early_param("kpkeys_kernel_breakpoints", breakpoints_setup);

/**
 * kpkeys_breaks_in_kernel - may a breakpoint be at an address of the kernel?
 *
 * Who writes a register of breakpoints asks this where nothing can come between
 * the answer and the write.
 */
bool kpkeys_breaks_in_kernel(void)
{
	return !kpkeys_pgtables_enabled() || kpkeys_allows_breakpoints();
}
NOKPROBE_SYMBOL(kpkeys_breaks_in_kernel);

/**
 * kpkeys_check_breakpoint - may somebody ask for a breakpoint in the kernel?
 *
 * Return: 0, or -EOPNOTSUPP. He has not done anything bad, and so it is no
 * violation.
 */
int kpkeys_check_breakpoint(void)
{
	if (kpkeys_breaks_in_kernel())
		return 0;
	pr_notice_ratelimited("no breakpoint in the kernel without kpkeys_kernel_breakpoints=1\n");
	return -EOPNOTSUPP;
}

/**
 * __kpkeys_refuse_breakpoint - a breakpoint of user space is in the kernel
 * @address: where it was moved to
 *
 * Return: as kpkeys_refuse_breakpoint().
 */
bool __kpkeys_refuse_breakpoint(unsigned long address)
{
	return !kpkeys_kernel_breakpoints &&
	       kpkeys_refuse("installation", "a breakpoint in the kernel",
			     (void *)address, NULL);
}
