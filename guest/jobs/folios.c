// SPDX-License-Identifier: GPL-2.0-only
/* Folios smaller than a huge page: on arm64 they are mapped by contiguous entries. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

#define FOLIO_SIZE	(64UL << 10)
#define FOLIO_DIR	"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/"
#define FOLIOS		64
#define AREA		(FOLIOS * FOLIO_SIZE)

static long folios_made(void)
{
	char text[32];
	long made = 0;

	if (file_read(FOLIO_DIR "stats/anon_fault_alloc", text, sizeof(text)) > 0)
		sscanf(text, "%ld", &made);
	return made;
}

static void fill(char *memory, char value)
{
	size_t at;

	for (at = 0; at < AREA; at += PAGE_SIZE)
		memory[at] = value;
}

static bool holds(const char *memory, size_t size, char value)
{
	size_t at;

	for (at = 0; at < size; at += PAGE_SIZE)
		if (memory[at] != value)
			return false;
	return true;
}

/* Both write what they share, the child first. */
static bool copy_on_write(char *memory)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		fill(memory, 2);
		_exit(!holds(memory, AREA, 2));
	}
	waitpid(pid, &status, 0);
	return !status && holds(memory, AREA, 1);
}

/* Entries in the middle of a run change, so it is a run no more. */
static void break_runs(char *memory)
{
	int i;

	for (i = 0; i < FOLIOS; i++) {
		char *page = memory + i * FOLIO_SIZE + 3 * PAGE_SIZE;

		mprotect(page, PAGE_SIZE, PROT_READ);
		mprotect(page, PAGE_SIZE, PROT_READ | PROT_WRITE);
		madvise(page + PAGE_SIZE, 2 * PAGE_SIZE, MADV_COLD);
		if (i % 2)
			madvise(page, FOLIO_SIZE / 2, MADV_FREE);
	}
}

/* Half of a folio moves by half of its size. */
static bool move_half(char *memory)
{
	size_t half = FOLIO_SIZE / 2;
	char *target = map_memory(2 * FOLIO_SIZE);
	char *moved;

	if (!target)
		return false;
	moved = mremap(memory, half, half, MREMAP_MAYMOVE | MREMAP_FIXED, target + half);
	return moved != MAP_FAILED && holds(moved, half, 1);
}

enum job_outcome large_folios(void)
{
	long before = folios_made();
	char *memory = map_memory(AREA);

	if (!memory)
		return failed("no memory");
	if (file_write(FOLIO_DIR "enabled", "always"))
		return skipped("no folios of 64 KiB");
	fill(memory, 1);
	file_write(FOLIO_DIR "enabled", "never");
	if (folios_made() - before < FOLIOS / 2)
		return failed("%ld folios of 64 KiB for %d", folios_made() - before, FOLIOS);
	if (!copy_on_write(memory))
		return failed("copy on write lost a value");
	file_write("/proc/self/clear_refs", "1");
	if (!holds(memory, AREA, 1))
		return failed("clearing the accessed bit lost a value");
	break_runs(memory);
	fill(memory, 1);
	if (!move_half(memory))
		return failed("mremap lost a value");
	munmap(memory + AREA / 2 + PAGE_SIZE, PAGE_SIZE);
	return passed();
}
