// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: the loads themselves, as far as attack_read() is not
 * enough. Plain loads have no exception-table entry: one that is refused is an
 * oops, as with a real bug.
 */
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include <asm/kpkeys_attack.h>

#include "attack.h"

static int load_plain(u8 *dst, const void *src, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		dst[i] = READ_ONCE(((const u8 *)src)[i]);
	return 0;
}

static int load(u8 *dst, const struct attack_request *request)
{
	const void *src = (const void *)request->store.addr;

	switch (request->store.form) {
	case ATTACK_PLAIN:
		return load_plain(dst, src, request->count);
	case ATTACK_MEMCPY:
		return attack_memcpy(dst, src, request->count);
	case ATTACK_NOFAULT:
		return copy_from_kernel_nofault(dst, src, request->count);
	default:
		return -EINVAL;
	}
}

/**
 * attack_load() - read kernel memory by instructions of one's choice
 * @file: open file
 * @request: form, address and count
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int attack_load(struct attack_file *file, struct attack_request *request)
{
	u8 data[ATTACK_MAX_STORE];
	int err;

	if (!request->count || request->count > sizeof(data))
		return -EINVAL;
	err = load(data, request);
	if (err)
		return err;
	guard(mutex)(&file->lock);
	file->result_len = 0;
	attack_print(file, "%*phN\n", request->count, data);
	return 0;
}

/**
 * attack_copy() - have the kernel copy its memory to user space
 * @file: open file
 * @request: address, count, and where to
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int attack_copy(struct attack_file *file, struct attack_request *request)
{
	if (!request->count || request->count > ATTACK_MAX_STORE)
		return -EINVAL;
	if (copy_to_user((void __user *)request->to,
			 (const void *)request->store.addr, request->count))
		return -EFAULT;
	return 0;
}
