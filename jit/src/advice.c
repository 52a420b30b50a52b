// SPDX-License-Identifier: MIT
/* What the kernel may be told of an area beside its permissions. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

#ifndef SYS_mseal
#define SYS_mseal	462
#endif

/* Many kernels are built without names, which nothing but a reader of /proc misses. */
void advice_name(void *start, size_t size, const char *name)
{
	count_call();
	syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, size, name);
}

void advice_huge(void *start, size_t size)
{
	count_call();
	madvise(start, size, MADV_HUGEPAGE);
}

int advice_seal(void *start, size_t size)
{
	count_call();
	return syscall(SYS_mseal, start, size, 0) ? -errno : 0;
}
