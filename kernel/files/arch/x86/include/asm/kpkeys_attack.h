/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attack component: instructions and registers of this architecture. Test
 * only, never part of a product. Also built for kernels without kpkeys.
 */
#ifndef _ASM_X86_KPKEYS_ATTACK_H
#define _ASM_X86_KPKEYS_ATTACK_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/page_types.h>
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

static inline unsigned long attack_entry_phys(unsigned long entry)
{
	return entry & PHYSICAL_PAGE_MASK;
}

static inline int attack_read_register(u64 *value)
{
	if (!(__read_cr4() & BIT(24)) || rdmsrl_safe(ATTACK_MSR_PKRS, value))
		return -EOPNOTSUPP;
	return 0;
}

#endif /* _ASM_X86_KPKEYS_ATTACK_H */
