// SPDX-License-Identifier: GPL-2.0-only
// Finds:   writes of the registers that the protection rests on: CR0, CR3, CR4, IA32_PKRS, GS base, and where
//          descriptor tables are (x86-64); POR_EL1, TCR2_EL1, PIR_EL1, TTBR0_EL1, TTBR1_EL1, TPIDR_EL1 (arm64).
// Why:     CR0.WP clear, or IA32_PKRS and POR_EL1 open, makes all tables writable: what stands behind it runs without
//          protection, and what is behind the kernel's pin warns and gets the bit back. Another root, or other tables of
//          descriptors, is memory that nobody looked at.
// Instead: text_poke() and its like to change text, the helpers of entries to change tables, cr4_set_bits() for features
//          of the CPU, kthread_use_mm() to change to a process's memory. Read-only data stays what it is.
// Words:   \b(?:__|native_|__native_)?write_cr[034]\b|\b(?:native_)?load_(?:cr3|gdt|idt|tr_desc|TR_desc)\b|\b(?:native_)?set_ldt\b|\bwrite_gdt_entry\b|\bMSR_(?:IA32_PKRS|GS_BASE)\b|\b0x(?:6[eE]1|[cC]0000101)\b|\bSYS_(?:POR|TCR2|PIR|PIRE0|TTBR[01]|TPIDR)_EL1\b|\b(?:por|tcr2|pire?0?|ttbr[01]|tpidr)_el1\b
// Assembly: \bmov[ql]?\s[^;\n]*,\s*%+cr[034]\b|\bmsr(?:_s)?\s+(?:por_el1|tcr2_el1|pire?0?_el1|ttbr[01]_el1|tpidr_el1|SYS_(?:POR|TCR2|PIR|PIRE0)_EL1)\b|\b__msr_s\(SYS_(?:POR|TCR2|PIR|PIRE0)_EL1|\b(?:lgdt|lidt|lldt|ltr)[wql]?\s

@written@
identifier w = {write_cr0, write_cr3, write_cr4, __write_cr0, __write_cr3, __write_cr4, native_write_cr0,
	native_write_cr3, native_write_cr4, __native_write_cr3, load_cr3, load_gdt, load_idt, load_tr_desc, load_TR_desc,
	native_load_gdt, native_load_idt, native_load_tr_desc, native_set_ldt, set_ldt, write_gdt_entry,
	native_write_gdt_entry};
identifier m = {wrmsr, wrmsrl, wrmsr_safe, wrmsrl_safe, wrmsrns, __wrmsr, native_wrmsr, native_wrmsrl,
	native_write_msr, native_write_msr_safe, write_msr, wrmsr_on_cpu, wrmsrl_on_cpu, wrmsr_safe_on_cpu,
	wrmsrl_safe_on_cpu};
identifier o = {MSR_IA32_PKRS, MSR_GS_BASE};
identifier s = {write_sysreg, write_sysreg_s, sysreg_clear_set, sysreg_clear_set_s};
identifier r = {por_el1, SYS_POR_EL1, tcr2_el1, SYS_TCR2_EL1, pir_el1, SYS_PIR_EL1, pire0_el1, SYS_PIRE0_EL1,
	ttbr0_el1, SYS_TTBR0_EL1, ttbr1_el1, SYS_TTBR1_EL1, tpidr_el1, SYS_TPIDR_EL1};
expression e;
position x;
@@
(
 w@x(...)
|
 m@x(\(o\|0x6e1\|0x6E1\|0xc0000101\), ...)
|
 m@x(e, \(o\|0x6e1\|0x6E1\|0xc0000101\), ...)
|
 s@x(e, r)
|
 s@x(r, ...)
)

@script:python@
x << written.x;
@@
coccilib.report.print_report(x[0], "gate-register in %s" % x[0].current_element)
