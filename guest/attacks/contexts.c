// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same forged PTE, stored from every context and by every form. In
 * interrupts the store has a fixup: an oops there would end the boot.
 */
#include "attack.h"
#include "list.h"

enum outcome write_other_cpu_open(void)
{
	return steal_secret(&(struct store) { .context = "other-open" });
}

enum outcome ctx_softirq(void)
{
	return steal_secret(&(struct store) { .context = "softirq" });
}

enum outcome ctx_hardirq(void)
{
	return steal_secret(&(struct store) { .context = "hardirq" });
}

enum outcome ctx_kthread(void)
{
	return steal_secret(&(struct store) { .context = "kthread" });
}

enum outcome form_memcpy(void)
{
	return steal_secret(&(struct store) { .form = "memcpy", .oops = true });
}

enum outcome form_cmpxchg(void)
{
	return steal_secret(&(struct store) { .form = "cmpxchg", .oops = true });
}

enum outcome form_nofault(void)
{
	return steal_secret(&(struct store) { .form = "nofault" });
}
