// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: the stores themselves.
 *
 * Each form comes twice. Without an exception-table entry a refused store is
 * an oops, as with a real bug; that is fine in a task. In an interrupt it
 * would be a panic, so the same instruction has an entry there, and the fault
 * is reported as -EFAULT.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/uaccess.h>
#include <asm/kpkeys_attack.h>

#include "attack.h"

typedef int (*attack_chunk_fn)(void *dst, const void *src, unsigned int len);

static int plain_oops(void *dst, const void *src, unsigned int len)
{
	switch (len) {
	case 8:
		WRITE_ONCE(*(u64 *)dst, *(const u64 *)src);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)dst, *(const u32 *)src);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)dst, *(const u16 *)src);
		break;
	default:
		WRITE_ONCE(*(u8 *)dst, *(const u8 *)src);
	}
	return 0;
}

static int plain_fixup(void *dst, const void *src, unsigned int len)
{
	switch (len) {
	case 8:
		__put_kernel_nofault(dst, src, u64, refused);
		break;
	case 4:
		__put_kernel_nofault(dst, src, u32, refused);
		break;
	case 2:
		__put_kernel_nofault(dst, src, u16, refused);
		break;
	default:
		__put_kernel_nofault(dst, src, u8, refused);
	}
	return 0;
refused:
	return -EFAULT;
}

static int cmpxchg_oops(void *dst, const void *src, unsigned int len)
{
	u64 old = READ_ONCE(*(u64 *)dst);

	if (len != 8)
		return -EINVAL;
	return cmpxchg((u64 *)dst, old, *(const u64 *)src) == old ? 0 : -EAGAIN;
}

static int cmpxchg_fixup(void *dst, const void *src, unsigned int len)
{
	if (len != 8)
		return -EINVAL;
	return attack_cmpxchg(dst, READ_ONCE(*(u64 *)dst), *(const u64 *)src);
}

static int memcpy_oops(void *dst, const void *src, unsigned int len)
{
	memcpy(dst, src, len);
	return 0;
}

static unsigned int chunk_size(unsigned long addr, unsigned int len)
{
	unsigned int size = 8;

	while (size > len || addr & (size - 1))
		size /= 2;
	return size;
}

static int store_chunks(const struct attack_store *store, attack_chunk_fn chunk)
{
	unsigned int done, size;
	int err;

	for (done = 0; done < store->len; done += size) {
		size = chunk_size(store->addr + done, store->len - done);
		err = chunk((void *)store->addr + done, store->data + done, size);
		if (err)
			return err;
	}
	return 0;
}

/**
 * attack_store() - an arbitrary kernel write by ordinary stores
 * @store: where, what and how
 *
 * Return: 0, or -EFAULT when the store was refused and had a fixup.
 */
int attack_store(const struct attack_store *store)
{
	void *dst = (void *)store->addr;

	switch (store->form) {
	case ATTACK_MEMCPY:
		if (store->may_oops)
			return memcpy_oops(dst, store->data, store->len);
		return attack_memcpy(dst, store->data, store->len);
	case ATTACK_CMPXCHG:
		return store_chunks(store, store->may_oops ? cmpxchg_oops : cmpxchg_fixup);
	case ATTACK_NOFAULT:
		return copy_to_kernel_nofault(dst, store->data, store->len);
	default:
		return store_chunks(store, store->may_oops ? plain_oops : plain_fixup);
	}
}
