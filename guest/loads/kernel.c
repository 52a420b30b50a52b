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

static int command(const char *name, long times, int pages)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %ld %d", name, times, pages);
	return file_write(COMMAND, text);
}

/* Linux 6.12 has none below 2 MiB, so such a benchmark would be that of small ones. */
static bool has_large_mappings(const struct load *load)
{
	char text[16] = "0";

	if (!load->huge)
		return true;
	if (command("vmalloc-order", 1, load->pages) ||
	    file_read(COMMAND, text, sizeof(text)) <= 0)
		load_failed("vmalloc-order");
	else if (!atoi(text))
		load_skipped("this kernel maps an area of %d pages by single ones", load->pages);
	return atoi(text);
}

static long kernel_round(const struct load *load)
{
	int err;

	if (access(COMMAND, F_OK)) {
		load_skipped("a kernel without KPKEYS_TEST_ONLY_LAB");
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
	VMALLOC_HUGE(16), VMALLOC_HUGE(64), VMALLOC_HUGE(256), VMALLOC_HUGE(512),
	{ .name = "vmalloc-random", .round = kernel_round, .pages = 1, .command = "vmalloc-random",
	  .times = 1000 },
	{ .name = "vm-map-ram", .round = kernel_round, .pages = 1, .command = "vm-map-ram",
	  .times = 10000 },
	GATE("guard"), GATE("register"), GATE("set-memory"), GATE("cr0-wp"), GATE("cr3"),
	GATE("cr3-pcid"), GATE("sctlr"), GATE("sctlr-no-isb"), GATE("ttbr0"), GATE("hypercall"),
	{ .name = NULL },
};
