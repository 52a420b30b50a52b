// SPDX-License-Identifier: GPL-2.0-only
/* The linear map of arm64: permissions of many of its pages, and who may join. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "job.h"
#include "kpkeys.h"
#include "results.h"

#define PROTECT		KPKEYS_DIR "protect"
#define FAULTY		KPKEYS_DIR "protect_faulty"
#define FAULTY_ROUNDS	20
#define FAULTY_MIB	"48"
#define CPU1		"/sys/devices/system/cpu/cpu1/online"
#define KFENCE_INTERVAL	"/sys/module/kfence/parameters/sample_interval"
#define KFENCE_STATS	"/sys/kernel/debug/kfence/stats"

static unsigned long memory_mib(void)
{
	char text[8192];
	unsigned long kib = 0;

	file_read("/proc/meminfo", text, sizeof(text));
	sscanf(text, "MemTotal: %lu", &kib);
	return kib >> 10;
}

static unsigned long splits(void)
{
	return kpkeys_linear_map("split_puds") + kpkeys_linear_map("split_pmds") +
	       kpkeys_linear_map("unfolded_pmds") + kpkeys_linear_map("unfolded_ptes");
}

static bool made_of_blocks(void)
{
	return kpkeys_linear_map("pmds") || kpkeys_linear_map("cont_ptes");
}

/* Most of the memory in one vmalloc area, made read-only and writable again. */
enum job_outcome protect_memory(void)
{
	bool blocks = made_of_blocks();
	unsigned long before = splits();
	char size[24];
	int err;

	if (access(PROTECT, F_OK))
		return skipped("not on this architecture");
	snprintf(size, sizeof(size), "%lu", memory_mib() * 8 / 10);
	err = file_write(PROTECT, size);
	if (err)
		return failed("%s MiB: error %d", size, -err);
	if (blocks && splits() == before)
		return failed("nothing was split");
	return passed();
}

/*
 * No memory for the tables that a split takes: an error, and nothing has
 * changed. With the protection on tables come from the pool, which has some.
 */
enum job_outcome protect_without_memory(void)
{
	bool blocks = made_of_blocks();
	int i, err = 0, refused = 0;
	char mode[16];

	if (access(FAULTY, F_OK) || access(FAIL_PAGES, F_OK))
		return skipped("not on this architecture");
	fail_page_allocations("30");
	for (i = 0; i < FAULTY_ROUNDS && (!err || err == -ENOMEM); i++) {
		err = file_write(FAULTY, FAULTY_MIB);
		refused += err == -ENOMEM;
	}
	fail_page_allocations("0");
	result_comment("%d of %d refused", refused, i);
	if (err && err != -ENOMEM)
		return failed("error %d", -err);
	err = file_write(PROTECT, FAULTY_MIB);
	if (err)
		return failed("error %d with memory", -err);
	kpkeys_mode(mode, sizeof(mode));
	if (blocks && !strcmp(mode, "off") && !refused)
		return failed("no split failed");
	return passed();
}

/*
 * A CPU cannot bear splits, and the map could not be repainted for it
 * (live_split_tables=): what needs a split is refused, and only that.
 */
enum job_outcome protect_refused(void)
{
	unsigned long before = splits();
	int err;

	if (access(PROTECT, F_OK))
		return skipped("not on this architecture");
	err = file_write(PROTECT, "48");
	if (err != -EBUSY)
		return failed("error %d, not EBUSY", -err);
	churn_memory(16 << 20);
	if (splits() != before || !kpkeys_linear_map("refused"))
		return failed("something was split");
	return passed();
}

/* CPU 1 cannot bear splits (live_split_not_on=1) and was not there at boot. */
enum job_outcome late_cpu(void)
{
	int err = file_write(CPU1, "1");

	return err ? passed() : failed("CPU 1 was let in");
}

/* KFENCE is switched on when the linear map has long been made. */
enum job_outcome late_kfence(void)
{
	char text[4096];
	int err, tries;
	char *at;

	if (access(KFENCE_INTERVAL, F_OK))
		return skipped("a kernel without KFENCE");
	err = file_write(KFENCE_INTERVAL, "10");
	if (err)
		return failed("error %d", -err);
	for (tries = 0; tries < 100; tries++) {
		churn_memory(1 << 20);
		usleep(20000);
		file_read(KFENCE_STATS, text, sizeof(text));
		at = strstr(text, "total allocations:");
		if (at && atoi(at + strlen("total allocations:")) > 20)
			return passed();
	}
	return failed("KFENCE samples nothing");
}
