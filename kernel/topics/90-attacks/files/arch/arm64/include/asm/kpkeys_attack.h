/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attack component: instructions and registers of this architecture. Test
 * only, never part of a product. Also built for kernels without kpkeys.
 */
#ifndef _ASM_ARM64_KPKEYS_ATTACK_H
#define _ASM_ARM64_KPKEYS_ATTACK_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <asm/asm-extable.h>
#include <asm/cpufeature.h>
#include <asm/pgtable.h>
#include <asm/sysreg.h>
#ifdef CONFIG_KPKEYS_PAUTH
#include <asm/kpkeys_pauth.h>
#endif

/* POR_EL1 that allows everything at all indexes. */
#define ATTACK_POR_OPEN		0x77777777

/* POE: its name differs between kernels. */
#define ATTACK_TCR2_POE		BIT(3)

static inline int attack_cmpxchg(u64 *dst, u64 old, u64 new)
{
	int err = 0;

	asm volatile(".arch_extension lse\n"
		     "1: cas %[old], %[new], %[dst]\n"
		     "2:\n"
		     _ASM_EXTABLE_KACCESS_ERR(1b, 2b,
					      %w0)
		     : [err] "+r" (err), [dst] "+Q" (*dst), [old] "+r" (old)
		     : [new] "r" (new)
		     : "memory");
	return err;
}

static inline int attack_memcpy(void *dst, const void *src,
				unsigned long count)
{
	int err = 0, byte;

	asm volatile("	cbz	%[count], 3f\n"
		     "1: ldrb	%w[byte], [%[src]], #1\n"
		     "2: strb	%w[byte], [%[dst]], #1\n"
		     "	subs	%[count], %[count], #1\n"
		     "	b.ne	1b\n"
		     "3:\n"
		     _ASM_EXTABLE_KACCESS_ERR(1b, 3b,
					      %w0)
		     _ASM_EXTABLE_KACCESS_ERR(2b, 3b,
					      %w0)
		     : [err] "+r" (err), [dst] "+r" (dst), [src] "+r" (src),
		       [count] "+r" (count), [byte] "=&r" (byte)
		     :: "memory", "cc");
	return err;
}

static inline unsigned long attack_stack_pointer(struct task_struct *task)
{
	return task->thread.cpu_context.sp;
}

/* Where the keys of pointer authentication that user space has begin. */
static inline unsigned long attack_task_keys(struct task_struct *task)
{
#ifdef CONFIG_KPKEYS_PAUTH
	if (kpkeys_pauth_hides_all())
		return (unsigned long)
			kpkeys_slot_at(task->thread.pauth_slot)->data;
#endif
#ifdef CONFIG_ARM64_PTR_AUTH
	return (unsigned long)&task->thread.keys_user;
#else
	return 0;
#endif
}

/* Where the number is that names them, if there is one. */
static inline unsigned long attack_task_slot(struct task_struct *task)
{
#ifdef CONFIG_KPKEYS_PAUTH
	if (kpkeys_pauth_hides_all())
		return (unsigned long)&task->thread.pauth_slot;
#endif
	return 0;
}

/* Where the kernel's own key is while this task runs in it. */
static inline unsigned long attack_kernel_key(struct task_struct *task)
{
#if defined(CONFIG_KPKEYS_PAUTH) && defined(CONFIG_ARM64_PTR_AUTH_KERNEL)
	if (kpkeys_pauth_enabled()) {
		struct kpkeys_pauth_keys *keys =
			(void *)kpkeys_slot_at(task->thread.pauth_slot)->data;

		return (unsigned long)&keys->kernel;
	}
#endif
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	return (unsigned long)&task->thread.keys_kernel;
#else
	return 0;
#endif
}

/* Bits of SCTLR_EL1 that say which keys it has enabled. */
static inline unsigned long attack_enabled_keys(struct task_struct *task)
{
	return (unsigned long)&task->thread.sctlr_user;
}

/* The innermost of the records that lead up its stack while it sleeps. */
static inline unsigned long attack_frame(struct task_struct *task)
{
	return task->thread.cpu_context.fp;
}

static inline unsigned long attack_entry_phys(unsigned long entry)
{
	return __pte_to_phys(__pte(entry));
}

/* What may be saved somewhere while the gate is shut, and would open it. */
static inline int attack_read_register(unsigned int n, u64 *shut, u64 *open)
{
	if (n || !cpus_have_cap(ARM64_HAS_S1POE) ||
	    !(read_sysreg(REG_TCR2_EL1) & ATTACK_TCR2_POE))
		return -EOPNOTSUPP;
	*shut = read_sysreg_s(SYS_POR_EL1);
	*open = ATTACK_POR_OPEN;
	return 0;
}

/* No bit of a register switches write protection off here. */
static inline int attack_clear_write_protection(void)
{
	return -EOPNOTSUPP;
}

static inline void attack_restore_write_protection(void)
{
}

#endif /* _ASM_ARM64_KPKEYS_ATTACK_H */
