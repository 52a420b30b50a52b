/* SPDX-License-Identifier: GPL-2.0-only */
/* One ring of io_uring's, without a library: one operation at a time. */
#ifndef GUEST_URING_H
#define GUEST_URING_H

#include <linux/io_uring.h>

struct uring {
	int fd;
	char *rings;
	struct io_uring_sqe *entries;
	struct io_uring_params params;
};

/* Returns 0, or -errno: -ENOSYS where the kernel has none. */
int uring_open(struct uring *ring);

/* Returns what the operation does, or -errno if it could not be asked for. */
int uring_operate(struct uring *ring, const struct io_uring_sqe *entry);

/* As io_uring_register(2), but -errno. */
int uring_register(const struct uring *ring, unsigned int what, const void *arg, unsigned int nr);

#endif
