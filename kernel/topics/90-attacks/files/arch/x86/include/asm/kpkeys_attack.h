/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attack component: instructions and registers of this architecture. Test
 * only, never part of a product. Also built for kernels without kpkeys.
 */
#ifndef _ASM_X86_KPKEYS_ATTACK_H
#define _ASM_X86_KPKEYS_ATTACK_H

#include <linux/errno.h>
#include <linux/kpkeys.h>
#include <linux/sched.h>
#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/page_types.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>

/* IA32_PKRS; spelled out because a stock kernel has no name for it. */
#define ATTACK_MSR_PKRS		0x6e1

static inline int attack_cmpxchg(u64 *dst, u64 old, u64 new)
{
	int err = -EFAULT;

	asm volatile("1: lock cmpxchgq %[new], %[dst]\n"
		     "movl $0, %[err]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [err] "+r" (err), [dst] "+m" (*dst), "+a" (old)
		     : [new] "r" (new)
		     : "memory");
	return err;
}

static inline int attack_memcpy(void *dst, const void *src,
				unsigned long count)
{
	int err = -EFAULT;

	asm volatile("1: rep movsb\n"
		     "movl $0, %[err]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [err] "+r" (err), "+D" (dst), "+S" (src), "+c" (count)
		     :: "memory");
	return err;
}

static inline unsigned long attack_stack_pointer(struct task_struct *task)
{
	return task->thread.sp;
}

static inline unsigned long attack_task_keys(struct task_struct *task)
{
	return 0;
}

static inline unsigned long attack_task_slot(struct task_struct *task)
{
	return 0;
}

static inline unsigned long attack_kernel_key(struct task_struct *task)
{
	return 0;
}

static inline unsigned long attack_enabled_keys(struct task_struct *task)
{
	return 0;
}

static inline unsigned long attack_frame(struct task_struct *task)
{
	return 0;
}

static inline unsigned long attack_entry_phys(unsigned long entry)
{
	return entry & PHYSICAL_PAGE_MASK;
}

static inline int attack_read_pkrs(u64 *value)
{
	u32 low, high;

	if (rdmsr_safe(ATTACK_MSR_PKRS, &low, &high))
		return -EOPNOTSUPP;
	*value = (u64)high << 32 | low;
	return 0;
}

/* What may be saved somewhere while the gate is shut, and would open it. */
static inline int attack_read_register(unsigned int n, u64 *shut, u64 *open)
{
	*open = 0;
	if (!n && __read_cr4() & BIT(24))
		return attack_read_pkrs(shut);
#ifdef CONFIG_KPKEYS
	if (!cpu_feature_enabled(X86_FEATURE_KPKEYS_WP))
		return -EOPNOTSUPP;
	if (n < 2) {
		*shut = n ? native_read_cr0() : arch_kpkeys_read_reg();
		*open = n ? *shut & ~X86_CR0_WP : 0;
		return 0;
	}
#endif
	return -EOPNOTSUPP;
}

/* As a hijacked or buggy caller would: through the function that is there. */
static inline int attack_clear_write_protection(void)
{
	native_write_cr0(native_read_cr0() & ~X86_CR0_WP);
	return 0;
}

/* Past that function, for it may be what is broken. */
static inline void attack_restore_write_protection(void)
{
	unsigned long cr0 = native_read_cr0() | X86_CR0_WP;

	asm volatile("mov %0, %%cr0" : : "r" (cr0) : "memory");
}

#endif /* _ASM_X86_KPKEYS_ATTACK_H */
