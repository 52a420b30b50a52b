// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys of user space beside those of the kernel: every key that a process can
 * get must leave the kernel free to use its memory.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job.h"
#include "kpkeys.h"

#define MAX_KEYS	16

/* On arm64 both have keys of the same register. */
#ifdef __aarch64__
#define MOST_KEYS	(kpkeys_stat("boot_pages") ? 4 : 8)
#else
#define MOST_KEYS	MAX_KEYS
#endif

static int wake_op(uint32_t *word)
{
	return syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 1, 1, word,
		       FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GT, 100));
}

/* The kernel itself adds to the word, with its own rights. */
static enum job_outcome use_key(int key)
{
	uint32_t *word = (uint32_t *)map_memory(PAGE_SIZE);

	if (!word || pkey_mprotect(word, PAGE_SIZE, PROT_READ | PROT_WRITE, key))
		return failed("pkey_mprotect with key %d failed", key);
	if (wake_op(word))
		return failed("FUTEX_WAKE_OP on a page of key %d failed", key);
	if (*word != 1)
		return failed("key %d: the kernel's addition was lost", key);
	munmap(word, PAGE_SIZE);
	return passed();
}

/* A key nobody was given must be refused, whatever its number. */
static enum job_outcome refuse_others(int keys)
{
	char *page = map_memory(PAGE_SIZE);
	int key;

	for (key = keys; key < MAX_KEYS; key++)
		if (!pkey_mprotect(page, PAGE_SIZE, PROT_READ, key))
			return failed("key %d can be used but not be allocated", key);
	munmap(page, PAGE_SIZE);
	return passed();
}

enum job_outcome user_keys(void)
{
	int key = pkey_alloc(0, 0), keys = 1;
	enum job_outcome outcome;

	if (key < 0)
		return skipped("no protection keys for user space");
	outcome = use_key(0);
	for (; outcome == JOB_PASSED && key > 0; key = pkey_alloc(0, 0)) {
		outcome = use_key(key);
		keys++;
	}
	if (outcome != JOB_PASSED)
		return outcome;
	if (keys > (int)MOST_KEYS)
		return failed("%d keys for user space leave the kernel too few", keys);
	return refuse_others(keys);
}
