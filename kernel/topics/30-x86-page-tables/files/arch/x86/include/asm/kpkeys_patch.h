/* SPDX-License-Identifier: GPL-2.0-only */
/* Where text is written, and what waits to be. */
#ifndef _ASM_X86_KPKEYS_PATCH_H
#define _ASM_X86_KPKEYS_PATCH_H

#include <linux/build_bug.h>
#include <linux/kpkeys_patching.h>
#include <linux/pfn.h>
#include <linux/static_call_types.h>
#include <linux/types.h>

#include <asm/fixmap.h>
#include <asm/kpkeys_compat.h>
#include <asm/text-patching.h>

struct jump_entry;

typedef u8 kpkeys_insn_t;

/**
 * struct text_poke_loc - an instruction that is to be replaced
 * @rel_addr: where it is, counted from _stext
 * @disp: what the new one adds to the instruction pointer
 * @len: bytes, of both; 6 if a byte of 0x0f is ahead of @text
 * @opcode: of the new one, as poke_int3_handler() knows it
 * @text: the new one
 * @step: how far it is: enum kpkeys_step
 */
struct text_poke_loc {
	s32	rel_addr;
	s32	disp;
	u8	len;
	u8	opcode;
	u8	text[TEXT_POKE_MAX_OPCODE_SIZE];
	u8	step;
};

/**
 * enum kpkeys_step - what becomes of an instruction, one after the other
 * @KPKEYS_STEP_NONE: it waits
 * @KPKEYS_STEP_TRAP: its first byte is an int3
 * @KPKEYS_STEP_REST: and the others are the new ones
 * @KPKEYS_STEP_DONE: the first byte, too
 */
enum kpkeys_step {
	KPKEYS_STEP_NONE,
	KPKEYS_STEP_TRAP,
	KPKEYS_STEP_REST,
	KPKEYS_STEP_DONE,
};

#define TP_VEC_MAX	(PAGE_SIZE / sizeof(struct text_poke_loc) - 3)

/**
 * struct text_poke_page - instructions that are to be replaced; keyed
 * @vec: a batch of them, in order
 * @single: what text_poke_bp() replaces
 * @incoming: one that is asked about, and in neither of them yet
 * @nr: how many are in @vec
 */
struct text_poke_page {
	struct text_poke_loc	vec[TP_VEC_MAX];
	struct text_poke_loc	single;
	struct text_poke_loc	incoming;
	int			nr;
};

static_assert(sizeof(struct text_poke_page) <= PAGE_SIZE);

#define tp_page	((struct text_poke_page *)kpkeys_patch_queue)

/**
 * kpkeys_read_poke - read one that waits, for int3
 * @tp: which
 * @copy: filled in
 *
 * Another one may take its place meanwhile, in the order that publish() has.
 *
 * Return: false if one does.
 */
static __always_inline bool kpkeys_read_poke(const struct text_poke_loc *tp,
					     struct text_poke_loc *copy)
{
	const u64 *from = (const u64 *)tp;
	u64 *to = (u64 *)copy;

	to[0] = READ_ONCE(from[0]);
	to[1] = READ_ONCE(from[1]);
	return copy->len && to[0] == READ_ONCE(from[0]);
}

#ifdef KPKEYS_BUILT_IN

/**
 * struct kpkeys_patch_slot - where text is mapped for as long as it is written
 * @entry: of the slot
 * @prot: what it has besides a page
 */
struct kpkeys_patch_slot {
	u64	*entry;
	u64	prot;
};

extern struct kpkeys_patch_slot kpkeys_patch_slot;

/* From the linker script. */
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
extern char __static_call_text_start[], __static_call_text_end[];

#define ARCH_KPKEYS_PATCH_SLOT	fix_to_virt(FIX_KPKEYS_PATCH)

static __always_inline void kpkeys_set_patch_slot(u64 value)
{
	WRITE_ONCE(*kpkeys_patch_slot.entry, value);
	asm volatile("invlpg (%0)" : : "r" (ARCH_KPKEYS_PATCH_SLOT) : "memory");
}

/* This CPU may know what the slot had when another one wrote. */
static __always_inline void arch_kpkeys_map_text(unsigned long pfn)
{
	kpkeys_set_patch_slot(PFN_PHYS(pfn) | kpkeys_patch_slot.prot);
}

static __always_inline void arch_kpkeys_unmap_text(void)
{
	kpkeys_set_patch_slot(0);
}

void arch_kpkeys_patch_init(void);
bool kpkeys_queue_jump(const struct jump_entry *entry, bool jump);
bool kpkeys_queue_call(const struct text_poke_loc *tp, bool single);
bool kpkeys_queue_text(const struct text_poke_loc *tp, bool single);
void kpkeys_end_queue(bool single);
bool kpkeys_patch_step(const struct text_poke_loc *tp, u8 step);

#else

static inline bool kpkeys_queue_jump(const struct jump_entry *entry, bool jump)
{
	return false;
}

static inline bool kpkeys_queue_text(const struct text_poke_loc *tp, bool single)
{
	if (single)
		tp_page->single = *tp;
	else
		tp_page->vec[tp_page->nr++] = *tp;
	return true;
}

static inline bool kpkeys_queue_call(const struct text_poke_loc *tp, bool single)
{
	return kpkeys_queue_text(tp, single);
}

static inline void kpkeys_end_queue(bool single)
{
	if (single)
		tp_page->single.len = 0;
	else
		tp_page->nr = 0;
}

static inline bool kpkeys_patch_step(const struct text_poke_loc *tp, u8 step)
{
	return false;
}

#endif /* KPKEYS_BUILT_IN */

#endif /* _ASM_X86_KPKEYS_PATCH_H */
