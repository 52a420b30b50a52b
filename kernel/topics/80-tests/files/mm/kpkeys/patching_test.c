// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: who may have text patched. */
#include <linux/bpf.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kpkeys_arch.h>
#include <linux/kpkeys_frames.h>
#include <linux/kpkeys_patching.h>
#include <linux/kpkeys_test.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/set_memory.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include <asm/kpkeys_entries.h>
#include <asm/kpkeys_patch.h>
#include <asm/sections.h>
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
#include <asm/nops.h>
#endif

#include "internal.h"
#include "slots.h"

#define TEXT	((void *)_stext)
#define CODE	((unsigned long)_stext)

/* Suites run before text becomes read-only. */
static void enter_text(void *at)
{
	at = PTR_ALIGN_DOWN(at, PAGE_SIZE);
	kpkeys_frames_readonly(at, at + PAGE_SIZE);
}

static void leave_text(void *at)
{
	kpkeys_test_set_frame(PTR_ALIGN_DOWN(at, PAGE_SIZE), KPKEYS_FRAME_ORDINARY);
}

static bool is_refused(const struct jump_entry *entry, unsigned long code)
{
	return kpkeys_refuse_site(entry, __start___jump_table,
				  __stop___jump_table, code);
}

static void test_own_entries_are_believed(struct kunit *test)
{
	enter_text(TEXT);
	KUNIT_EXPECT_FALSE(test, is_refused(__start___jump_table, CODE));
	KUNIT_EXPECT_FALSE(test, is_refused(__stop___jump_table - 1, CODE));
	KUNIT_EXPECT_TRUE(test, is_refused(__stop___jump_table, CODE));
	/* Across two of them. */
	KUNIT_EXPECT_TRUE(test, is_refused((void *)__start___jump_table + 4,
					   CODE));
	leave_text(TEXT);
}

static void test_writable_entries_are_refused(struct kunit *test)
{
	struct jump_entry *entry = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	enter_text(TEXT);
	KUNIT_EXPECT_TRUE(test, is_refused(entry, CODE));
	KUNIT_EXPECT_TRUE(test, is_refused(entry, (unsigned long)entry));
	leave_text(TEXT);
}

/* As a module's, once it is loaded. */
static void test_readonly_entries_patch_no_image(struct kunit *test)
{
	struct jump_entry *entry = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	set_vm_flush_reset_perms(entry);
	set_memory_ro((unsigned long)entry, 1);
	enter_text(TEXT);
	KUNIT_EXPECT_TRUE(test, is_refused(entry, (unsigned long)entry));
	KUNIT_EXPECT_EQ(test, kpkeys_text_came((unsigned long)entry, 1), 0);
	KUNIT_EXPECT_FALSE(test, is_refused(entry, (unsigned long)entry));
	KUNIT_EXPECT_TRUE(test, is_refused(entry, CODE));
	leave_text(TEXT);
	vfree(entry);
}

/* Code that can be run is no data: filters have constants of user space. */
static void test_text_is_no_entry(struct kunit *test)
{
	struct jump_entry *entry = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	set_vm_flush_reset_perms(entry);
	KUNIT_EXPECT_EQ(test, kpkeys_make_text((unsigned long)entry, 1), 0);
	KUNIT_EXPECT_TRUE(test, is_refused(entry, (unsigned long)entry));
	vfree(entry);
}

#ifdef CONFIG_MODULES
static void test_modules_patch_their_text(struct kunit *test)
{
	struct module *mod = kunit_kzalloc(test, sizeof(*mod), GFP_KERNEL);
	void *sites = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	void *text = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, mod && sites && text);
	mod->mem[MOD_RO_AFTER_INIT].base = sites;
	mod->mem[MOD_RO_AFTER_INIT].size = PAGE_SIZE;
	mod->mem[MOD_TEXT].base = text;
	mod->mem[MOD_TEXT].size = PAGE_SIZE;
	KUNIT_EXPECT_TRUE(test, is_refused(sites, (unsigned long)text));
	KUNIT_ASSERT_EQ(test, kpkeys_module_comes(mod), 0);
	KUNIT_EXPECT_FALSE(test, is_refused(sites, (unsigned long)text));
	KUNIT_EXPECT_TRUE(test, is_refused(sites, (unsigned long)sites));
	KUNIT_EXPECT_TRUE(test, is_refused(text, (unsigned long)text));
	kpkeys_module_came(mod);
	KUNIT_EXPECT_TRUE(test, is_refused(sites, (unsigned long)text));
}
#endif

/* What is there already, so that nothing changes where it is not refused. */
static bool copies(void *to)
{
	return kpkeys_copy_text(to, to, sizeof(u32), false);
}

static bool pokes(void *to)
{
	return kpkeys_poke_text(to, to, sizeof(u32));
}

static void test_text_is_what_is_patched(struct kunit *test)
{
	void *ordinary = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	void *table = page_address(kpkeys_test_ptp);

	KUNIT_ASSERT_NOT_NULL(test, ordinary);
	enter_text(TEXT);
	KUNIT_EXPECT_TRUE(test, pokes(ordinary));
	KUNIT_EXPECT_EQ(test, pokes(TEXT), kpkeys_kernel_probes);
	KUNIT_EXPECT_FALSE(test, pokes(lm_alias(TEXT)));
	KUNIT_EXPECT_FALSE(test, pokes(table));
	KUNIT_EXPECT_FALSE(test, pokes(&kpkeys_state));
	KUNIT_EXPECT_TRUE(test, copies(ordinary));
	KUNIT_EXPECT_FALSE(test, copies(TEXT));
	KUNIT_EXPECT_FALSE(test, copies(lm_alias(TEXT)));
	leave_text(TEXT);
}

static void test_text_is_written(struct kunit *test)
{
	u32 *page = vmalloc(2 * PAGE_SIZE), *at = page + 1022, text[4] = { 1, 2, 3, 4 };
	void *nothing = (void *)(VMALLOC_END & PAGE_MASK);

	KUNIT_ASSERT_NOT_NULL(test, page);
	set_vm_flush_reset_perms(page);
	set_memory_ro((unsigned long)page, 2);
	KUNIT_EXPECT_EQ(test, kpkeys_text_came((unsigned long)page, 2), 0);
	KUNIT_EXPECT_TRUE(test, kpkeys_copy_text(at, text, sizeof(text), false));
	KUNIT_EXPECT_MEMEQ(test, at, text, sizeof(text));
	text[1] = text[2] = text[3] = text[0] = 0x01010101;
	KUNIT_EXPECT_TRUE(test, kpkeys_copy_text(at, text, sizeof(text), true));
	KUNIT_EXPECT_MEMEQ(test, at, text, sizeof(text));
	KUNIT_EXPECT_TRUE(test, kpkeys_poke_text(at, page, sizeof(u64)));
	KUNIT_EXPECT_MEMEQ(test, at, page, sizeof(u64));
	KUNIT_EXPECT_FALSE(test, kpkeys_poke_text(nothing, text, sizeof(text)));
	KUNIT_EXPECT_FALSE(test, kpkeys_poke_text(NULL, text, sizeof(text)));
	vfree(page);
}

#ifdef CONFIG_KPROBES
/* Who asks is told so, and it is no violation. */
static void test_probes_are_turned_down(struct kunit *test)
{
	struct kprobe probe = { .symbol_name = "do_sys_open" };
	unsigned long before = kpkeys_test_violations();
	int err = register_kprobe(&probe);

	if (!err)
		unregister_kprobe(&probe);
	KUNIT_EXPECT_EQ(test, err, kpkeys_kernel_probes ? 0 : -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, kpkeys_test_violations(), before);
}
#endif

/* Else whatever has a page there writes to it while another CPU does. */
static void test_slot_of_text_is_empty(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, arch_kpkeys_addr_pkey(ARCH_KPKEYS_PATCH_SLOT), -1);
	KUNIT_EXPECT_EQ(test, kpkeys_are_entries((void *)ARCH_KPKEYS_PATCH_SLOT, 1),
			kpkeys_state.mode == KPKEYS_AUDIT);
}

#ifdef CONFIG_BPF_JIT
static void test_nothing_is_copied_to_text(struct kunit *test)
{
	enter_text(TEXT);
	KUNIT_EXPECT_TRUE(test, IS_ERR(bpf_arch_text_copy(lm_alias(TEXT), TEXT, 16)));
#ifdef CONFIG_ARM64
	KUNIT_EXPECT_TRUE(test, IS_ERR(bpf_arch_text_copy(TEXT, TEXT, 16)));
#endif
	leave_text(TEXT);
}
#endif

static void test_queue_is_keyed(struct kunit *test)
{
	u8 *last = &kpkeys_patch_queue[PAGE_SIZE - 1], zero = 0;

	KUNIT_EXPECT_EQ(test, copy_to_kernel_nofault(last, &zero, 1), -EFAULT);
}

static bool switch_off(const struct jump_entry *entry)
{
#ifdef CONFIG_X86
	return kpkeys_queue_jump(entry, false);
#else
	return kpkeys_write_jump(entry, false);
#endif
}

/* Which way it goes is an argument: a guard would be off. */
static void test_guards_are_not_switched(struct kunit *test)
{
	struct jump_entry *entry = __start___jump_table;

	while (entry < __stop___jump_table &&
	       jump_entry_key(entry) != &kpkeys_pgtables_key.key)
		entry++;
	KUNIT_ASSERT_TRUE(test, entry < __stop___jump_table);
	KUNIT_EXPECT_FALSE(test, switch_off(entry));
}

#ifdef CONFIG_X86
/* Where a task that waited might say so. */
static void test_queue_believes_no_entry(struct kunit *test)
{
	struct jump_entry *entry = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	enter_text(TEXT);
	entry->code = (long)TEXT - (long)&entry->code;
	KUNIT_EXPECT_FALSE(test, kpkeys_queue_jump(entry, true));
	KUNIT_EXPECT_FALSE(test, kpkeys_queue_jump((void *)__start___jump_table + 4, true));
	KUNIT_EXPECT_EQ(test, tp_page->nr, 0);
	leave_text(TEXT);
}

static DEFINE_STATIC_KEY_FALSE(label);

/* One of our own, so that nothing else changes where it is believed. */
static void copy_entry(struct jump_entry *copy)
{
	const struct jump_entry *own = (void *)(label.key.type & ~JUMP_TYPE_MASK);

	copy->code = jump_entry_code(own) - (unsigned long)&copy->code;
	copy->target = jump_entry_target(own) - (unsigned long)&copy->target;
	copy->key = (unsigned long)&label - (unsigned long)&copy->key;
}

/* What the code of jump labels makes of it beforehand is on its stack. */
static void test_label_goes_by_its_entry(struct kunit *test)
{
	static struct jump_entry forged;
	void *code;

	copy_entry(&forged);
	code = (void *)jump_entry_code(&forged);
	enter_text(code);
	arch_jump_label_transform_queue(&forged, JUMP_LABEL_JMP);
	KUNIT_EXPECT_EQ(test, tp_page->nr, 0);
	arch_jump_label_transform_apply();
	leave_text(code);
	KUNIT_EXPECT_FALSE(test, static_branch_unlikely(&label));
}

/* What is patched is noted in 32 bits, so far away it is something else. */
static void test_place_of_label_is_whole(struct kunit *test)
{
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct jump_entry *far = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, far);
	memcpy(far + 1, nop, sizeof(nop));
	far->code = (long)(far + 1) - (long)&far->code;
	KUNIT_EXPECT_FALSE(test, kpkeys_queue_jump(far, true));
	KUNIT_EXPECT_EQ(test, tp_page->nr, 0);
	kpkeys_end_queue(false);
}

static bool waits(unsigned long at, bool single)
{
	struct text_poke_loc tp = { .rel_addr = at - CODE, .len = 5 };

	return kpkeys_queue_text(&tp, single);
}

/* What ftrace's records and others say is in ordinary memory. */
static void test_queue_takes_no_text_of_the_kernels(struct kunit *test)
{
	bool single = waits(CODE, true), batch = waits((unsigned long)_etext - 1, false);

	KUNIT_EXPECT_EQ(test, single, kpkeys_kernel_probes);
	KUNIT_EXPECT_EQ(test, batch, kpkeys_kernel_probes);
	KUNIT_EXPECT_EQ(test, tp_page->single.len, single ? 5 : 0);
	KUNIT_EXPECT_EQ(test, tp_page->nr, batch);
	kpkeys_end_queue(true);
	kpkeys_end_queue(false);
}

static void test_steps_are_in_order(struct kunit *test)
{
	static u8 no_text[8];
	struct text_poke_loc *tp = &tp_page->single, forged = {
		.rel_addr = (unsigned long)no_text - CODE,
		.len = 5,
	};

	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(tp, KPKEYS_STEP_TRAP));
	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(&forged, KPKEYS_STEP_TRAP));
	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(&tp_page->vec[0], KPKEYS_STEP_TRAP));
	kpkeys_queue_text(&forged, true);
	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(tp, KPKEYS_STEP_REST));
	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(tp, KPKEYS_STEP_DONE));
	kpkeys_end_queue(true);
	KUNIT_EXPECT_FALSE(test, kpkeys_patch_step(tp, KPKEYS_STEP_TRAP));
}
#endif

#if defined(CONFIG_HAVE_STATIC_CALL_INLINE) && defined(CONFIG_X86)
static bool takes(struct text_poke_loc *tp, unsigned long at, u8 op, u32 rest)
{
	bool taken;

	tp->rel_addr = at - CODE;
	tp->len = CALL_INSN_SIZE;
	tp->opcode = op;
	tp->text[0] = op;
	put_unaligned(rest, (u32 *)(tp->text + 1));
	taken = kpkeys_queue_call(tp, true);
	if (taken)
		kpkeys_end_queue(true);
	return taken;
}

static bool takes_call(unsigned long at, u8 op)
{
	struct text_poke_loc tp = { };

	return takes(&tp, at, op, op == RET_INSN_OPCODE ? 0xcccccccc : 0);
}

static bool takes_jump_to(unsigned long at, unsigned long to)
{
	struct text_poke_loc tp = { .disp = to - at - JMP32_INSN_SIZE };

	return takes(&tp, at, JMP32_INSN_OPCODE, tp.disp);
}

static unsigned long place_of(const struct static_call_site *site)
{
	return (unsigned long)&site->addr + site->addr;
}

static bool is_settled_site(const struct static_call_site *site)
{
	unsigned long key = (unsigned long)&site->key + site->key;

	return key >= (unsigned long)__start_ro_after_init &&
	       key < (unsigned long)__end_ro_after_init;
}

/* What runs once only is not the kernel's text for long. */
static const struct static_call_site *site_in_text(bool settled)
{
	const struct static_call_site *site = __start_static_call_sites;

	for (; site < __stop_static_call_sites; site++)
		if (place_of(site) >= CODE && place_of(site) < (unsigned long)_etext &&
		    is_settled_site(site) == settled)
			return site;
	return NULL;
}

/* Where a task that waited says so; what is queued here is never written. */
static void test_static_call_wants_a_site(struct kunit *test)
{
	const struct static_call_site *site = site_in_text(false);
	unsigned long at = place_of(site);
	bool tail;

	tail = ((long)&site->key + site->key) & STATIC_CALL_SITE_TAIL;
	KUNIT_EXPECT_TRUE(test, takes_call(at, tail ? RET_INSN_OPCODE : CALL_INSN_OPCODE));
	KUNIT_EXPECT_FALSE(test, takes_call(at, tail ? CALL_INSN_OPCODE : RET_INSN_OPCODE));
	KUNIT_EXPECT_FALSE(test, takes_call(at, INT3_INSN_OPCODE));
	KUNIT_EXPECT_FALSE(test, takes_call(at + 1, CALL_INSN_OPCODE));
	KUNIT_EXPECT_FALSE(test, takes_call((unsigned long)_stext, CALL_INSN_OPCODE));
	KUNIT_EXPECT_EQ(test, tp_page->single.len, 0);
}

static void set_single(const struct text_poke_loc *tp)
{
	guard(kpkeys_hardened_pgtables)();
	tp_page->single = *tp;
}

/* Int3 goes on with what waits, and does not know whether it was asked about. */
static void test_refused_call_never_waits(struct kunit *test)
{
	const struct text_poke_loc before = tp_page->single;

	KUNIT_EXPECT_FALSE(test, takes_call(CODE + 1, CALL_INSN_OPCODE));
	KUNIT_EXPECT_EQ(test, memcmp(&before, &tp_page->single, sizeof(before)), 0);
}

/* Nor with a part of the one before, while its int3 is there. */
static void test_call_waits_for_the_one_before(struct kunit *test)
{
	const struct static_call_site *site = site_in_text(false);
	const struct text_poke_loc before = tp_page->single;
	u8 op = ((long)&site->key + site->key) & STATIC_CALL_SITE_TAIL ?
		RET_INSN_OPCODE : CALL_INSN_OPCODE;
	bool taken[KPKEYS_STEP_DONE + 1];
	u8 step;

	for (step = KPKEYS_STEP_NONE; step <= KPKEYS_STEP_DONE; step++) {
		set_single(&(struct text_poke_loc) { .len = CALL_INSN_SIZE, .step = step });
		taken[step] = takes_call(place_of(site), op);
	}
	set_single(&before);
	KUNIT_EXPECT_FALSE(test, taken[KPKEYS_STEP_TRAP]);
	KUNIT_EXPECT_FALSE(test, taken[KPKEYS_STEP_REST]);
	KUNIT_EXPECT_TRUE(test, taken[KPKEYS_STEP_DONE]);
}

/* Which security modules are asked is settled when the kernel starts. */
static void test_settled_call_stays(struct kunit *test)
{
	const struct static_call_site *site = site_in_text(true);

	if (!site)
		kunit_skip(test, "no static call with a key that is read-only after init");
	KUNIT_EXPECT_FALSE(test, takes_call(place_of(site), RET_INSN_OPCODE));
	KUNIT_EXPECT_FALSE(test, takes_call(place_of(site), CALL_INSN_OPCODE));
	KUNIT_EXPECT_EQ(test, tp_page->single.len, 0);
}

/* Four bytes of what is patched are chosen by who says what is called. */
static void test_static_call_leads_to_no_patch(struct kunit *test)
{
	unsigned long first = (unsigned long)__static_call_text_start, second = first + 8;
	unsigned long site = place_of(site_in_text(false));
	struct text_poke_loc other = { .disp = 8 };

	KUNIT_EXPECT_TRUE(test, takes_jump_to(first, CODE));
	KUNIT_EXPECT_TRUE(test, takes_jump_to(first, second));
	KUNIT_EXPECT_FALSE(test, takes_jump_to(first, second + 1));
	KUNIT_EXPECT_FALSE(test, takes_jump_to(first, site + 1));
	KUNIT_EXPECT_FALSE(test, takes_jump_to(first + 4, CODE));
	KUNIT_EXPECT_FALSE(test, takes_jump_to(first, (unsigned long)&kpkeys_state));
	/* What int3 goes on with, and what is written. */
	KUNIT_EXPECT_FALSE(test, takes(&other, first, JMP32_INSN_OPCODE, 16));
	KUNIT_EXPECT_FALSE(test, takes(&other, first, RET_INSN_OPCODE, 16));
}
#endif

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static int say_one(void)
{
	return 1;
}

static int say_two(void)
{
	return 2;
}

DEFINE_STATIC_CALL(test_call, say_one);

/* Near text, as offsets in a site are of 32 bits. */
static struct static_call_site forged_site;
static struct module forged_owner;

static void forge_site(void *at)
{
	struct static_call_key *key = &STATIC_CALL_KEY(test_call);

	forged_site.addr = (long)at - (long)&forged_site.addr;
	forged_site.key = (long)key - (long)&forged_site.key;
	forged_owner.static_call_sites = &forged_site;
	forged_owner.num_static_call_sites = 1;
}

static void *find_nop(void *from)
{
	void *at;

	for (at = from; at < from + 16; at++)
		if (!memcmp(at, x86_nops[5], 5))
			return at;
	return NULL;
}

static void test_static_call_believes_no_site(struct kunit *test)
{
	struct static_call_mod mod = { .mod = &forged_owner, .sites = &forged_site };
	struct static_call_key *key = &STATIC_CALL_KEY(test_call);
	void *nop = find_nop(say_one), *mods = key->mods;

	KUNIT_ASSERT_NOT_NULL(test, nop);
	forge_site(nop);
	enter_text(nop);
	key->mods = &mod;
	static_call_update(test_call, say_two);
	KUNIT_EXPECT_MEMEQ(test, nop, x86_nops[5], 5);
	key->mods = mods;
	leave_text(nop);
	static_call_update(test_call, say_one);
	KUNIT_EXPECT_EQ(test, static_call(test_call)(), 1);
}
#endif

static int patching_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_frames.nr);
	return kpkeys_test_init(test);
}

static struct kunit_case patching_cases[] = {
	KUNIT_CASE(test_own_entries_are_believed),
	KUNIT_CASE(test_writable_entries_are_refused),
	KUNIT_CASE(test_readonly_entries_patch_no_image),
	KUNIT_CASE(test_text_is_no_entry),
	KUNIT_CASE(test_guards_are_not_switched),
#ifdef CONFIG_MODULES
	KUNIT_CASE(test_modules_patch_their_text),
#endif
	KUNIT_CASE(test_text_is_what_is_patched),
	KUNIT_CASE(test_text_is_written),
#ifdef CONFIG_KPROBES
	KUNIT_CASE(test_probes_are_turned_down),
#endif
	KUNIT_CASE(test_slot_of_text_is_empty),
#ifdef CONFIG_BPF_JIT
	KUNIT_CASE(test_nothing_is_copied_to_text),
#endif
	KUNIT_CASE(test_queue_is_keyed),
#ifdef CONFIG_X86
	KUNIT_CASE(test_queue_believes_no_entry),
	KUNIT_CASE(test_label_goes_by_its_entry),
	KUNIT_CASE(test_place_of_label_is_whole),
	KUNIT_CASE(test_queue_takes_no_text_of_the_kernels),
	KUNIT_CASE(test_steps_are_in_order),
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	KUNIT_CASE(test_static_call_wants_a_site),
	KUNIT_CASE(test_refused_call_never_waits),
	KUNIT_CASE(test_call_waits_for_the_one_before),
	KUNIT_CASE(test_settled_call_stays),
	KUNIT_CASE(test_static_call_leads_to_no_patch),
#endif
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	KUNIT_CASE(test_static_call_believes_no_site),
#endif
	{}
};

static struct kunit_suite patching_suite = {
	.name = "kpkeys-patching",
	.init = patching_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = patching_cases,
};

kunit_test_suite(patching_suite);
