// SPDX-License-Identifier: MIT
/* From bytes to code: caches, and what other CPUs fetched ahead. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

static int membarrier(int command)
{
	count_call();
	return syscall(SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
}

/* A process has to register first; doing so again is cheap and never wrong. */
static int synchronise_threads(void)
{
	static atomic_bool registered;
	int error;

	if (!atomic_load(&registered)) {
		error = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
		if (error)
			return error;
		atomic_store(&registered, true);
	}
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

int jitgate_publish(const void *start, size_t size, unsigned int flags)
{
	char *first = (char *)(uintptr_t)start;

	if (flags & ~JITGATE_ALL_THREADS)
		return -EINVAL;
	/* Nothing on x86-64; on arm64 caches by line, and the barriers. */
	__builtin___clear_cache(first, first + size);
	return flags & JITGATE_ALL_THREADS ? synchronise_threads() : 0;
}
