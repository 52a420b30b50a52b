/* SPDX-License-Identifier: GPL-2.0-only */
/* Slots for sealed credentials, and for the records of who has which. */
#ifndef _MM_KPKEYS_CRED_SLOTS_H
#define _MM_KPKEYS_CRED_SLOTS_H

#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/kpkeys_creds.h>
#include <linux/sched.h>

#include "chunks.h"
#include "internal.h"

#ifdef CONFIG_KPKEYS_CREDS

#include "cred_lists.h"
#include "cred_rules.h"

#define KPKEYS_CRED_SLOT_SIZE	256
#define KPKEYS_CRED_SLOTS	(KPKEYS_CHUNK_SIZE / KPKEYS_CRED_SLOT_SIZE)
#define KPKEYS_CRED_CHUNKS	4080
#define KPKEYS_CRED_DEPTH	24
#define KPKEYS_STACK_BITS	12

/* Of users: one that has put them aside, where others are one each. */
#define KPKEYS_ASIDE		BIT(32)

/* Of an owner: the slot is a record, which a CPU changes. */
#define KPKEYS_OF_TASK		BIT(0)
#define KPKEYS_CHANGES		BIT(1)

/* Beside the number of what was sealed: it was to be more than is allowed. */
#define KPKEYS_GROWN		BIT(30)

/**
 * struct kpkeys_record - which credentials a task has
 * @cred: subjective ones
 * @real: objective ones
 * @stack: the task's; NULL if another task has got it since
 * @next: another record in the chain of stacks
 * @nr_below: how often others override them
 * @runs_programs: it has executed one, or who forked it had; no thread of the kernel has
 * @below: what each of these put aside, the oldest first
 */
struct kpkeys_record {
	const struct cred	*cred;
	const struct cred	*real;
	const void		*stack;
	unsigned int		next;
	unsigned int		nr_below;
	const struct cred	*below[KPKEYS_CRED_DEPTH];
	bool			runs_programs;
};

/**
 * struct kpkeys_cred_slot - a record, or sealed credentials
 * @owner: the task, and KPKEYS_OF_TASK, or what was prepared; 0 while it is free
 * @users: of credentials, how often records name them; KPKEYS_ASIDE for each of @below
 * @record: of a task
 * @cred: else: credentials that nobody changes any more
 * @rights: of these: a number that those have in common that allow the same
 */
struct kpkeys_cred_slot {
	unsigned long			owner;
	atomic_long_t			users;
	union {
		struct kpkeys_record	record;
		struct {
			struct cred	cred;
			unsigned long	rights;
		};
	};
} __aligned(KPKEYS_CRED_SLOT_SIZE);

/**
 * struct kpkeys_cred_slots - where the slots are; pages with KPKEYS_PKEY_STATE
 * @nr_chunks: chunks in use
 * @nr_lost: pages that have the key, and are no chunk
 * @chunk: their addresses
 * @nr_free: free slots of each
 * @chain: the first records in chains of stacks
 * @rights: the last number of rights that was given
 * @has_init: the first task has forked the one that executes the first program
 */
struct kpkeys_cred_slots {
	unsigned int		nr_chunks;
	unsigned long		nr_lost;
	struct kpkeys_cred_slot	*chunk[KPKEYS_CRED_CHUNKS];
	atomic_t		nr_free[KPKEYS_CRED_CHUNKS];
	atomic_t		chain[1 << KPKEYS_STACK_BITS];
	atomic_long_t		rights;
	bool			has_init;
} __aligned(PAGE_SIZE);

extern struct kpkeys_cred_slots kpkeys_cred_slots;

/**
 * kpkeys_cred_slot_at - address of a slot
 * @nr: its number
 *
 * Return: NULL for a number that is no slot's.
 */
static __always_inline struct kpkeys_cred_slot *kpkeys_cred_slot_at(unsigned int nr)
{
	unsigned int chunk = nr / KPKEYS_CRED_SLOTS;

	/* Pairs with the release in publish_cred_slots(). */
	if (chunk >= smp_load_acquire(&kpkeys_cred_slots.nr_chunks))
		return NULL;
	return kpkeys_cred_slots.chunk[chunk] + nr % KPKEYS_CRED_SLOTS;
}

/* A number of keyed memory, or that has just been claimed. */
static __always_inline struct kpkeys_cred_slot *kpkeys_cred_slot(unsigned int nr)
{
	/* Found again each time: sections have no registers to spare. */
	OPTIMIZER_HIDE_VAR(nr);
	return &kpkeys_cred_slots.chunk[nr / KPKEYS_CRED_SLOTS][nr % KPKEYS_CRED_SLOTS];
}

/* Whoever is refused has these: no right at all. Their slot has a number that no other has. */
extern struct kpkeys_cred_slot kpkeys_slot_of_nobody;
#define kpkeys_nobody	(kpkeys_slot_of_nobody.cred)

/* What others see of him. */
extern struct cred kpkeys_untouchable;

static __always_inline struct task_struct *kpkeys_owner_of(unsigned int nr)
{
	unsigned long owner = READ_ONCE(kpkeys_cred_slot(nr)->owner);

	return (void *)(owner & ~(KPKEYS_OF_TASK | KPKEYS_CHANGES));
}

static __always_inline unsigned long kpkeys_owned_by(const struct task_struct *task)
{
	return ((unsigned long)task & ~KPKEYS_CHANGES) | KPKEYS_OF_TASK;
}

static __always_inline unsigned long kpkeys_made_of(const struct cred *prepared)
{
	return (unsigned long)prepared & ~KPKEYS_OF_TASK;
}

/* By a number of ordinary memory: whoever uses it twice reads it once. */
static __always_inline struct kpkeys_record *kpkeys_record_at(unsigned int nr,
							      const struct task_struct *task)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(nr);

	return slot && (READ_ONCE(slot->owner) & ~KPKEYS_CHANGES) == kpkeys_owned_by(task) ?
	       &slot->record : NULL;
}

static __always_inline struct kpkeys_record *kpkeys_record_of(const struct task_struct *task)
{
	return kpkeys_record_at(READ_ONCE(task->cred_slot), task);
}

/* Which task is current, ordinary memory says. Whose stack this is, a register does. */
static __always_inline bool kpkeys_is_on_stack(const struct kpkeys_record *record)
{
	return current_stack_pointer - (unsigned long)record->stack < THREAD_SIZE;
}

static __always_inline struct kpkeys_cred_slot *kpkeys_slot_of(const struct cred *cred)
{
	return container_of(cred, struct kpkeys_cred_slot, cred);
}

/* Of what a record names. */
static __always_inline unsigned long kpkeys_rights_of(const struct cred *cred)
{
	return READ_ONCE(kpkeys_slot_of(cred)->rights);
}

/*
 * On x86-64 ordinary memory says besides where a system call has its stack. So each CPU
 * notes, in keyed memory, which rights the task has that it switched to.
 */
#ifdef CONFIG_X86_64
static __always_inline bool kpkeys_are_of_cpu(const struct cred *cred, const struct cred *real)
{
	return kpkeys_rights_of(cred) == raw_cpu_read(kpkeys_cpu.rights) &&
	       kpkeys_rights_of(real) == raw_cpu_read(kpkeys_cpu.real_rights);
}

static __always_inline void kpkeys_note_on_cpu(const struct kpkeys_record *record)
{
	raw_cpu_write(kpkeys_cpu.rights, kpkeys_rights_of(record->cred));
	raw_cpu_write(kpkeys_cpu.real_rights, kpkeys_rights_of(record->real));
}
#else
static __always_inline bool kpkeys_are_of_cpu(const struct cred *cred, const struct cred *real)
{
	return true;
}

static __always_inline void kpkeys_note_on_cpu(const struct kpkeys_record *record) { }
#endif

static __always_inline bool kpkeys_is_of_cpu(const struct kpkeys_record *record)
{
	return kpkeys_are_of_cpu(READ_ONCE(record->cred), READ_ONCE(record->real));
}

/*
 * Of the task that is said to be current: does it run, and with what? Another CPU may change
 * the record if that one runs there, so who goes on does so with what was asked about.
 */
static __always_inline bool kpkeys_read_own(const struct kpkeys_record *record,
					    const struct cred **cred, const struct cred **real)
{
	if (!record)
		return false;
	*cred = READ_ONCE(record->cred);
	*real = READ_ONCE(record->real);
	return kpkeys_is_on_stack(record) && kpkeys_are_of_cpu(*cred, *real);
}

static __always_inline const struct cred *kpkeys_own_real(const struct kpkeys_record *record)
{
	const struct cred *cred, *real;

	return kpkeys_read_own(record, &cred, &real) ? real : NULL;
}

/*
 * Two CPUs can be made to run one task, and each would change its record. In sections, with
 * interrupts off: who has taken it is another CPU, and goes on.
 */
static __always_inline bool kpkeys_take_record(struct kpkeys_cred_slot *slot, unsigned long owner)
{
	unsigned long seen;

	while ((seen = cmpxchg_acquire(&slot->owner, owner, owner | KPKEYS_CHANGES)) != owner) {
		if (seen != (owner | KPKEYS_CHANGES))
			return false;
		cpu_relax();
	}
	return true;
}

static __always_inline void kpkeys_give_record(struct kpkeys_record *record)
{
	struct kpkeys_cred_slot *slot = container_of(record, struct kpkeys_cred_slot, record);

	if (!record)
		return;
	/* Pairs with the acquire in kpkeys_take_record(). */
	smp_store_release(&slot->owner, slot->owner & ~KPKEYS_CHANGES);
}

/*
 * In a section where interrupts are on: to save flags is to read them from a stack, and what
 * tells lockdep calls functions.
 */
DEFINE_LOCK_GUARD_0(kpkeys_irq, raw_local_irq_disable(), raw_local_irq_enable())

DEFINE_FREE(kpkeys_record, struct kpkeys_record *, kpkeys_give_record(_T))

/* With interrupts off. Until the scope ends nobody else changes it. */
static __always_inline struct kpkeys_record *kpkeys_take_own_record(void)
{
	const struct task_struct *task = current;
	struct kpkeys_cred_slot *slot;

	OPTIMIZER_HIDE_VAR(task);
	slot = kpkeys_cred_slot_at(READ_ONCE(task->cred_slot));
	if (!slot || !kpkeys_take_record(slot, kpkeys_owned_by(task)))
		return NULL;
	if (kpkeys_own_real(&slot->record))
		return &slot->record;
	kpkeys_give_record(&slot->record);
	return NULL;
}

/*
 * Threads of the kernel are root, and work for others: what they write, and to which
 * file, ordinary memory says. With interrupts off.
 */
static __always_inline bool __kpkeys_runs_programs(void)
{
	struct kpkeys_record *own __free(kpkeys_record) = kpkeys_take_own_record();

	return own && own->runs_programs;
}

static __always_inline bool kpkeys_runs_programs(void)
{
	guard(kpkeys_irq)();
	return __kpkeys_runs_programs();
}

/**
 * kpkeys_creds_are - what both credentials of the current task are
 * @are: asks one
 *
 * No thread of the kernel passes. Who goes by that in a section asks there:
 * kpkeys_section_creds_are().
 */
static __always_inline bool kpkeys_creds_are(bool (*are)(const struct cred *cred))
{
	const struct kpkeys_record *record;
	const struct cred *cred, *real;

	if (!kpkeys_creds_enabled())
		return are(rcu_dereference_protected(current->cred, 1));
	record = kpkeys_record_of(current);
	return kpkeys_read_own(record, &cred, &real) && record->runs_programs &&
	       are(cred) && are(real);
}

/**
 * kpkeys_section_creds_are - the same in a section of who may sleep, which calls nothing
 * @are: asks one, which nobody frees meanwhile
 */
static __always_inline bool kpkeys_section_creds_are(bool (*are)(const struct cred *cred))
{
	if (!kpkeys_creds_enabled())
		return are(rcu_dereference_protected(current->cred, 1));
	guard(kpkeys_irq)();
	struct kpkeys_record *own __free(kpkeys_record) = kpkeys_take_own_record();

	return own && own->runs_programs && are(own->cred) && are(own->real);
}

/* No pointer from ordinary memory is believed to be sealed credentials'. */
static __always_inline bool kpkeys_is_sealed(const struct cred *cred)
{
	struct kpkeys_cred_slot *slot;

	if (cred == &kpkeys_nobody)
		return true;
	slot = kpkeys_cred_slot_at(READ_ONCE(cred->slot));
	return slot && &slot->cred == cred && READ_ONCE(slot->owner) &&
	       !(READ_ONCE(slot->owner) & KPKEYS_OF_TASK);
}

static __always_inline unsigned long *kpkeys_cred_bits(unsigned int chunk)
{
	return (unsigned long *)&kpkeys_cred_slots.chunk[chunk]->record;
}

static __always_inline unsigned int kpkeys_cred_claim(unsigned int chunk)
{
	unsigned int bit;

	/* Pairs with the release in publish_cred_slots(). */
	if (chunk >= smp_load_acquire(&kpkeys_cred_slots.nr_chunks))
		return 0;
	bit = kpkeys_claim_bit(kpkeys_cred_bits(chunk), KPKEYS_CRED_SLOTS);
	if (bit >= KPKEYS_CRED_SLOTS)
		return 0;
	atomic_dec(&kpkeys_cred_slots.nr_free[chunk]);
	return chunk * KPKEYS_CRED_SLOTS + bit;
}

/* Its users are never stored: somebody may have counted himself, and is about to leave. */
static __always_inline void kpkeys_cred_release(unsigned int nr, long users)
{
	unsigned int chunk = nr / KPKEYS_CRED_SLOTS;

	WRITE_ONCE(kpkeys_cred_slot(nr)->owner, 0);
	/* Whoever sees that nobody uses it sees that it is nobody's: kpkeys_sealed_free(). */
	smp_wmb();
	kpkeys_clear_words(&kpkeys_cred_slot(nr)->record,
			   KPKEYS_CRED_SLOT_SIZE - offsetof(struct kpkeys_cred_slot, record));
	atomic_long_sub(users, &kpkeys_cred_slot(nr)->users);
	clear_bit_unlock(nr % KPKEYS_CRED_SLOTS, kpkeys_cred_bits(chunk));
	atomic_inc(&kpkeys_cred_slots.nr_free[chunk]);
}

extern atomic_t kpkeys_nr_owed;
void __kpkeys_put_owed_creds(void);

/**
 * kpkeys_put_owed_creds - give up references, behind a section that named credentials less often
 *
 * That somebody owes one, ordinary memory says: without it they are not freed.
 */
static inline void kpkeys_put_owed_creds(void)
{
	/* Who owes one looks at the users that the section counted, and notes it before. */
	smp_mb();
	if (unlikely(atomic_read(&kpkeys_nr_owed)))
		__kpkeys_put_owed_creds();
}

static __always_inline void kpkeys_cred_use(const struct cred *cred, long nr)
{
	if (cred != &kpkeys_nobody)
		atomic_long_add(nr, &kpkeys_slot_of(cred)->users);
}

/*
 * By a pointer of ordinary memory: they may be freed, and the slot be taken again,
 * until they are counted. Nobody counts what a record has there.
 */
static __always_inline bool kpkeys_cred_hold(const struct cred *cred)
{
	if (cred == &kpkeys_nobody)
		return true;
	if (!kpkeys_is_sealed(cred) ||
	    !atomic_long_inc_unless_negative(&kpkeys_slot_of(cred)->users))
		return false;
	if (kpkeys_is_sealed(cred))
		return true;
	kpkeys_cred_use(cred, -1);
	return false;
}

/* With interrupts off: the task's own ones, which stay until kpkeys_unhold(). */
static __always_inline const struct cred *__kpkeys_hold_own_real(void)
{
	struct kpkeys_record *own __free(kpkeys_record) = kpkeys_take_own_record();

	if (!own)
		return NULL;
	kpkeys_cred_use(own->real, 1);
	return own->real;
}

/* The same where interrupts are on. */
static __always_inline const struct cred *kpkeys_hold_own_real(void)
{
	guard(kpkeys_irq)();
	return __kpkeys_hold_own_real();
}

/* Where they have gone meanwhile, which nobody does for others, they stay for good. */
static __always_inline void kpkeys_unhold(const struct cred *cred)
{
	if (cred)
		kpkeys_cred_use(cred, -1);
}

DEFINE_FREE(kpkeys_held, const struct cred *, kpkeys_unhold(_T))

/* Gives back what the slot of sealed credentials is, or was to be. */
static __always_inline void kpkeys_sealed_release(unsigned int nr, long users)
{
	kpkeys_list_drop(kpkeys_cred_slot(nr)->cred.group_info);
	kpkeys_ns_drop(kpkeys_cred_slot(nr)->cred.ns_slot);
	kpkeys_cred_release(nr, users);
}

/* If nobody uses what the slot is. With interrupts off: others wait for what it is then. */
static __always_inline bool kpkeys_sealed_free(unsigned int nr)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot_at(nr);
	unsigned long owner;

	if (!slot || !slot->owner || slot->owner & KPKEYS_OF_TASK ||
	    atomic_long_cmpxchg(&slot->users, 0, LONG_MIN))
		return false;
	/*
	 * It may have gone in between, and a record have come, or others: these are in use
	 * before kpkeys_cred_seal() says whose they are.
	 */
	owner = smp_load_acquire(&slot->owner);
	if (!owner || owner & KPKEYS_OF_TASK || atomic_long_read(&slot->users) != LONG_MIN) {
		atomic_long_sub(LONG_MIN, &slot->users);
		return false;
	}
	kpkeys_sealed_release(nr, LONG_MIN);
	return true;
}

/* In a namespace that nobody knows they do nothing. */
static __always_inline void kpkeys_cred_disown(struct cred *cred)
{
	WRITE_ONCE(cred->user_ns, &init_user_ns);
	WRITE_ONCE(cred->cap_inheritable.val, 0);
	WRITE_ONCE(cred->cap_permitted.val, 0);
	WRITE_ONCE(cred->cap_effective.val, 0);
	WRITE_ONCE(cred->cap_ambient.val, 0);
}

/*
 * Nobody takes them for sealed yet. Their groups were sealed before, or they have none,
 * and their namespace is known, or not: what holds then is for the caller to say.
 */
static __always_inline struct cred *kpkeys_cred_copy(unsigned int nr, struct cred *prepared,
						     bool *is_complete)
{
	struct kpkeys_cred_slot *slot = kpkeys_cred_slot(nr);

	BUILD_BUG_ON(sizeof(struct kpkeys_cred_slot) != KPKEYS_CRED_SLOT_SIZE);
	BUILD_BUG_ON(sizeof(struct cred) % sizeof(long));
	kpkeys_copy_words(&slot->cred, prepared, sizeof(struct cred));
	WRITE_ONCE(slot->cred.counts, prepared);
	WRITE_ONCE(slot->cred.slot, nr);
	*is_complete = kpkeys_list_hold(slot->cred.group_info);
	if (!*is_complete && kpkeys_state.mode != KPKEYS_AUDIT)
		WRITE_ONCE(slot->cred.group_info, &kpkeys_no_groups);
	if (kpkeys_ns_hold(slot->cred.user_ns, &slot->cred.ns_slot))
		return &slot->cred;
	*is_complete = false;
	if (kpkeys_state.mode != KPKEYS_AUDIT)
		kpkeys_cred_disown(&slot->cred);
	return &slot->cred;
}

/* In use from the start, so that nobody frees them. Of @old nobody changes anything. */
static __always_inline void kpkeys_cred_seal(const struct cred *cred, long users,
					     const struct cred *old)
{
	struct kpkeys_cred_slot *slot = kpkeys_slot_of(cred);

	slot->rights = old != &kpkeys_nobody && kpkeys_same_rights(cred, old) ?
		       kpkeys_rights_of(old) : atomic_long_inc_return(&kpkeys_cred_slots.rights);
	/* Who took it for what it was before may count himself yet, and back. */
	atomic_long_add(users, &slot->users);
	/* Whoever sees an owner sees what it is of. */
	smp_store_release(&slot->owner, kpkeys_made_of(cred->counts));
}

int kpkeys_find_cred_room(int nr);
int kpkeys_find_cred_room_now(void);
void kpkeys_look_at_creds(const struct task_struct *task);

#else /* !CONFIG_KPKEYS_CREDS */

#define kpkeys_creds_are(are)		are(current_cred())
#define kpkeys_section_creds_are(are)	are(current_cred())

#endif /* CONFIG_KPKEYS_CREDS */

#endif /* _MM_KPKEYS_CRED_SLOTS_H */
