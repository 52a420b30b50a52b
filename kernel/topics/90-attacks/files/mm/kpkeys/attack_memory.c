// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: memory an attacker can have the kernel allocate and free,
 * and a call to show that memory became executable.
 */
#include <linux/err.h>
#include <linux/execmem.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "attack.h"

#define ATTACK_MAX_COUNT	256

struct attack_block {
	struct list_head list;
	void *addr;
	unsigned int order;
	bool vmalloc;
};

static void block_free(struct attack_block *block)
{
	list_del(&block->list);
	if (block->vmalloc)
		vfree(block->addr);
	else
		free_pages((unsigned long)block->addr, block->order);
	kfree(block);
}

static int block_alloc(struct attack_file *file, struct attack_request *request,
		       bool vmalloc)
{
	struct attack_block *block = kzalloc(sizeof(*block), GFP_KERNEL);

	if (!block)
		return -ENOMEM;
	block->vmalloc = vmalloc;
	block->order = request->order;
	if (vmalloc)
		block->addr = __vmalloc((size_t)request->count * PAGE_SIZE, GFP_KERNEL);
	else
		block->addr = (void *)__get_free_pages(GFP_KERNEL | __GFP_NOWARN,
						       block->order);
	if (!block->addr) {
		kfree(block);
		return -ENOMEM;
	}
	list_add(&block->list, &file->blocks);
	attack_print(file, "address=0x%lx page=0x%lx\n", (long)block->addr,
		     vmalloc ? 0 : (long)virt_to_page(block->addr));
	return 0;
}

/* Newest first. */
static int blocks_free(struct attack_file *file, bool vmalloc, unsigned int count)
{
	struct attack_block *block, *next;

	list_for_each_entry_safe(block, next, &file->blocks, list) {
		if (block->vmalloc != vmalloc)
			continue;
		if (!count--)
			break;
		block_free(block);
	}
	return 0;
}

static struct attack_block *block_find(struct attack_file *file, unsigned long addr)
{
	struct attack_block *block;

	list_for_each_entry(block, &file->blocks, list)
		if (block->addr == (void *)addr && !block->vmalloc)
			return block;
	return NULL;
}

static int block_free_at(struct attack_file *file, unsigned long addr)
{
	struct attack_block *block = block_find(file, addr);

	if (!block)
		return -ENOENT;
	block_free(block);
	return 0;
}

/* Nothing larger fits in what this leaves free. */
static int blocks_free_every_other(struct attack_file *file, unsigned int order)
{
	struct attack_block *block, *next;
	bool keep = true;

	list_for_each_entry_safe(block, next, &file->blocks, list) {
		if (block->vmalloc || block->order != order)
			continue;
		keep = !keep;
		if (!keep)
			block_free(block);
	}
	return 0;
}

/**
 * attack_alloc() - allocate blocks of pages
 * @file: open file
 * @request: order, and count of blocks
 *
 * Answers with one line per block. The addresses stay known to user space
 * after attack_free(): that is the stale reference.
 *
 * Return: 0 or -ENOMEM.
 */
int attack_alloc(struct attack_file *file, struct attack_request *request)
{
	unsigned int i, count = request->count ?: 1;
	int err = 0;

	if (request->order > MAX_PAGE_ORDER || count > ATTACK_MAX_COUNT)
		return -EINVAL;
	for (i = 0; i < count && !err; i++)
		err = block_alloc(file, request, false);
	return err;
}

/**
 * attack_free() - free blocks of attack_alloc()
 * @file: open file
 * @request: how many of the newest, 0 is all; or the address of one; or of which
 *	order every other one
 *
 * Return: 0 or -ENOENT.
 */
int attack_free(struct attack_file *file, struct attack_request *request)
{
	if (request->store.addr)
		return block_free_at(file, request->store.addr);
	if (request->holes)
		return blocks_free_every_other(file, request->order);
	return blocks_free(file, false, request->count ?: UINT_MAX);
}

/**
 * attack_split() - make single pages of a block
 * @file: open file
 * @request: address of the block
 *
 * They are the newest then, the last one first.
 *
 * Return: 0, -ENOENT, or -ENOMEM: some pages are lost.
 */
int attack_split(struct attack_file *file, struct attack_request *request)
{
	struct attack_block *block = block_find(file, request->store.addr), *page;
	unsigned int i, order;

	if (!block)
		return -ENOENT;
	order = block->order;
	block->order = 0;
	split_page(virt_to_page(block->addr), order);
	for (i = 1; i < 1U << order; i++) {
		page = kmemdup(block, sizeof(*block), GFP_KERNEL);
		if (!page)
			return -ENOMEM;
		page->addr += i * PAGE_SIZE;
		list_add(&page->list, &file->blocks);
	}
	return 0;
}

/**
 * attack_vmalloc() - allocate a vmalloc area
 * @file: open file
 * @request: count of pages
 *
 * Return: 0 or a negative error.
 */
int attack_vmalloc(struct attack_file *file, struct attack_request *request)
{
	if (!request->count)
		return -EINVAL;
	return block_alloc(file, request, true);
}

/**
 * attack_vfree() - free every area of attack_vmalloc()
 * @file: open file
 * @request: unused
 *
 * Return: 0.
 */
int attack_vfree(struct attack_file *file, struct attack_request *request)
{
	return blocks_free(file, true, UINT_MAX);
}

/* Stands for thunks that alternatives make for the kernel's text as it starts. */
void *attack_thunk __ro_after_init;

static int __init make_thunk(void)
{
	attack_thunk = execmem_alloc(EXECMEM_MODULE_TEXT, PAGE_SIZE);
	if (!attack_thunk)
		return -ENOMEM;
	memset(attack_thunk, 0, PAGE_SIZE);
	return set_memory_rox((unsigned long)attack_thunk, 1);
}
arch_initcall(make_thunk);

/**
 * attack_call() - call an address and answer with what it returns
 * @file: open file
 * @request: address
 *
 * Stands for the hijacked function pointer that follows once data can be
 * executed. Oopses when the page cannot.
 *
 * Return: 0.
 */
int attack_call(struct attack_file *file, struct attack_request *request)
{
	unsigned long (*function)(void) = (void *)request->store.addr;
	unsigned long value = function();

	guard(mutex)(&file->lock);
	file->result_len = 0;
	attack_print(file, "value=0x%lx\n", value);
	return 0;
}

/**
 * attack_memory_release() - free everything an open file still holds
 * @file: open file
 */
void attack_memory_release(struct attack_file *file)
{
	blocks_free(file, false, UINT_MAX);
	blocks_free(file, true, UINT_MAX);
}
