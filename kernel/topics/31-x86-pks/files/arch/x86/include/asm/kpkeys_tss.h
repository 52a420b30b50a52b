/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first page of a TSS, which the CPU reads. It says where an exception
 * pushes its frame, and that happens with the gate of what is interrupted. So
 * the page has KPKEYS_PKEY_STATE. All is written before it gets that, for every
 * CPU that there may be, but for one word: where the I/O bitmap is.
 */
#ifndef _ASM_X86_KPKEYS_TSS_H
#define _ASM_X86_KPKEYS_TSS_H

#include <linux/kpkeys.h>
#include <linux/percpu.h>
#include <asm/processor.h>

/**
 * tss_set_io_bitmap_base - say where this CPU's I/O bitmap is
 * @base: IO_BITMAP_OFFSET_*
 *
 * With preemption off.
 */
static __always_inline void tss_set_io_bitmap_base(u16 base)
{
	if (raw_cpu_read(cpu_tss_rw.x86_tss.io_bitmap_base) == base)
		return;
	guard(kpkeys_hardened_pgtables)();
	raw_cpu_write(cpu_tss_rw.x86_tss.io_bitmap_base, base);
}

#endif /* _ASM_X86_KPKEYS_TSS_H */
