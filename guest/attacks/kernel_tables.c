// SPDX-License-Identifier: GPL-2.0-only
/* Attacks on entries that map kernel text, the direct map and vmalloc space. */
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
#ifdef __x86_64__
	/* endbr64; mov $0x600d,%eax; ret */
	static const unsigned char code[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x0d, 0x60, 0x00, 0x00, 0xc3,
	};
#else
	/* bti c; mov x0,#0x600d; ret */
	static const unsigned int code[] = { 0xd503245f, 0xd28c01a0, 0xd65f03c0 };
#endif
	struct slot slot;
	uint64_t addr, value;
	int err;

	if (corrupt_command("vmalloc count=1"))
		return broken("no vmalloc area");
	addr = corrupt_answer("address");
	err = kwrite(addr, code, sizeof(code));
	if (err || kwalk(addr, LEVEL_PTE, 0, &slot) || pte_is_executable(slot.value))
		return broken("no NX page to start with");
	err = kwrite64(slot.slot, pte_make_executable(slot.value));
	if (err)
		return lost("clearing NX was refused: %d", err);
	err = corrupt_command("call addr=0x%lx", addr);
	value = corrupt_answer("value");
	kwrite64(slot.slot, slot.value);
	if (err || value != 0x600d)
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to vmalloc page 0x%lx ran in the kernel and returned 0x%lx",
		   addr, value);
}

/* The same without an entry: what is not in the mask is taken out of what is set. */
enum outcome nx_mask(void)
{
#ifdef __x86_64__
	/* endbr64; mov $0x600d,%eax; ret */
	static const unsigned char code[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x0d, 0x60, 0x00, 0x00, 0xc3,
	};
	uint64_t mask = ksymbol("__supported_pte_mask"), old = kread64(mask), addr, value;
	int err;

	err = store_constant(mask, old & ~(1UL << 63));
	if (err)
		return lost("the mask was not to be changed: %d", err);
	err = corrupt_command("vmalloc count=1");
	addr = corrupt_answer("address");
	store_constant(mask, old);
	if (err || kwrite(addr, code, sizeof(code)))
		return broken("no vmalloc area");
	err = corrupt_command("call addr=0x%lx", addr);
	value = corrupt_answer("value");
	if (err || value != 0x600d)
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to vmalloc page 0x%lx ran in the kernel and returned 0x%lx",
		   addr, value);
#else
	return skipped("this kernel has no mask for entries");
#endif
}
