/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which record a stack belongs to: that of the task that got the stack last.
 *
 * A task that is dead has a record until its parent has heard of it, and its stack
 * serves the next task. Used in sections, with interrupts off: records go in softirqs.
 */
#ifndef _MM_KPKEYS_CRED_STACKS_H
#define _MM_KPKEYS_CRED_STACKS_H

#include <linux/hash.h>

#include "cred_slots.h"

#define KPKEYS_CHAIN_LOCKED	((int)BIT(30))

static __always_inline atomic_t *kpkeys_stack_chain(const void *stack)
{
	return &kpkeys_cred_slots.chain[hash_long((unsigned long)stack / THREAD_SIZE,
						  KPKEYS_STACK_BITS)];
}

/* In keyed memory: nobody else holds it, or takes it away. Returns the first record. */
static __always_inline unsigned int kpkeys_lock_chain(atomic_t *chain)
{
	int first;

	for (;;) {
		first = atomic_read(chain) & ~KPKEYS_CHAIN_LOCKED;
		if (atomic_cmpxchg_acquire(chain, first, first | KPKEYS_CHAIN_LOCKED) == first)
			return first;
		cpu_relax();
	}
}

static __always_inline void kpkeys_unlock_chain(atomic_t *chain, unsigned int first)
{
	/* Pairs with the acquire in kpkeys_lock_chain(). */
	atomic_set_release(chain, first);
}

static __always_inline struct kpkeys_record *kpkeys_chained(unsigned int nr)
{
	return &kpkeys_cred_slot(nr)->record;
}

static __always_inline unsigned int kpkeys_find_stack(unsigned int first, const void *stack)
{
	while (first && kpkeys_chained(first)->stack != stack)
		first = kpkeys_chained(first)->next;
	return first;
}

/* Returns the first record without that one. */
static __always_inline unsigned int kpkeys_unchain(unsigned int first, unsigned int nr)
{
	struct kpkeys_record *record = kpkeys_chained(nr);
	unsigned int at = first;

	WRITE_ONCE(record->stack, NULL);
	if (first == nr)
		return record->next;
	while (at && kpkeys_chained(at)->next != nr)
		at = kpkeys_chained(at)->next;
	if (at)
		kpkeys_chained(at)->next = record->next;
	return first;
}

static __always_inline void kpkeys_take_stack(unsigned int nr, const void *stack)
{
	atomic_t *chain = kpkeys_stack_chain(stack);
	unsigned int first = kpkeys_lock_chain(chain);
	unsigned int other = kpkeys_find_stack(first, stack);

	if (other)
		first = kpkeys_unchain(first, other);
	kpkeys_chained(nr)->next = first;
	WRITE_ONCE(kpkeys_chained(nr)->stack, stack);
	kpkeys_unlock_chain(chain, nr);
}

static __always_inline void kpkeys_leave_stack(unsigned int nr)
{
	const void *stack = READ_ONCE(kpkeys_chained(nr)->stack);
	atomic_t *chain = kpkeys_stack_chain(stack);
	unsigned int first = kpkeys_lock_chain(chain);

	/* Unless somebody else has got it. */
	if (READ_ONCE(kpkeys_chained(nr)->stack))
		first = kpkeys_unchain(first, nr);
	kpkeys_unlock_chain(chain, first);
}

/* Whose stack this is, whatever task is said to be current. */
static __always_inline unsigned int kpkeys_record_on_stack(void)
{
	const void *stack = (void *)(current_stack_pointer & -THREAD_SIZE);
	atomic_t *chain = kpkeys_stack_chain(stack);
	unsigned int first = kpkeys_lock_chain(chain);
	unsigned int nr = kpkeys_find_stack(first, stack);

	kpkeys_unlock_chain(chain, first);
	return nr;
}

#endif /* _MM_KPKEYS_CRED_STACKS_H */
