// SPDX-License-Identifier: GPL-2.0-only
/* Operations that the kernel repeats when it is asked to: mm/kpkeys/lab.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "load.h"

#define COMMAND		"/sys/kernel/debug/kpkeys_lab/command"
#define FOLIO_ORDER	4	/* 64 KiB, what arm64 maps by contiguous entries */

static int command(const char *name, long times, int pages)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %ld %d", name, times, pages);
	return file_write(COMMAND, text);
}

/* Has the kernel what a large area is to be mapped by? Not every machine has. */
static bool has_large_mappings(const struct load *load)
{
	char text[16] = "0";

	if (!load->huge)
		return true;
	if (command("vmalloc-order", 1, load->pages) ||
	    file_read(COMMAND, text, sizeof(text)) <= 0) {
		load_failed("vmalloc-order");
		return false;
	}
#ifdef __aarch64__
	if (atoi(text) != FOLIO_ORDER)
		load_failed("an area of %d pages is mapped by order %d", load->pages, atoi(text));
	return atoi(text) == FOLIO_ORDER;
#else
	return true;	/* less than 2 MiB is mapped by pages here */
#endif
}

static long kernel_round(const struct load *load)
{
	int err;

	if (access(COMMAND, F_OK)) {
		load_skipped("a kernel without KPKEYS_LAB");
		return 0;
	}
	if (!has_large_mappings(load))
		return 0;
	load_open(load);
	err = command(load->command, load->times, load->pages);
	load_close();
	if (err == -EOPNOTSUPP)
		load_skipped("not on this machine");
	else if (err)
		load_failed("%s: %s", load->command, strerror(-err));
	return err ? 0 : load->times;
}

#define VMALLOC(p)	{ .name = "vmalloc-p" #p "-h0", .round = kernel_round, .pages = p, \
			  .command = "vmalloc", .times = 1000 }
#define VMALLOC_HUGE(p)	{ .name = "vmalloc-p" #p "-h1", .round = kernel_round, .pages = p, \
			  .command = "vmalloc-huge", .huge = true, .times = 1000 }
#define GATE(gate)	{ .name = "gate-" gate, .round = kernel_round, .pages = 1, \
			  .command = "gate-" gate, .times = 10000 }

const struct load kernel_loads[] = {
	VMALLOC(1), VMALLOC(4), VMALLOC(16), VMALLOC(64), VMALLOC(256),
	VMALLOC_HUGE(16), VMALLOC_HUGE(64), VMALLOC_HUGE(256),
	{ .name = "vmalloc-random", .round = kernel_round, .pages = 1, .command = "vmalloc-random",
	  .times = 1000 },
	{ .name = "vm-map-ram", .round = kernel_round, .pages = 1, .command = "vm-map-ram",
	  .times = 10000 },
	GATE("guard"), GATE("register"), GATE("set-memory"), GATE("cr0-wp"), GATE("cr3"),
	GATE("cr3-pcid"), GATE("sctlr"), GATE("sctlr-no-isb"), GATE("ttbr0"), GATE("hypercall"),
	{ .name = NULL },
};
