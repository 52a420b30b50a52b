/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of pointer authentication as secrets.
 *
 * With the protection on, thread.keys_kernel is empty, and with
 * kpkeys_pauth=all thread.keys_user: these keys of a task are in a slot of
 * secret memory, which thread.pauth_slot names. Where entry.S installs them,
 * see <asm/kpkeys-pauth-macro.S>. C code works on a copy of user keys, which is
 * erased at the end of its scope.
 */
#ifndef _ASM_ARM64_KPKEYS_PAUTH_H
#define _ASM_ARM64_KPKEYS_PAUTH_H

#include <linux/kpkeys_secrets.h>
#include <linux/linkage.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/cpufeature.h>
#include <asm/pointer_auth.h>

#ifdef CONFIG_KPKEYS_PAUTH

/**
 * struct kpkeys_pauth_keys - what a slot holds
 * @user: keys that user space runs with
 * @kernel: the key of kernel code
 */
struct kpkeys_pauth_keys {
	struct ptrauth_keys_user	user;
#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
	struct ptrauth_keys_kernel	kernel;
#endif
};

/**
 * struct kpkeys_pauth_copy - a task's user keys while C code works on them
 * @task: whose they are
 * @keys: the copy; unused when the keys are in @task itself
 */
struct kpkeys_pauth_copy {
	struct task_struct		*task;
	struct ptrauth_keys_user	keys;
};

/**
 * enum kpkeys_pauth_mode - which keys are secrets
 * @KPKEYS_PAUTH_OFF: none
 * @KPKEYS_PAUTH_KERNEL: the kernel's
 * @KPKEYS_PAUTH_ALL: those of user space, too
 */
enum kpkeys_pauth_mode {
	KPKEYS_PAUTH_OFF,
	KPKEYS_PAUTH_KERNEL,
	KPKEYS_PAUTH_ALL,
};

/* For asm-offsets.c. */
#define SLOT_DATA(field)						\
	(offsetof(struct kpkeys_slot, data) +				\
	 offsetof(struct kpkeys_pauth_keys, field))

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
#define KPKEYS_PAUTH_KERNEL_OFFSETS(D) do {				\
	D(SLOT_KERNEL_APIA, SLOT_DATA(kernel.apia));			\
	D(POR_EL1_USER, ARCH_KPKEYS_REG_USER);				\
} while (0)
#else
#define KPKEYS_PAUTH_KERNEL_OFFSETS(D)	do { } while (0)
#endif

#define KPKEYS_PAUTH_OFFSETS(D) do {					\
	D(THREAD_PAUTH_SLOT,						\
	  offsetof(struct task_struct, thread.pauth_slot));		\
	D(SLOTS_CHUNK, offsetof(struct kpkeys_slots, chunk));		\
	D(SLOTS_SHIFT, KPKEYS_CHUNK_SHIFT - KPKEYS_SLOT_SHIFT);		\
	D(SLOTS_CHUNKS, KPKEYS_MAX_CHUNKS);				\
	D(SLOT_SHIFT, KPKEYS_SLOT_SHIFT);				\
	D(SLOT_OWNER, offsetof(struct kpkeys_slot, owner));		\
	D(SLOT_USER_APIA, SLOT_DATA(user.apia));			\
	D(SLOT_USER_APIB, SLOT_DATA(user.apib));			\
	D(SLOT_USER_APDA, SLOT_DATA(user.apda));			\
	D(SLOT_USER_APDB, SLOT_DATA(user.apdb));			\
	D(SLOT_USER_APGA, SLOT_DATA(user.apga));			\
	KPKEYS_PAUTH_KERNEL_OFFSETS(D);					\
	D(POR_EL1_SECRET, kpkeys_level_reg(KPKEYS_LVL_SECRET));		\
} while (0)

extern enum kpkeys_pauth_mode kpkeys_pauth_mode;
DECLARE_PER_CPU_SECRET(struct ptrauth_key, kpkeys_pauth_key);

/* A kernel without a key of its own has none to hide. */
static __always_inline bool kpkeys_pauth_has_slots(void)
{
	return kpkeys_pauth_mode == KPKEYS_PAUTH_ALL ||
	       (IS_ENABLED(CONFIG_ARM64_PTR_AUTH_KERNEL) &&
		kpkeys_pauth_mode == KPKEYS_PAUTH_KERNEL);
}

/* Decided before other tasks than init_task exist; does not change then. */
static __always_inline bool kpkeys_pauth_enabled(void)
{
	return kpkeys_secrets_enabled() && kpkeys_pauth_has_slots() &&
	       system_supports_address_auth();
}

/* Are the keys of user space in slots as well? */
static __always_inline bool kpkeys_pauth_hides_all(void)
{
	return kpkeys_pauth_mode == KPKEYS_PAUTH_ALL && kpkeys_pauth_enabled();
}

struct alt_instr;
void kpkeys_pauth_patch(struct alt_instr *alt, __le32 *origptr,
			__le32 *updptr, int nr_inst);
void kpkeys_pauth_patch_all(struct alt_instr *alt, __le32 *origptr,
			    __le32 *updptr, int nr_inst);
void kpkeys_pauth_patch_kernel(struct alt_instr *alt, __le32 *origptr,
			       __le32 *updptr, int nr_inst);
asmlinkage void __noreturn kpkeys_pauth_corrupt(void);
void kpkeys_pauth_init(void);
int __kpkeys_pauth_copy_thread(struct task_struct *task);
void __kpkeys_pauth_exec(void);
struct ptrauth_keys_user *kpkeys_pauth_get(struct kpkeys_pauth_copy *copy);
void kpkeys_pauth_put(struct kpkeys_pauth_copy *copy);

static inline void kpkeys_pauth_forget(struct kpkeys_pauth_copy *copy)
{
	memzero_explicit(&copy->keys, sizeof(copy->keys));
}

#define __KPKEYS_PAUTH_COPY(name, of, end)				\
	struct kpkeys_pauth_copy name##_copy __cleanup(end) = {		\
		.task = (of),						\
	};								\
	struct ptrauth_keys_user *name = kpkeys_pauth_get(&name##_copy)

/* Declare @name, a pointer to the keys of a task, to read them. */
#define kpkeys_pauth_view(name, task)					\
	__KPKEYS_PAUTH_COPY(name, task, kpkeys_pauth_forget)

/* The same to change them; in force at the end of the scope. */
#define kpkeys_pauth_edit(name, task)					\
	__KPKEYS_PAUTH_COPY(name, task, kpkeys_pauth_put)

/**
 * kpkeys_pauth_dup - a task that is being made has no keys yet
 * @task: copy of another one's task_struct
 */
static inline void kpkeys_pauth_dup(struct task_struct *task)
{
	task->thread.pauth_slot = KPKEYS_NO_SLOT;
}

/**
 * kpkeys_pauth_release - erase the keys of a task that is gone
 * @task: the task
 */
static inline void kpkeys_pauth_release(struct task_struct *task)
{
	kpkeys_secret_free(task->thread.pauth_slot, task);
}

#else /* !CONFIG_KPKEYS_PAUTH */

static __always_inline bool kpkeys_pauth_enabled(void) { return false; }
static __always_inline bool kpkeys_pauth_hides_all(void) { return false; }
static inline void kpkeys_pauth_init(void) { }
static inline int __kpkeys_pauth_copy_thread(struct task_struct *task)
{
	return 0;
}

static inline void __kpkeys_pauth_exec(void) { }
static inline void kpkeys_pauth_dup(struct task_struct *task) { }
static inline void kpkeys_pauth_release(struct task_struct *task) { }

#define KPKEYS_PAUTH_OFFSETS(D)		do { } while (0)

#define kpkeys_pauth_view(name, task)					\
	struct ptrauth_keys_user *name = &(task)->thread.keys_user
#define kpkeys_pauth_edit(name, task)	kpkeys_pauth_view(name, task)

#endif /* CONFIG_KPKEYS_PAUTH */

/**
 * kpkeys_pauth_copy_thread - give a new task its keys
 * @task: the task; child of the current one, whose user keys it inherits
 *
 * Return: 0 or -ENOMEM.
 */
static inline int kpkeys_pauth_copy_thread(struct task_struct *task)
{
	if (kpkeys_pauth_enabled())
		return __kpkeys_pauth_copy_thread(task);
	ptrauth_thread_init_kernel(task);
	return 0;
}

/**
 * kpkeys_pauth_exec - give a program keys of its own, and enable them all
 */
static inline void kpkeys_pauth_exec(void)
{
	if (kpkeys_pauth_hides_all())
		__kpkeys_pauth_exec();
	else
		ptrauth_thread_init_user();
}

/**
 * kpkeys_pauth_switch - install the user keys of the task that comes
 * @task: the task
 *
 * Out of a slot cpu_switch_to() does it, with the key of the kernel.
 */
static __always_inline void kpkeys_pauth_switch(struct task_struct *task)
{
	if (!kpkeys_pauth_hides_all())
		ptrauth_thread_switch_user(task);
}

/**
 * kpkeys_pauth_suspend_exit - install the user keys of this task after sleep
 *
 * Out of a slot cpu_do_resume() has done it.
 */
static inline void kpkeys_pauth_suspend_exit(void)
{
	if (!kpkeys_pauth_hides_all())
		ptrauth_suspend_exit();
}

/**
 * kpkeys_pauth_active - do core dumps have this regset?
 * @target: the task
 * @regset: one with keys
 *
 * Core dumps alone ask. A tracer may have the keys; a file would outlive what
 * is signed with them, and anybody might read it. Keys that are not hidden are
 * in it, as in any Linux.
 *
 * Return: how many entries, as for every regset.
 */
static inline int kpkeys_pauth_active(struct task_struct *target,
				      const struct user_regset *regset)
{
	return kpkeys_pauth_hides_all() ? 0 : regset->n;
}

#endif /* _ASM_ARM64_KPKEYS_PAUTH_H */
