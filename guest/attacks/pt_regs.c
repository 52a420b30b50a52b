// SPDX-License-Identifier: GPL-2.0-only
#include "pt_regs.h"

#define STACK_PART	4096	/* with what a system call uses that changes page tables */
#define STACK_WORDS	(STACK_PART / sizeof(uint64_t))

void find_frames(const struct task *task, uint64_t function, size_t length,
		 frame_function *found, void *data)
{
	uint64_t from = task->stack + task->stack_size - STACK_PART;
	static uint64_t words[STACK_WORDS];
	size_t i;

	kread(from, words, STACK_PART);
	for (i = 0; i + FRAME_WORDS <= STACK_WORDS; i++)
		if (is_kernel_frame(words + i) && words[i + FRAME_IP] - function < length)
			found(data, from + i * sizeof(*words), words + i);
}
