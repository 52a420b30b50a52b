/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that the kernel compiles: it patches each into its text. */
#ifndef GUEST_BPF_H
#define GUEST_BPF_H

int bpf_jit_on(void);		/* 0, or -1 if the kernel cannot compile */
int bpf_load(int value);	/* a program that returns it: its file, or -1 */

#endif
