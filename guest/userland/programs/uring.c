// SPDX-License-Identifier: GPL-2.0-only
/* io_uring: mapped rings, buffers that are registered and pinned, small, huge and hugetlb, and a mapped ring of buffers. */
#include <linux/io_uring.h>
#include <stddef.h>

#include "part.h"

/* Debian 12's headers are those of 6.1. */
#define PBUF_RING_MMAP		1
#define OFF_PBUF_RING		0x80000000ULL
#define ENTRIES		8
#define SIZE		(4UL << 20)
#define RING_BUFFERS	16

static int ring;
static char *rings, *entries;
static struct io_uring_params params;
static int file;

static int uring_register(unsigned int what, void *argument, unsigned int count)
{
	return syscall(SYS_io_uring_register, ring, what, argument, count);
}

static void open_ring(void)
{
	size_t size;

	ring = syscall(SYS_io_uring_setup, ENTRIES, &params);
	need(ring >= 0, "no io_uring");
	size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (params.sq_off.array + params.sq_entries * 4 > size)
		size = params.sq_off.array + params.sq_entries * 4;
	rings = map(size, MAP_SHARED | MAP_POPULATE, ring);
	entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	check(entries != MAP_FAILED, "mmap of the entries");
}

/* One operation; its result, and which buffer it took in flags. */
static int operate(const struct io_uring_sqe *sqe, unsigned int *flags)
{
	unsigned int *tail = (unsigned int *)(rings + params.sq_off.tail);
	unsigned int *head = (unsigned int *)(rings + params.cq_off.head);
	unsigned int mask = *(unsigned int *)(rings + params.sq_off.ring_mask);
	unsigned int slot = *tail & mask;
	struct io_uring_cqe *cqe;
	int result;

	((struct io_uring_sqe *)entries)[slot] = *sqe;
	((unsigned int *)(rings + params.sq_off.array))[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "enter");
	mask = *(unsigned int *)(rings + params.cq_off.ring_mask);
	cqe = (struct io_uring_cqe *)(rings + params.cq_off.cqes) + (*head & mask);
	result = cqe->res;
	if (flags)
		*flags = cqe->flags;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static int transfer(int opcode, char *memory, size_t size, off_t offset, int index)
{
	return operate(&(struct io_uring_sqe){ .opcode = opcode, .fd = file, .off = offset,
		       .addr = (uintptr_t)memory, .len = size, .buf_index = index }, NULL);
}

static void registered(char *memory, const char *what)
{
	struct iovec vector = { memory, SIZE };
	size_t at, step = SIZE / 4;

	number_pages(memory, SIZE, 31);
	check(!uring_register(IORING_REGISTER_BUFFERS, &vector, 1), "register %s", what);
	for (at = 0; at < SIZE; at += step)
		check(transfer(IORING_OP_WRITE_FIXED, memory + at, step, at, 0) == (int)step, "write from %s", what);
	/* What is pinned must not be copied away from the driver by a fork and a write. */
	check(!in_child(usleep(1000)), "child");
	number_pages(memory, SIZE, 1);
	for (at = 0; at < SIZE; at += step)
		check(transfer(IORING_OP_READ_FIXED, memory + at, step, at, 0) == (int)step, "read into %s", what);
	check(pages_numbered(memory, SIZE, 31), "%s: what was read", what);
	check(!uring_register(IORING_UNREGISTER_BUFFERS, NULL, 0), "unregister %s", what);
	printf("%s: %lu bytes registered, written and read\n", what, SIZE);
}

static void ring_of_buffers(void)
{
	struct io_uring_buf_reg wanted = { .ring_entries = RING_BUFFERS, .bgid = 1 };
	char *memory = map(RING_BUFFERS * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct io_uring_buf_ring *buffers;
	unsigned int flags = 0;
	int i;

	/* Named pad by older headers, flags by newer ones. */
	*((char *)&wanted + offsetof(struct io_uring_buf_reg, bgid) + 2) = PBUF_RING_MMAP;
	check(!uring_register(IORING_REGISTER_PBUF_RING, &wanted, 1), "ring of buffers");
	buffers = mmap(NULL, RING_BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		       OFF_PBUF_RING | 1ULL << 16);
	check(buffers != MAP_FAILED, "mmap of the ring of buffers");
	for (i = 0; i < RING_BUFFERS; i++) {
		struct io_uring_buf *buffer = (struct io_uring_buf *)buffers + i;

		buffer->addr = (uintptr_t)memory + i * PAGE;
		buffer->len = PAGE;
		buffer->bid = i;
	}
	__atomic_store_n(&buffers->tail, RING_BUFFERS, __ATOMIC_RELEASE);
	for (i = 0; i < RING_BUFFERS; i++) {
		int got = operate(&(struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = file, .off = i * PAGE,
				  .len = PAGE, .flags = IOSQE_BUFFER_SELECT, .buf_group = 1 }, &flags);
		unsigned int id = flags >> IORING_CQE_BUFFER_SHIFT;

		check(got == (int)PAGE && id < RING_BUFFERS, "read %d into a buffer of the ring", got);
		check(*(unsigned int *)(memory + id * PAGE) == 31U + i, "content of buffer %u", id);
	}
	printf("ring of %d buffers\n", RING_BUFFERS);
}

int main(void)
{
	char name[] = "/var/tmp/portcullis-uring-XXXXXX", *memory;

	file = mkstemp(name);
	check(file >= 0 && !unlink(name), "file");
	open_ring();
	memory = aligned_memory(SIZE, MAP_PRIVATE);
	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	registered(memory, "small pages");
	memory = aligned_memory(SIZE, MAP_PRIVATE);
	madvise(memory, SIZE, MADV_HUGEPAGE);
	registered(memory, "huge pages");
	registered(aligned_memory(SIZE, MAP_SHARED), "shared memory");
	check(write_file("/proc/sys/vm/nr_hugepages", "4"), "nr_hugepages");
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	check(memory != MAP_FAILED, "hugetlb pages");
	registered(memory, "hugetlb pages");
	munmap(memory, SIZE);
	write_file("/proc/sys/vm/nr_hugepages", "0");
	ring_of_buffers();
	return 0;
}
