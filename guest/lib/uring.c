// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uring.h"

#define ENTRIES		4

static unsigned int *in_ring(const struct uring *ring, unsigned int offset)
{
	return (unsigned int *)(ring->rings + offset);
}

int uring_open(struct uring *ring)
{
	size_t size;

	ring->fd = syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return -errno;
	/* Room for the array, which lies behind the completions. */
	size = ring->params.sq_off.array + ENTRIES * sizeof(unsigned int);
	ring->rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->entries = mmap(NULL, ENTRIES * sizeof(*ring->entries), PROT_READ | PROT_WRITE,
			     MAP_SHARED, ring->fd, IORING_OFF_SQES);
	return ring->rings == MAP_FAILED || ring->entries == MAP_FAILED ? -errno : 0;
}

int uring_operate(struct uring *ring, const struct io_uring_sqe *entry)
{
	unsigned int *tail = in_ring(ring, ring->params.sq_off.tail);
	unsigned int *head = in_ring(ring, ring->params.cq_off.head), slot;
	struct io_uring_cqe *done;
	int result;

	slot = *tail & *in_ring(ring, ring->params.sq_off.ring_mask);
	ring->entries[slot] = *entry;
	in_ring(ring, ring->params.sq_off.array)[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -errno;
	slot = *head & *in_ring(ring, ring->params.cq_off.ring_mask);
	done = (struct io_uring_cqe *)(ring->rings + ring->params.cq_off.cqes) + slot;
	result = done->res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

int uring_register(const struct uring *ring, unsigned int what, const void *arg, unsigned int nr)
{
	int result = syscall(SYS_io_uring_register, ring->fd, what, arg, nr);

	return result < 0 ? -errno : result;
}
