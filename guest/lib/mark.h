/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks for emulator/plugins: instructions that do nothing on a CPU, and open
 * and close a region for the plugin that counts. Regions do not nest.
 */
#ifndef MARK_H
#define MARK_H

#define MARK_NAME_SIZE	48	/* with the NUL */

/* The plugin reads the name through the page tables as they are: it must be in memory. */
static inline void mark_touch(const char *name)
{
	const volatile char *at = name;

	while (*at)
		at++;
}

/**
 * mark_open() - Count from here on, on this CPU
 * @name: Of the region, shorter than MARK_NAME_SIZE
 */
static inline void mark_open(const char *name)
{
#ifdef __aarch64__
	register const char *arg asm("x0") = name;

	mark_touch(name);
	asm volatile("hint #64" : : "r" (arg) : "memory");
#else
	mark_touch(name);
	asm volatile("nopl 0x504b4f01(%%rax)" : : "D" (name) : "memory");
#endif
}

/**
 * mark_close() - End the region of this CPU
 */
static inline void mark_close(void)
{
#ifdef __aarch64__
	asm volatile("hint #65" : : : "memory");
#else
	asm volatile("nopl 0x504b4f02(%%rax)" : : : "memory");
#endif
}

#endif
