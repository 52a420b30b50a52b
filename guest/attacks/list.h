/* SPDX-License-Identifier: GPL-2.0-only */
/* Every attack: function, name on the command line, what it needs. */
#ifndef GUEST_ATTACK_LIST_H
#define GUEST_ATTACK_LIST_H

#include "attack.h"

#define ATTACKS(X)							\
	X(user_pte,		"user-pte",		NEEDS_VICTIM)	\
	X(setuid_page_cache,	"setuid-page-cache",	NEEDS_SETUID)	\
	X(user_pmd_leaf,	"user-pmd-leaf",	0)		\
	X(user_pud_leaf,	"user-pud-leaf",	0)		\
	X(pte_spray,		"pte-spray",		NEEDS_VICTIM)	\
	X(stale_ptp,		"stale-ptp",		NEEDS_VICTIM)	\
	X(text_pte,		"text-pte",		0)		\
	X(vmalloc_nx,		"vmalloc-nx",		0)		\
	X(direct_map_pmd,	"direct-map-pmd",	0)		\
	X(swapper_image,	"swapper-image",	0)		\
	X(swapper_direct,	"swapper-direct",	0)		\
	X(fixmap_pte,		"fixmap-pte",		0)		\
	X(vmemmap_table,	"vmemmap-table",	0)		\
	X(cpu_entry_area,	"cpu-entry-area",	0)		\
	X(ldt_table,		"ldt-table",		0)		\
	X(pgd_user_half,	"pgd-user-half",	NEEDS_VICTIM)	\
	X(poking_mm,		"poking-mm",		NEEDS_HELPER)	\
	X(write_other_cpu_open,	"write-other-cpu-open",	NEEDS_VICTIM)	\
	X(ctx_softirq,		"ctx-softirq",		NEEDS_VICTIM)	\
	X(ctx_hardirq,		"ctx-hardirq",		NEEDS_VICTIM)	\
	X(ctx_kthread,		"ctx-kthread",		NEEDS_VICTIM)	\
	X(form_memcpy,		"form-memcpy",		NEEDS_VICTIM)	\
	X(form_cmpxchg,		"form-cmpxchg",		NEEDS_VICTIM)	\
	X(form_nofault,		"form-nofault",		NEEDS_VICTIM)	\
	X(rodata_other_open,	"rodata-other-open",	0)		\
	X(rodata_own_section,	"rodata-own-section",	0)		\
	X(cr0_wp_rodata,	"cr0-wp-rodata",	NEEDS_LOG)	\
	X(cr0_wp_pte,		"cr0-wp-pte",		NEEDS_VICTIM | NEEDS_LOG) \
	X(cpu_level_copy,	"cpu-level-copy",	NEEDS_VICTIM)	\
	X(save_slot,		"save-slot",		NEEDS_VICTIM)	\
	X(exception_frame,	"exception-frame",	NEEDS_VICTIM)	\
	X(sleeping_task,	"sleeping-task",	NEEDS_VICTIM)	\
	X(static_key,		"static-key",		NEEDS_VICTIM)	\
	X(mode_variable,	"mode-variable",	NEEDS_VICTIM)	\
	X(pool_free_list,	"pool-free-list",	NEEDS_VICTIM)	\
	X(image_alias,		"image-alias",		NEEDS_VICTIM)	\
	X(rng_key_plain,	"rng-key-plain",	0)		\
	X(rng_key_memcpy,	"rng-key-memcpy",	0)		\
	X(rng_key_nofault,	"rng-key-nofault",	0)		\
	X(rng_key_kcore,	"rng-key-kcore",	NEEDS_KCORE)	\
	X(rng_key_copy_to_user,	"rng-key-copy-to-user",	0)		\
	X(rng_base_key,		"rng-base-key",		0)		\
	X(rng_key_write,	"rng-key-write",	0)		\
	X(pauth_keys_plain,	"pauth-keys-plain",	0)		\
	X(pauth_keys_memcpy,	"pauth-keys-memcpy",	0)		\
	X(pauth_keys_nofault,	"pauth-keys-nofault",	0)		\
	X(pauth_keys_kcore,	"pauth-keys-kcore",	NEEDS_KCORE)	\
	X(pauth_keys_copy,	"pauth-keys-copy-to-user", 0)		\
	X(pauth_slot_number,	"pauth-slot-number",	0)		\
	X(pauth_kernel_key,	"pauth-kernel-key",	0)		\
	X(pauth_key_start,	"pauth-key-start",	NEEDS_HOTPLUG)	\
	X(pauth_enabled_keys,	"pauth-enabled-keys",	0)		\
	X(task_cred_pointer,	"task-cred-pointer",	0)		\
	X(live_cred,		"live-cred",		0)		\
	X(live_caps,		"live-caps",		0)		\
	X(live_user_ns,		"live-user-ns",		0)		\
	X(live_keyring,		"live-keyring",		NEEDS_VICTIM)	\
	X(init_user_ns,		"init-user-ns",		0)		\
	X(cred_slot,		"cred-slot",		0)		\
	X(current_task,		"current-task",		NEEDS_HELPER)	\
	X(current_stack,	"current-stack",	NEEDS_HELPER)	\
	X(current_interrupted,	"current-interrupted",	NEEDS_HELPER)	\
	X(dead_stack,		"dead-stack",		NEEDS_SETUID)	\
	X(endless_override,	"endless-override",	0)		\
	X(cred_prepared,	"cred-prepared",	0)		\
	X(cred_count,		"cred-count",		NEEDS_SETUID)	\
	X(dead_record,		"dead-record",		NEEDS_SETUID)	\
	X(group_list,		"group-list",		NEEDS_FILE)	\
	X(inode_owner,		"inode-owner",		0)		\
	X(page_cache_store,	"page-cache-store",	NEEDS_SETUID)	\
	X(pipe_page,		"pipe-page",		NEEDS_SETUID)	\
	X(fixed_buffer,		"fixed-buffer",		NEEDS_SETUID)	\
	X(shared_mapping,	"shared-mapping",	NEEDS_SETUID)	\
	X(crypto_page,		"crypto-page",		NEEDS_SETUID)	\
	X(ptracer_cred,		"ptracer-cred",		NEEDS_SETUID)	\
	X(task_mm,		"task-mm",		NEEDS_VICTIM)	\
	X(user_ns_map,		"user-ns-map",		NEEDS_FILE)	\
	X(modprobe_path,	"modprobe-path",	0)		\
	X(core_pattern,		"core-pattern",		0)		\
	X(sysctl_table,		"sysctl-table",		0)		\
	X(sysctl_copy,		"sysctl-copy",		0)		\
	X(sysctl_deputy,	"sysctl-deputy",	NEEDS_SETUID)	\
	X(page_struct,		"page-struct",		0)		\
	X(mm_pgd_pointer,	"mm-pgd-pointer",	NEEDS_VICTIM)	\
	X(mm_pgd_other,		"mm-pgd-other",		NEEDS_VICTIM)	\
	X(mm_pgd_low_table,	"mm-pgd-low-table",	NEEDS_VICTIM)	\
	X(fork_forged_tables,	"fork-forged-tables",	NEEDS_VICTIM)	\
	X(fork_other_mm,	"fork-other-mm",	NEEDS_VICTIM)	\
	X(fault_other_mm,	"fault-other-mm",	NEEDS_VICTIM)	\
	X(deposit_own_page,	"deposit-own-page",	NEEDS_VICTIM)	\
	X(deposit_first_page,	"deposit-first-page",	NEEDS_VICTIM)	\
	X(deposit_table_of_victim, "deposit-table-of-victim", NEEDS_VICTIM) \
	X(deposit_table_in_use,	"deposit-table-in-use",	NEEDS_VICTIM)	\
	X(vdso_page,		"vdso-page",		NEEDS_VICTIM)	\
	X(page_cache_slot,	"page-cache-slot",	NEEDS_VICTIM)	\
	X(page_cache_filter,	"page-cache-filter",	0)		\
	X(vdso_text,		"vdso-text",		0)		\
	X(efi_code,		"efi-code",		0)		\
	X(thunk_code,		"thunk-code",		0)		\
	X(zero_page_text,	"zero-page-text",	0)		\
	X(zero_page_number,	"zero-page-number",	NEEDS_VICTIM)	\
	X(huge_page_count,	"huge-page-count",	NEEDS_VICTIM)	\
	X(huge_page_list,	"huge-page-list",	NEEDS_VICTIM)	\
	X(small_pages_list,	"small-pages-list",	NEEDS_VICTIM)	\
	X(rss_counter,		"rss-counter",		NEEDS_VICTIM)	\
	X(memcg_statistics,	"memcg-statistics",	0)		\
	X(fork_compound_head,	"fork-compound-head",	NEEDS_SETUID)	\
	X(cpu_mask,		"cpu-mask",		NEEDS_VICTIM)	\
	X(cpu_number,		"cpu-number",		NEEDS_VICTIM)	\
	X(interrupted_registers, "interrupted-registers", NEEDS_VICTIM) \
	X(trap_registers,	"trap-registers",	NEEDS_VICTIM)	\
	X(interrupted_level,	"interrupted-level",	0)		\
	X(backwards_pool,	"backwards-pool",	NEEDS_VICTIM)	\
	X(static_call_held,	"static-call-held",	0)		\
	X(call_beside,		"call-beside",		0)		\
	X(call_inside,		"call-inside",		0)		\
	X(ist_pointer,		"ist-pointer",		0)		\
	X(gdt_tss,		"gdt-tss",		NEEDS_CAPS)	\
	X(ist_cr3,		"ist-cr3",		NEEDS_VICTIM)	\
	X(msr_registers,	"msr-registers",	NEEDS_VICTIM | NEEDS_CAPS) \
	X(ldt_call_gate,	"ldt-call-gate",	0)		\
	X(ldt_copied_gate,	"ldt-copied-gate",	0)		\
	X(ldt_forked_gate,	"ldt-forked-gate",	0)		\
	X(ldt_forged_struct,	"ldt-forged-struct",	0)		\
	X(jump_label,		"jump-label",		0)		\
	X(patch_queue,		"patch-queue",		0)		\
	X(jit_pack,		"jit-pack",		0)		\
	X(copy_held,		"copy-held",		0)		\
	X(text_held,		"text-held",		0)		\
	X(filter_buffer,	"filter-buffer",	0)		\
	X(jump_held,		"jump-held",		0)		\
	X(jump_guard,		"jump-guard",		0)		\
	X(lsm_label,		"lsm-label",		0)		\
	X(jump_booting,		"jump-booting",		0)		\
	X(ftrace_anybody,	"ftrace-anybody",	0)		\
	X(jump_far,		"jump-far",		0)		\
	X(smp_locks,		"smp-locks",		NEEDS_HOTPLUG)	\
	X(bury_held,		"bury-held",		0)		\
	X(text_behind,		"text-behind",		0)		\
	X(fault_kernel_address,	"fault-kernel-address",	0)		\
	X(zap_kernel_address,	"zap-kernel-address",	0)		\
	X(direct_map_moved,	"direct-map-moved",	NEEDS_VICTIM)	\
	X(state_alias,		"state-alias",		NEEDS_VICTIM)	\
	X(key_alias,		"key-alias",		NEEDS_VICTIM)	\
	X(wp_alias,		"wp-alias",		NEEDS_VICTIM)	\
	X(global_entry,		"global-entry",		NEEDS_VICTIM)	\
	X(kernel_user,		"kernel-user",		NEEDS_VICTIM)	\
	X(middle_entry,		"middle-entry",		NEEDS_VICTIM)	\
	X(fault_filter_address,	"fault-filter-address",	0)		\
	X(percpu_chunk,		"percpu-chunk",		0)		\
	X(vfree_filter_alias,	"vfree-filter-alias",	0)		\
	X(poking_mm_borrowed,	"poking-mm-borrowed",	0)		\
	X(patch_slot,		"patch-slot",		0)		\
	X(cr4_shadow,		"cr4-shadow",		NEEDS_SETUID)	\
	X(cpu_start_lock,	"cpu-start-lock",	NEEDS_HOTPLUG)	\
	X(cpu_capability,	"cpu-capability",	NEEDS_VICTIM | NEEDS_HOTPLUG) \
	X(trampoline_text,	"trampoline-text",	0)		\
	X(nx_mask,		"nx-mask",		0)		\
	X(switch_skipped,	"switch-skipped",	NEEDS_VICTIM)	\
	X(levels_of_chain,	"levels-of-chain",	NEEDS_VICTIM)	\
	X(stack_end,		"stack-end",		NEEDS_VICTIM)	\
	X(unlinked_entries,	"unlinked-entries",	0)	\
	X(spilled_table,	"spilled-table",	NEEDS_VICTIM)	\
	X(vma_code,		"vma-code",		0)		\
	X(random_boot_id,	"random-boot-id",	0)		\
	X(apic_page,		"apic-page",		0)		\
	X(startup_ipi,		"startup-ipi",		NEEDS_VICTIM | NEEDS_HOTPLUG)	\
	X(start_header,		"start-header",		NEEDS_VICTIM | NEEDS_HOTPLUG)	\
	X(gone_store,		"gone-store",		NEEDS_HOTPLUG)	\
	X(vfree_text_alias,	"vfree-text-alias",	0)

#define X(function, name, needs) enum outcome function(void);
ATTACKS(X)
#undef X

#endif
