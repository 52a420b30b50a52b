// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "filter.h"
#include "objects.h"

#define PACKS		"pack_list"
#define PACK_POINTER	16
#define SEARCHED	16384	/* of a pack */
#define MESSAGE		100
#define KEPT		0x51
#define WANTED		0x52

static bool attach(int fd)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, KEPT } };
	struct sock_fprog filter = { .len = 1, .filter = code };

	return !setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

/* Where "return KEPT" has its constant, and what would make it WANTED. */
#ifdef __x86_64__
static int find_constant(const unsigned char *code, int len, uint32_t *patched)
{
	static const unsigned char mov[] = { 0xb8, KEPT, 0, 0, 0 };
	const unsigned char *at = memmem(code, len, mov, sizeof(mov));

	*patched = WANTED;
	return at ? at - code + 1 : -1;
}
#else
static int find_constant(const unsigned char *code, int len, uint32_t *patched)
{
	uint32_t insn;
	int at;

	for (at = 0; at < len; at += sizeof(insn)) {
		memcpy(&insn, code + at, sizeof(insn));
		if ((insn & 0x7fffffe0) != (0x52800000 | KEPT << 5))
			continue;
		*patched = insn + ((WANTED - KEPT) << 5);
		return at;
	}
	return -1;
}
#endif

static bool find_code(struct filter *filter)
{
	uint64_t packs = ksymbol(PACKS), pack = kread64(packs), start;
	static unsigned char code[SEARCHED];
	struct slot slot;
	int at;

	if (!packs || pack == packs)
		return false;
	start = kread64(pack + PACK_POINTER);
	if (kread(start, code, sizeof(code)))
		return false;
	at = find_constant(code, sizeof(code), &filter->patched);
	filter->code = start + at;
	if (at < 0 || kwalk(filter->code, LEAF, 0, &slot))
		return false;
	filter->page = slot.page;
	filter->alias = slot.alias;
	return true;
}

bool filter_open(struct filter *filter)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) || !attach(fds[1]))
		return false;
	filter->to = fds[0];
	filter->from = fds[1];
	return find_code(filter);
}

enum outcome filter_judge(struct filter *filter, int err)
{
	char message[MESSAGE] = "";
	ssize_t len;

	send(filter->to, message, sizeof(message), 0);
	len = recv(filter->from, message, sizeof(message), MSG_DONTWAIT);
	close(filter->to);
	close(filter->from);
	if (len == WANTED)
		return won("the kernel ran code that was changed: the filter kept %zd bytes, not %d", len, KEPT);
	return lost("the filter keeps %zd bytes as before (error %d)", len, err);
}
