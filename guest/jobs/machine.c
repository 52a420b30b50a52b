// SPDX-License-Identifier: GPL-2.0-only
/* CPUs and memory that come and go, sleep, and NMIs. Some need the host. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "job.h"
#include "kpkeys.h"
#include "results.h"

#define CPU1		"/sys/devices/system/cpu/cpu1/online"
#define MEMORY		"/sys/devices/system/memory/"
#define DIMM_MIB	128
#define LARGE_MIB	1024	/* one entry of the linear map, where it is made of blocks */
#define DIMM_BLOCKS	16	/* most blocks either can have */
#ifdef __x86_64__
#define FAR_GIB		"640"	/* more than a top-level entry maps */
#else
#define FAR_GIB		"112"
#endif
#define HOST_SECONDS	10
#define NMIS		200
#define BACKTRACES	40

enum job_outcome cpu_hotplug(void)
{
	int churn, i, err = 0;

	if (access(CPU1, F_OK))
		return skipped("one CPU only");
	churn = start_churn();
	for (i = 0; !err && i < 3; i++) {
		err = file_write(CPU1, "0");
		err = err ?: file_write(CPU1, "1");
	}
	stop_churn(churn);
	return err ? failed("error %d in round %d", -err, i) : passed();
}

/* The host wakes us a moment later. Sleep that the CPU's state survives (s2idle) would test nothing. */
enum job_outcome suspend(void)
{
	char kinds[64];
	int churn, err;

	file_read("/sys/power/mem_sleep", kinds, sizeof(kinds));
	if (!strstr(kinds, "[deep]"))
		return failed("mem_sleep is '%s', not deep", strtok(kinds, "\n") ?: "");
	churn = start_churn();
	err = file_write("/sys/power/state", "mem");
	usleep(100000);
	stop_churn(churn);
	churn_memory(1 << 20);
	return err ? failed("/sys/power/state: error %d", -err) : passed();
}

static unsigned long count_nmis(void)
{
	char text[16384];
	unsigned long count = 0;
	char *at;
	int n;

	file_read("/proc/interrupts", text, sizeof(text));
	at = strstr(text, "NMI:");
	if (!at)
		return 0;
	for (at += 4; *at == ' ' && sscanf(at, " %n", &n) != EOF; ) {
		char *end;

		count += strtoul(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	return count;
}

enum job_outcome nmi_storm(void)
{
	unsigned long before = count_nmis(), seen = 0, last;
	double start = now();
	int churn = start_churn();

	result_host("nmi %d", NMIS);
	do {
		last = seen;
		churn_memory(8 << 20);
		usleep(300000);
		seen = count_nmis() - before;
	} while ((!seen || seen > last) && now() - start < HOST_SECONDS);
	stop_churn(churn);
	if (!seen)
		return skipped("the host sent no NMI");
	result_comment("%lu NMIs", seen);
	return passed();
}

/* Each CPU interrupts all others, by NMI where the machine can. */
enum job_outcome backtraces(void)
{
	int churn = start_churn();
	int i, err = 0;

	for (i = 0; !err && i < BACKTRACES; i++) {
		churn_memory(1 << 20);
		err = file_write("/proc/sysrq-trigger", "l");
	}
	stop_churn(churn);
	return err ? failed("/proc/sysrq-trigger: error %d", -err) : passed();
}

static bool block_file(int block, const char *name, char *value, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), MEMORY "memory%d/%s", block, name);
	if (file_read(path, value, size) <= 0)
		return false;
	value[strcspn(value, "\n")] = '\0';
	return true;
}

static int set_block(int block, const char *state)
{
	char path[128];

	snprintf(path, sizeof(path), MEMORY "memory%d/state", block);
	return file_write(path, state);
}

/* Blocks that are not online: those of a new DIMM. */
static int find_offline(int *blocks, int max)
{
	struct dirent *entry;
	DIR *dir = opendir(MEMORY);
	char state[32];
	int n = 0, block;

	while (dir && n < max && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "memory%d", &block) != 1)
			continue;
		if (block_file(block, "state", state, sizeof(state)) && !strcmp(state, "offline"))
			blocks[n++] = block;
	}
	if (dir)
		closedir(dir);
	return n;
}

static int wait_for_blocks(int *blocks)
{
	double start = now();
	int n = 0;

	while (!n && now() - start < HOST_SECONDS) {
		usleep(100000);
		n = find_offline(blocks, DIMM_BLOCKS);
	}
	/* The others of the same DIMM follow at once. */
	usleep(500000);
	return n ? find_offline(blocks, DIMM_BLOCKS) : 0;
}

static bool wait_until_gone(int block)
{
	double start = now();
	char state[32];

	while (now() - start < HOST_SECONDS) {
		if (!block_file(block, "state", state, sizeof(state)))
			return true;
		usleep(100000);
	}
	return false;
}

static void use_memory(void)
{
	size_t size = (size_t)DIMM_MIB << 20;
	char *memory = map_memory(size);

	if (!memory)
		return;
	touch_pages(memory, size);
	munmap(memory, size);
}

static enum job_outcome plug_and_unplug(const char *name, const char *address)
{
	int blocks[DIMM_BLOCKS];
	char reason[512];
	int i, n, err = 0;

	file_write(MEMORY "auto_online_blocks", "offline");
	result_host("dimm-add %s %d%s", name, DIMM_MIB, address);
	n = wait_for_blocks(blocks);
	if (!n)
		return skipped("the host added no memory");
	for (i = 0; !err && i < n; i++)
		err = set_block(blocks[i], "online_movable");
	if (err)
		return failed("memory%d cannot go online: error %d", blocks[i - 1], -err);
	use_memory();
	if (!kpkeys_check(reason, sizeof(reason)))
		return failed("with the memory: %s", reason);
	for (i = 0; !err && i < n; i++)
		err = set_block(blocks[i], "offline");
	if (err)
		return failed("memory%d cannot go offline: error %d", blocks[i - 1], -err);
	result_host("dimm-del %s", name);
	if (!wait_until_gone(blocks[0]))
		return failed("memory%d is still there", blocks[0]);
	use_memory();
	return passed();
}

enum job_outcome memory_hotplug(void)
{
	return plug_and_unplug("stress0", "");
}

/* So far from other memory that its struct pages need tables of their own, and x86-64 another top-level entry. */
enum job_outcome far_memory_hotplug(void)
{
	return plug_and_unplug("stress1", " " FAR_GIB);
}

static int set_blocks(const int *blocks, int n, const char *state)
{
	int i, err = 0;

	for (i = 0; !err && i < n; i++)
		err = set_block(blocks[i], state);
	return err;
}

static unsigned long splits(void)
{
	return kpkeys_linear_map("split_puds") + kpkeys_linear_map("unfolded_pmds");
}

/* A part of it goes and comes back, so what maps all of it must be split. */
enum job_outcome part_memory_hotplug(void)
{
	bool blocks_in_map = kpkeys_linear_map("pmds");
	int blocks[DIMM_BLOCKS];
	unsigned long before;
	char reason[512];
	int n, err;

	file_write(MEMORY "auto_online_blocks", "offline");
	result_host("dimm-add stress2 %d", LARGE_MIB);
	n = wait_for_blocks(blocks);
	if (n < 2)
		return skipped("the host added %d blocks of memory", n);
	err = set_blocks(blocks, n, "online_movable");
	before = splits();
	err = err ?: set_block(blocks[n / 2], "offline");
	if (!err && blocks_in_map && splits() == before)
		return failed("nothing was split");
	if (!kpkeys_check(reason, sizeof(reason)))
		return failed("without a part: %s", reason);
	err = err ?: set_block(blocks[n / 2], "online_movable");
	use_memory();
	err = err ?: set_blocks(blocks, n, "offline");
	if (err)
		return failed("error %d", -err);
	result_host("dimm-del stress2");
	return wait_until_gone(blocks[0]) ? passed() : failed("the memory is still there");
}
