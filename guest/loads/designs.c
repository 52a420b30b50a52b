// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tells the designs of kpkeys_design= apart: how often the register is
 * written, and how often a TLB is flushed because of a key.
 */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "kpkeys.h"
#include "load.h"

#define FEW_FLUSHES	2

static char wrong[256];

void load_design(char *design, size_t size)
{
	char text[32], backend[16];

	/* A kernel of one design does not say which. */
	kpkeys_backend(backend, sizeof(backend));
	if (file_read(KPKEYS_DIR "design", text, sizeof(text)) <= 0)
		strcpy(text, strcmp(backend, "none") ? "portcullis" : "off");
	snprintf(design, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/* What this kernel does not count, the emulator does: the host looks at it. */
static const char *not_at_least(const char *what, long count, long bound)
{
	if (count < 0)
		return NULL;
	snprintf(wrong, sizeof(wrong), "%ld %s, and not %ld or more", count, what, bound);
	return count < bound ? wrong : NULL;
}

static const char *not_at_most(const char *what, long count, long bound)
{
	snprintf(wrong, sizeof(wrong), "%ld %s, and not %ld or less", count, what, bound);
	return count > bound ? wrong : NULL;
}

static const char *either(const char *first, const char *second)
{
	return first ? first : second;
}

/* Entries of user space: @per writes of the register for each where nothing is batched. */
static const char *judge_memory(const char *design, const struct load_stats *stats, size_t size,
				int per)
{
	long pages = size / LOAD_PAGE, tables = size / LOAD_HUGE;
	long writes = stats->n[WRITES], flushes = stats->n[FLUSHES];

	if (!strcmp(design, "per-write"))
		return either(not_at_least("register writes", writes, per * pages),
			      not_at_least("key flushes", flushes, tables));
	if (!strcmp(design, "rfc"))
		return either(not_at_most("register writes", writes, pages / 16),
			      not_at_least("key flushes", flushes, tables));
	return either(not_at_most("register writes", writes, pages / 16),
		      not_at_most("key flushes", flushes, FEW_FLUSHES));
}

/* One section to map and one to unmap, or two where an area crosses a table. */
static const char *judge_vmalloc(const char *design, const struct load_stats *stats, int pages,
				 long times)
{
	long writes = stats->n[WRITES];

	if (!strcmp(design, "per-write"))
		return not_at_least("register writes", writes, 4 * pages * times);
	return either(not_at_least("register writes", writes, 4 * times),
		      not_at_most("register writes", writes, 8 * times + 200));
}

const char *load_contradicts(const struct load *load, const struct load_stats *stats, long times)
{
	char design[32];

	load_design(design, sizeof(design));
	if (!strcmp(design, "off"))
		return not_at_most("register writes with the protection off", stats->n[WRITES], 0);
	if (!strncmp(load->name, "fork-", 5))
		return judge_memory(design, stats, load->size, 4);
	if (!strncmp(load->name, "munmap-", 7))
		return judge_memory(design, stats, load->size, 2);
	if (load->command && !strcmp(load->command, "vmalloc"))
		return judge_vmalloc(design, stats, load->pages, times);
	return NULL;
}
