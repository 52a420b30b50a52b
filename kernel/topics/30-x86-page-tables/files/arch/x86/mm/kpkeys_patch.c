// SPDX-License-Identifier: GPL-2.0-only
/*
 * What waits to be patched, and the steps in which it is. Each section finds out anew
 * what it is about to do: from the kernel's own tables of places, which are read-only,
 * and from a page with the key of the state.
 */
#define pr_fmt(fmt) "kpkeys: " fmt

#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_arch.h>
#include <linux/processor.h>

#include <asm/kpkeys_mm.h>
#include <asm/kpkeys_patch.h>
#include <asm/nops.h>

#include "kpkeys/text.h"

/* As x86_nops[] has them: the first byte is the lowest. */
#define NOP2		0x9066ULL
#define NOP5		0x441f0fULL

/* What static_call.c has in place of a call of __static_call_return0(). */
#define RETURN0		0xc0312e2e2eULL

#define INT3_TIMES_4	0xccccccccU
#define JCC32_TO_JCC8	0x10		/* as text_poke_loc_init() has it */
#define TRAMPOLINE_SIZE	8

static const u8 int3 = INT3_INSN_OPCODE, first_of_six = 0x0f;

struct kpkeys_patch_slot kpkeys_patch_slot __ro_after_init;

/**
 * arch_kpkeys_patch_init - find the slot by which text is written
 */
void __init arch_kpkeys_patch_init(void)
{
	/* What needs no key to be read-only is written past that. */
	pgprot_t prot = arch_kpkeys_has_keys() ? PAGE_KERNEL : PAGE_KERNEL_RO;
	unsigned int level;

	kpkeys_patch_slot.entry = (u64 *)lookup_address(ARCH_KPKEYS_PATCH_SLOT, &level);
	kpkeys_patch_slot.prot = (pgprot_val(prot) & __default_kernel_pte_mask) |
				 (u64)KPKEYS_PKEY_PGTABLES << _PAGE_BIT_PKEY_BIT0;
}

/* ---- what waits ---- */

/* What is there says how long it is, as whoever assembled it chose. */
static __always_inline u8 jump_len(unsigned long at)
{
	switch (READ_ONCE(*(u8 *)at)) {
	case JMP8_INSN_OPCODE:
	case NOP2 & 0xff:
		return JMP8_INSN_SIZE;
	case JMP32_INSN_OPCODE:
	case NOP5 & 0xff:
		return JMP32_INSN_SIZE;
	default:
		return 0;
	}
}

static __always_inline u64 jump_text(u8 len, s32 disp, bool jump)
{
	if (len == JMP8_INSN_SIZE)
		return jump ? JMP8_INSN_OPCODE | (u64)(u8)disp << 8 : NOP2;
	return jump ? JMP32_INSN_OPCODE | (u64)(u32)disp << 8 : NOP5;
}

static __always_inline void fill_jump(s32 at, u8 len, s32 disp, bool jump)
{
	struct text_poke_loc *tp = &tp_page->incoming;
	u64 text = jump_text(len, disp, jump);
	unsigned int i;

	tp->rel_addr = at;
	tp->disp = jump ? disp : 0;
	tp->len = len;
	tp->opcode = len == JMP8_INSN_SIZE ? JMP8_INSN_OPCODE : JMP32_INSN_OPCODE;
	for (i = 0; i < sizeof(tp->text); i++, text >>= BITS_PER_BYTE)
		tp->text[i] = text;
	tp->step = KPKEYS_STEP_NONE;
}

static __always_inline bool is_half_done(const struct text_poke_loc *tp)
{
	return tp->len && (tp->step == KPKEYS_STEP_TRAP || tp->step == KPKEYS_STEP_REST);
}

/*
 * What was asked about waits from here on, in the batch or by itself, and int3 finds it. It
 * must not go on with half of what was there before: see kpkeys_read_poke().
 */
static __always_inline bool publish(bool single)
{
	const u64 *from = (const u64 *)&tp_page->incoming;
	int nr = tp_page->nr;
	u64 *to;

	if (single ? is_half_done(&tp_page->single) : nr >= (int)TP_VEC_MAX)
		return false;
	to = (u64 *)(single ? &tp_page->single : &tp_page->vec[nr]);
	WRITE_ONCE(to[1], 0);
	WRITE_ONCE(to[0], from[0]);
	WRITE_ONCE(to[1], from[1]);
	if (!single)
		WRITE_ONCE(tp_page->nr, nr + 1);
	return true;
}

/* As it is noted, and found again: the low half of other addresses is the same. */
static __always_inline unsigned long place_of(unsigned long at)
{
	return (unsigned long)_stext + (s32)(at - (unsigned long)_stext);
}

static __always_inline bool is_near_text(unsigned long at)
{
	return at + JMP32_INSN_SIZE > (unsigned long)_stext && at < (unsigned long)_etext;
}

/* Of what is kept. The kernel's own text is patched by its own table alone. */
static __always_inline bool add_jump(bool ask)
{
	const struct jump_entry *entry = (const void *)kpkeys_kept(source);
	u8 len;

	kpkeys_keep(end, place_of(jump_entry_code(entry)));
	kpkeys_keep(value, jump_entry_target(entry));
	if ((is_builtin(entry) ? is_for_ever(entry) :
				 (is_near_text(kpkeys_kept(end)) ||
				  !is_others(mapped_at(kpkeys_kept(end))))) &&
	    (ask || kpkeys_state.mode != KPKEYS_AUDIT))
		return false;
	len = jump_len(kpkeys_kept(end));
	if (!len)
		return false;
	fill_jump(kpkeys_kept(end) - (unsigned long)_stext, len,
		  kpkeys_kept(value) - kpkeys_kept(end) - len, kpkeys_kept(done));
	return publish(false);
}

static noinline __flatten enum kpkeys_patched queue_jump(const struct jump_entry *entry,
							 bool jump, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(entry);
	kpkeys_reread(jump);
	kpkeys_reread(ask);
	kpkeys_keep(source, (const u64 *)entry);
	kpkeys_keep(done, jump);
	return take_slot() ? leave_slot(add_jump(ask)) : KPKEYS_PATCH_BUSY;
}

/**
 * kpkeys_queue_jump - have a jump label be patched with the next batch
 * @entry: says where it is, and where it leads
 * @jump: it is to jump, or to go on
 *
 * Return: false if the entry can be written and its text is the kernel's.
 */
bool kpkeys_queue_jump(const struct jump_entry *entry, bool jump)
{
	enum kpkeys_patched done;
	bool ask = true;

	guard(irqsave)();
	do {
		done = queue_jump(entry, jump, ask);
	} while (is_to_repeat(done, &ask, entry));
	return done == KPKEYS_PATCHED;
}

/* ---- static calls ---- */

static __always_inline bool is_in(unsigned long at, const void *start, const void *end)
{
	return at >= (unsigned long)start && at < (unsigned long)end;
}

/* One behind the other. What is written there makes no other one, whatever it is. */
static __always_inline bool is_trampoline(unsigned long at)
{
	return is_in(at, __static_call_text_start, __static_call_text_end) &&
	       !((at - (unsigned long)__static_call_text_start) % TRAMPOLINE_SIZE);
}

static __always_inline long site_key(const struct static_call_site *site)
{
	return (long)&site->key + site->key;
}

static __always_inline bool is_long_jcc(const u8 *at)
{
	return at[0] == first_of_six && (at[1] & 0xf0) == 0x80;
}

/* The kernel's own list, which is read-only, is sorted by other things than places. */
static __always_inline const struct static_call_site *site_around(unsigned long at)
{
	const struct static_call_site *site = __start_static_call_sites;
	unsigned long offset;

	for (; site < __stop_static_call_sites; site++) {
		offset = at - ((unsigned long)&site->addr + site->addr);
		if (offset < CALL_INSN_SIZE ||
		    (offset == CALL_INSN_SIZE && is_long_jcc((const u8 *)at - offset)))
			return site;
	}
	return NULL;
}

static __always_inline const struct static_call_site *site_at(unsigned long at)
{
	const struct static_call_site *site = site_around(at);

	return site && (unsigned long)&site->addr + site->addr == at ? site : NULL;
}

static __always_inline u64 text_of(const struct text_poke_loc *tp)
{
	return get_unaligned((const u32 *)tp->text) | (u64)tp->text[4] << 32;
}

/* It calls, or jumps, or does neither, and int3 goes on with the same. */
static __always_inline bool is_call_text(const struct text_poke_loc *tp, const u8 *at,
					 bool tail)
{
	u32 rest = get_unaligned((const u32 *)(tp->text + 1));
	u8 op = tp->text[0];

	if (tp->len == CALL_INSN_SIZE + 1)
		return tail && is_long_jcc(at) && at[1] == op &&
		       tp->opcode == op - JCC32_TO_JCC8 && rest == (u32)tp->disp;
	if (tp->len != CALL_INSN_SIZE)
		return false;
	if (op == (tail ? JMP32_INSN_OPCODE : CALL_INSN_OPCODE))
		return tp->opcode == op && rest == (u32)tp->disp;
	if (tail)
		return op == RET_INSN_OPCODE && tp->opcode == op && rest == INT3_TIMES_4;
	return text_of(tp) == NOP5 ? tp->opcode == JMP32_INSN_OPCODE && !tp->disp :
				     text_of(tp) == RETURN0 && tp->opcode == CALL_INSN_OPCODE;
}

/* What it calls is data; but nobody runs the middle of what is patched. */
static __always_inline bool may_lead_to(unsigned long to)
{
	if (is_in(to, __static_call_text_start, __static_call_text_end))
		return is_trampoline(to);
	if (is_in(to, _stext, _etext))
		return !site_around(to) || site_at(to);
	return is_others(mapped_at(to));
}

static __always_inline bool leads_to_text(const struct text_poke_loc *tp)
{
	return tp->opcode == RET_INSN_OPCODE || !tp->disp ||
	       may_lead_to((unsigned long)_stext + tp->rel_addr + tp->len + tp->disp);
}

static __always_inline bool is_of_others(const struct text_poke_loc *tp)
{
	unsigned long at = (unsigned long)_stext + tp->rel_addr;

	return at >= (unsigned long)_etext || at + tp->len <= (unsigned long)_stext;
}

/* What was queued, and its place: registers are too few. */
#define queued		((const struct text_poke_loc *)kpkeys_kept(source))
#define queued_at	kpkeys_kept(end)

/* As a tail call, or as another one. In text of others, a list of their own says where. */
static __always_inline bool may_be_queued(bool tail)
{
	const struct static_call_site *site;

	if (is_of_others(queued))
		return is_others(mapped_at(queued_at));
	if (is_trampoline(queued_at))
		return tail;
	site = site_at(queued_at);
	return site && !(site_key(site) & STATIC_CALL_SITE_TAIL) == !tail &&
	       !is_settled(site_key(site));
}

/* Of what is keyed. */
static __always_inline bool is_static_call(const struct text_poke_loc *tp)
{
	kpkeys_keep(source, (const u64 *)tp);
	kpkeys_keep(end, (unsigned long)_stext + tp->rel_addr);
	if (mapped_at(queued_at) == ULONG_MAX || !leads_to_text(queued))
		return false;
	if (is_call_text(queued, (const u8 *)queued_at, true))
		return may_be_queued(true);
	return is_call_text(queued, (const u8 *)queued_at, false) && may_be_queued(false);
}

/* ---- whatever is not a jump label ---- */

/* Of what is keyed. */
static __always_inline bool may_be_probed(const struct text_poke_loc *tp)
{
	return kpkeys_allows_probes() || is_of_others(tp);
}

static __always_inline bool add(const struct text_poke_loc *tp, bool single, bool ask, bool call)
{
	struct text_poke_loc *in = &tp_page->incoming;

	kpkeys_keep(done, single);
	kpkeys_keep(level, ask);
	*in = *tp;
	in->step = KPKEYS_STEP_NONE;
	if (kpkeys_pgtables_enabled() && !(call ? is_static_call(in) : may_be_probed(in)) &&
	    (kpkeys_kept(level) || kpkeys_state.mode != KPKEYS_AUDIT))
		return false;
	return publish(kpkeys_kept(done));
}

typedef enum kpkeys_patched queue_fn(const struct text_poke_loc *tp, bool single, bool ask);

static __always_inline bool queue_by(queue_fn *queue, const struct text_poke_loc *tp,
				     bool single)
{
	enum kpkeys_patched done;
	bool ask = true;

	guard(irqsave)();
	do {
		done = queue(tp, single, ask);
	} while (is_to_repeat(done, &ask, tp));
	return done == KPKEYS_PATCHED;
}

static noinline __flatten enum kpkeys_patched queue_text(const struct text_poke_loc *tp,
							 bool single, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(tp);
	kpkeys_reread(single);
	kpkeys_reread(ask);
	return take_slot() ? leave_slot(add(tp, single, ask, false)) : KPKEYS_PATCH_BUSY;
}

/**
 * kpkeys_queue_text - have any instruction be patched
 * @tp: which
 * @single: by itself, or with the next batch
 *
 * What ftrace, kprobes and others of root's say is believed of text that is not the
 * kernel's own; of that, where kpkeys_kernel_probes=1 allows it.
 *
 * Return: false if the batch is full, or that is not allowed.
 */
bool kpkeys_queue_text(const struct text_poke_loc *tp, bool single)
{
	return queue_by(queue_text, tp, single);
}

static noinline __flatten enum kpkeys_patched queue_call(const struct text_poke_loc *tp,
							 bool single, bool ask)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(tp);
	kpkeys_reread(single);
	kpkeys_reread(ask);
	return take_slot() ? leave_slot(add(tp, single, ask, true)) : KPKEYS_PATCH_BUSY;
}

/**
 * kpkeys_queue_call - have a static call be patched
 * @tp: where it is, and what it becomes
 * @single: by itself, or with the next batch
 *
 * Anybody can have it done, and whoever does waits for a lock with this on the stack.
 *
 * Return: false if the kernel's text has no static call there.
 */
bool kpkeys_queue_call(const struct text_poke_loc *tp, bool single)
{
	return queue_by(queue_call, tp, single);
}

/* ---- and back ---- */

static noinline __flatten enum kpkeys_patched end_queue(bool single)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(single);
	if (!take_slot())
		return KPKEYS_PATCH_BUSY;
	if (single)
		tp_page->single.len = 0;
	else
		tp_page->nr = 0;
	return leave_slot(true);
}

/**
 * kpkeys_end_queue - nothing waits any more
 * @single: what is patched by itself, or the batch
 */
void kpkeys_end_queue(bool single)
{
	guard(irqsave)();
	while (end_queue(single) == KPKEYS_PATCH_BUSY)
		cpu_relax();
}

/* ---- steps ---- */

/* What is behind the batch is patched by itself. */
static __always_inline bool is_next_step(unsigned int i, u8 step)
{
	const struct text_poke_loc *tp = &tp_page->vec[i];
	bool waits = i < (unsigned int)tp_page->nr ||
		     (i == TP_VEC_MAX && tp_page->single.len);

	return waits && step == tp->step + 1 && step <= KPKEYS_STEP_DONE &&
	       tp->len && tp->len <= TEXT_POKE_MAX_OPCODE_SIZE + 1;
}

static __always_inline bool take_step(struct text_poke_loc *tp, u8 step)
{
	unsigned long at = (unsigned long)_stext + tp->rel_addr;
	bool six = tp->len > TEXT_POKE_MAX_OPCODE_SIZE;

	if (step == KPKEYS_STEP_TRAP)
		aim_at(at, &int3, sizeof(int3), false);
	else if (step == KPKEYS_STEP_REST)
		aim_at(at + 1, tp->text + !six, tp->len - 1, false);
	else
		aim_at(at, six ? &first_of_six : tp->text, 1, false);
	if (!write_text(true, true))
		return false;
	tp->step = step;
	return true;
}

static noinline __flatten enum kpkeys_patched patch_step(unsigned int i, u8 step)
{
	guard(kpkeys_hardened_pgtables)();
	kpkeys_reread(i);
	kpkeys_reread(step);
	if (!take_slot())
		return KPKEYS_PATCH_BUSY;
	return leave_slot(is_next_step(i, step) && take_step(&tp_page->vec[i], step));
}

/**
 * kpkeys_patch_step - write a part of an instruction that waits to be patched
 * @tp: which
 * @step: enum kpkeys_step
 *
 * Return: false if it does not wait, or that is not its next step.
 */
bool kpkeys_patch_step(const struct text_poke_loc *tp, u8 step)
{
	unsigned int i = tp - tp_page->vec;
	enum kpkeys_patched done;

	guard(irqsave)();
	while ((done = patch_step(i, step)) == KPKEYS_PATCH_BUSY)
		cpu_relax();
	return done == KPKEYS_PATCHED ||
	       !kpkeys_refuse("patching", "what does not wait for it", tp, NULL);
}
