// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack by way of a file that writes registers of the CPU by number: for who has
 * root's capabilities, as some servers do. An ioctl() of it takes all registers of the
 * instruction, so that nobody asks which one it writes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#include <asm/msr.h>

#define FILE_NAME	"/dev/cpu/0/msr"
#define IA32_PKRS	0x6e1
#define ECX		1		/* of eax, ecx, edx and five more */

/* Nothing may come between: the next section shuts the gate. */
static int store_behind_write(const void *how, uint64_t slot, uint64_t value)
{
	uint32_t registers[8] = { [ECX] = IA32_PKRS };

	ioctl(*(const int *)how, X86_IOC_WRMSR_REGS, registers);
	return plain_store(NULL, slot, value);
}

enum outcome msr_registers(void)
{
	int file;

	stay_on_cpu(0);
	file = open(FILE_NAME, O_RDWR);
	if (file < 0)
		return broken("no " FILE_NAME);
	return steal_secret_by(store_behind_write, &file);
}

#else

enum outcome msr_registers(void)
{
	return skipped("x86-64 only");
}

#endif
