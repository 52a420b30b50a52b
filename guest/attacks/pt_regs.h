/* SPDX-License-Identifier: GPL-2.0-only */
/* What an exception saves of the code that it interrupts: struct pt_regs, in words. */
#ifndef GUEST_PT_REGS_H
#define GUEST_PT_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corrupt.h"

#ifdef __x86_64__
#define FRAME_WORDS	21
#define FRAME_GENERAL	15
#define FRAME_BP	4
#define FRAME_SI	13
#define FRAME_DI	14
#define FRAME_IP	16
#define FRAME_CS	17
#define FRAME_SS	20
#define KERNEL_CS	0x10
#define KERNEL_SS	0x18
#else
#define FRAME_WORDS	42
#define FRAME_GENERAL	31
#define FRAME_IP	32
#define FRAME_PSTATE	33
#define MODE_MASK	0x1f
#define MODE_KERNEL	0x5		/* at EL1 */
#endif

static inline bool is_kernel_frame(const uint64_t *frame)
{
#ifdef __x86_64__
	return frame[FRAME_CS] == KERNEL_CS && frame[FRAME_SS] == KERNEL_SS;
#else
	return (frame[FRAME_PSTATE] & MODE_MASK) == MODE_KERNEL;
#endif
}

/* What is to be done with a frame that was found there. */
typedef void frame_function(void *data, uint64_t at, const uint64_t *frame);

/* Of what interrupts of so much of a function saved, near the beginning of a task's stack. */
void find_frames(const struct task *task, uint64_t function, size_t length,
		 frame_function *found, void *data);

#endif
