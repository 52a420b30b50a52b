// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that starts has neither CR4.PKS nor a value in IA32_PKRS until C code
 * gives it both. Before that it stores a zero where a pointer in ordinary memory
 * leads (trampoline_lock), and pushes to a stack that is found in the same way. The
 * zero is enough for four frames that are text to be nobody's.
 */
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
/* CR0.WP is set from the trampoline on. */
static bool is_write_protected(void)
{
	return is_protected() && corrupt_answer_nth("shut", 1);
}

enum outcome cpu_start_lock(void)
{
	uint64_t pointer = ksymbol("trampoline_lock"), lock = kread64(pointer), frame = is_protected() ? frame_of_text() : 0;
	unsigned int zero = 0, frames = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!lock)
		return broken("no CPU starts in this way");
	if (frame) {
		if (kwrite64(pointer, frame))
			return lost("where the lock is was not to be changed");
		if (is_write_protected())
			return skipped("the store of zero faults, and the machine dies of it");
		hotplug_cpu(false);
		hotplug_cpu(true);
		kwrite64(pointer, lock);
		kwrite(lock, &zero, sizeof(zero));
		kread(frame, &frames, sizeof(frames));
		if (frames)
			return lost("the table of frames says %#x of text", frames);
		return won("a CPU that started cleared what the table of frames says of text");
	}
	return vdso_text();
}

enum outcome cpu_capability(void)
{
	return skipped("this CPU is asked by code that was patched");
}
#else
#define CAPABILITIES	"system_cpucaps"	/* a bitmap in ordinary memory */
#define HAS_S1POE	42			/* of Linux 6.12 */

static int set_capability(bool has)
{
	uint64_t at = ksymbol(CAPABILITIES) + HAS_S1POE / 64 * 8, bit = 1UL << HAS_S1POE % 64;

	return store_constant(at, has ? kread64(at) | bit : kread64(at) & ~bit);
}

/* A CPU that comes turns overlays on if all CPUs have them, as the bitmap says. */
enum outcome cpu_capability(void)
{
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (set_capability(false))
		return lost("the bitmap was not to be changed");
	hotplug_cpu(false);
	hotplug_cpu(true);
	set_capability(true);
	stay_on_cpu(1);
	outcome = steal_secret_by(plain_store, NULL);
	stay_on_cpu(0);
	hotplug_cpu(false);
	hotplug_cpu(true);
	return outcome;
}

enum outcome cpu_start_lock(void)
{
	return skipped("x86-64 only");
}
#endif
