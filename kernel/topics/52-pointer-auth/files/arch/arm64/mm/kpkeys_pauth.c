// SPDX-License-Identifier: GPL-2.0-only
/* Keys of pointer authentication in secret memory: all but what entry.S does. */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/kpkeys.h>
#include <linux/kpkeys_arch.h>
#include <linux/panic.h>
#include <linux/percpu-defs.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include <asm/alternative.h>
#include <asm/cpufeature.h>
#include <asm/insn.h>
#include <asm/kpkeys_pauth.h>
#include <asm/pointer_auth.h>
#include <asm/stack_pointer.h>

enum kpkeys_pauth_mode kpkeys_pauth_mode __ro_after_init = KPKEYS_PAUTH_KERNEL;

static int __init kpkeys_pauth_setup(char *arg)
{
	static const char * const names[] __initconst = {
		[KPKEYS_PAUTH_OFF] = "off",
		[KPKEYS_PAUTH_KERNEL] = "kernel",
		[KPKEYS_PAUTH_ALL] = "all",
	};
	int mode = match_string(names, ARRAY_SIZE(names), arg ?: "");

	if (mode >= 0)
		kpkeys_pauth_mode = mode;
	else
		pr_warn("kpkeys_pauth=%s: not kernel, all or off; kernel\n",
			arg ?: "");
	return 0;
}
early_param("kpkeys_pauth", kpkeys_pauth_setup);

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
/* That of the running task, for entry from user space. */
DEFINE_PER_CPU_SECRET(struct ptrauth_key, kpkeys_pauth_key);
#endif

/* Inside guard(kpkeys_secret) only. NULL if somebody changed the number. */
static __always_inline struct kpkeys_pauth_keys *keys_of(struct task_struct *task)
{
	return kpkeys_secret_data(READ_ONCE(task->thread.pauth_slot), task);
}

/* With the gate shut. */
static void warn_unless(bool found, struct task_struct *task)
{
	WARN_ONCE(!found, "keys of %s[%d] are not where they were\n",
		  task->comm, task_pid_nr(task));
}

static bool __init can_hide(void)
{
	return kpkeys_wanted() && cpus_have_cap(ARM64_HAS_S1POE) &&
	       cpus_have_cap(ARM64_HAS_ADDRESS_AUTH);
}

static void __init patch_unless(bool wanted, __le32 *updptr, int nr_inst)
{
	while (!wanted && nr_inst--)
		*updptr++ = cpu_to_le32(aarch64_insn_gen_nop());
}

/**
 * kpkeys_pauth_patch - code that is for keys in slots
 * @alt: the place
 * @origptr: its address
 * @updptr: where to write
 * @nr_inst: how much
 *
 * NOPs where the keys stay in the task. Called before there is any other task
 * than init_task, so nobody has passed such a place.
 */
void __init kpkeys_pauth_patch(struct alt_instr *alt, __le32 *origptr,
			       __le32 *updptr, int nr_inst)
{
	patch_unless(can_hide() && kpkeys_pauth_has_slots(), updptr, nr_inst);
}

/**
 * kpkeys_pauth_patch_all - code that is for keys of user space in slots
 * @alt: as above
 * @origptr: as above
 * @updptr: as above
 * @nr_inst: as above
 */
void __init kpkeys_pauth_patch_all(struct alt_instr *alt, __le32 *origptr,
				   __le32 *updptr, int nr_inst)
{
	patch_unless(can_hide() && kpkeys_pauth_mode == KPKEYS_PAUTH_ALL,
		     updptr, nr_inst);
}

/**
 * kpkeys_pauth_patch_kernel - code that is for the kernel's key alone in a slot
 * @alt: as above
 * @origptr: as above
 * @updptr: as above
 * @nr_inst: as above
 */
void __init kpkeys_pauth_patch_kernel(struct alt_instr *alt, __le32 *origptr,
				      __le32 *updptr, int nr_inst)
{
	patch_unless(can_hide() && kpkeys_pauth_has_slots() &&
		     kpkeys_pauth_mode == KPKEYS_PAUTH_KERNEL, updptr, nr_inst);
}

/**
 * kpkeys_pauth_corrupt - a task names a slot that is not its own
 *
 * Called with the gate open, by code that has no way on: a CPU that runs, with
 * a lock of the scheduler held, or on its way to user space.
 */
asmlinkage void __noreturn kpkeys_pauth_corrupt(void)
{
	arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
	panic("kpkeys: corrupt: the keys that %s[%d] names are not its own\n",
	      current->comm, task_pid_nr(current));
}

static int take_slot(struct task_struct *task, gfp_t gfp)
{
	BUILD_BUG_ON(sizeof(struct kpkeys_pauth_keys) >
		     sizeof_field(struct kpkeys_slot, data));
	task->thread.pauth_slot = kpkeys_secret_alloc(task, gfp);
	return task->thread.pauth_slot == KPKEYS_NO_SLOT ? -ENOMEM : 0;
}

#ifdef CONFIG_ARM64_PTR_AUTH_KERNEL
/* What was made up may be on the stack for a moment, the slot never is. */
static void set_kernel_key(struct task_struct *task,
			   const struct ptrauth_keys_kernel *key)
{
	struct kpkeys_pauth_keys *keys;

	scoped_guard(kpkeys_secret) {
		keys = keys_of(task);
		if (keys)
			keys->kernel = *key;
	}
	warn_unless(keys, task);
}

static void new_kernel_key(struct task_struct *task)
{
	struct ptrauth_keys_kernel key;

	ptrauth_keys_init_kernel(&key);
	set_kernel_key(task, &key);
	memzero_explicit(&key, sizeof(key));
}

static void __init hide_kernel_key(struct task_struct *task)
{
	set_kernel_key(task, &task->thread.keys_kernel);
	memzero_explicit(&task->thread.keys_kernel,
			 sizeof(task->thread.keys_kernel));
}
#else
static void new_kernel_key(struct task_struct *task) { }
static void __init hide_kernel_key(struct task_struct *task) { }
#endif

static noinline void inherit_user_keys(struct task_struct *task)
{
	struct kpkeys_pauth_keys *from, *to;

	scoped_guard(kpkeys_secret) {
		from = keys_of(current);
		to = keys_of(task);
		if (from && to)
			kpkeys_copy_words(&to->user, &from->user, sizeof(to->user));
	}
	warn_unless(from, current);
	warn_unless(to, task);
}

/* See kpkeys_pauth_copy_thread(). */
int __kpkeys_pauth_copy_thread(struct task_struct *task)
{
	int ret = take_slot(task, GFP_KERNEL);

	if (ret)
		return ret;
	new_kernel_key(task);
	if (kpkeys_pauth_hides_all())
		inherit_user_keys(task);
	return 0;
}

/**
 * kpkeys_pauth_init - hide the key of the one task that exists
 */
void __init kpkeys_pauth_init(void)
{
	if (!kpkeys_pauth_enabled())
		return;
	if (take_slot(current, GFP_KERNEL))
		panic("kpkeys: no memory for keys of pointer authentication");
	hide_kernel_key(current);
}

/* Where the copy is lies on a stack, and nothing is hidden there. */
static __always_inline bool is_on_stack(const struct kpkeys_pauth_copy *copy)
{
	unsigned long base = current_stack_pointer & ~(THREAD_SIZE - 1);

	return (unsigned long)copy - base <= THREAD_SIZE - sizeof(*copy);
}

/**
 * kpkeys_pauth_get - the user keys of a task
 * @copy: where to copy them to, with @task filled in
 *
 * Return: where they are.
 */
struct ptrauth_keys_user *kpkeys_pauth_get(struct kpkeys_pauth_copy *copy)
{
	struct kpkeys_pauth_keys *keys;

	if (!kpkeys_pauth_hides_all())
		return &copy->task->thread.keys_user;
	scoped_guard(kpkeys_secret) {
		kpkeys_reread(copy);
		keys = is_on_stack(copy) ? keys_of(copy->task) : NULL;
		if (keys)
			kpkeys_copy_words(&copy->keys, &keys->user, sizeof(copy->keys));
	}
	warn_unless(keys, copy->task);
	return &copy->keys;
}

/* All of them: between the change and this another task may have run here. */
static __always_inline void install_user_keys(struct ptrauth_keys_user *keys)
{
	ptrauth_keys_install_user(keys);
	/* Otherwise the way out to user space does it. */
	if (!IS_ENABLED(CONFIG_ARM64_PTR_AUTH_KERNEL))
		__ptrauth_key_install_nosync(APIA, keys->apia);
}

/**
 * kpkeys_pauth_put - store changed keys of a task, and forget the copy
 * @copy: as for kpkeys_pauth_get()
 */
void kpkeys_pauth_put(struct kpkeys_pauth_copy *copy)
{
	struct kpkeys_pauth_keys *keys;

	if (!kpkeys_pauth_hides_all())
		return;
	scoped_guard(kpkeys_secret) {
		kpkeys_reread(copy);
		keys = is_on_stack(copy) ? keys_of(copy->task) : NULL;
		if (keys)
			kpkeys_copy_words(&keys->user, &copy->keys, sizeof(copy->keys));
	}
	if (copy->task == current)
		install_user_keys(&copy->keys);
	warn_unless(keys, copy->task);
	kpkeys_pauth_forget(copy);
}

/* See kpkeys_pauth_exec(). */
void __kpkeys_pauth_exec(void)
{
	kpkeys_pauth_edit(keys, current);

	ptrauth_keys_init_user(keys);
	ptrauth_set_enabled_keys(current, PR_PAC_ENABLED_KEYS_MASK,
				 PR_PAC_ENABLED_KEYS_MASK);
}
