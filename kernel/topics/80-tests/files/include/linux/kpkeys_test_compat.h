/* SPDX-License-Identifier: GPL-2.0-only */
/* The same as <linux/kpkeys_compat.h> of what only tests need. */
#ifndef _LINUX_KPKEYS_TEST_COMPAT_H
#define _LINUX_KPKEYS_TEST_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)

#define kpkeys_test_chacha(state)	(state)
#define kpkeys_test_arm64_slot(p)	((p)->ainsn.xol_insn)
#define kpkeys_test_current_task	current_task
/* Whoever overrides holds a reference there, and gets it back. */
#define kpkeys_test_override(cred)	override_creds(get_cred(cred))
#define kpkeys_test_revert(old)		put_cred(revert_creds(old))
#define KPKEYS_TEST_DATA_LEAVE		true
/* set_memory_*() refuses vmalloc areas that may be huge. */
#define KPKEYS_TEST_HUGE_AREAS		false
#define KPKEYS_TEST_NS_COUNT		__ns_ref

#else

#include <linux/hrtimer.h>

#define lazy_mmu_mode_enable()		arch_enter_lazy_mmu_mode()
#define lazy_mmu_mode_disable()		arch_leave_lazy_mmu_mode()

#define hrtimer_setup_on_stack(timer, what, clock, mode) do {	\
	hrtimer_init_on_stack(timer, clock, mode);		\
	(timer)->function = (what);				\
} while (0)

struct chacha_state {
	u32 x[16];
};

#define kpkeys_test_chacha(state)	((state)->x)
#define kpkeys_test_arm64_slot(p)	((p)->ainsn.api.insn)
#define kpkeys_test_current_task	pcpu_hot.current_task
#define kpkeys_test_override(cred)	override_creds(cred)
#define kpkeys_test_revert(old)		revert_creds(old)
#define KPKEYS_TEST_DATA_LEAVE		false
#define KPKEYS_TEST_HUGE_AREAS		true
#define KPKEYS_TEST_NS_COUNT		count

#endif

#endif /* _LINUX_KPKEYS_TEST_COMPAT_H */
