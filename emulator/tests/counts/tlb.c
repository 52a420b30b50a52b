// SPDX-License-Identifier: GPL-2.0-only
/* The model of a TLB alone. */
#include <string.h>

#include "../../plugins/tlb.h"

#define KERNEL	0xffff000000000000
#define PAGE	0x1000
#define BLOCK	0x200000

static unsigned int tests, failed;

static void check(const char *what, const char *wanted)
{
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	char *counts;

	tlb_report(out);
	fclose(out);
	counts = strstr(text, "lookups");
	if (!counts || strncmp(counts - 1, wanted, strlen(wanted))) {
		failed++;
		printf("not ok %u - %s # %s\n", ++tests, what, text);
	} else {
		printf("ok %u - %s\n", ++tests, what);
	}
	tlb_clear_counts();
}

#define CHECK(what, lookups, first, second)	\
	check(what, "\"lookups\": " #lookups ", \"l1_misses\": " #first ", \"misses\": " #second ",")

static void touch(uint64_t address, unsigned int bits)
{
	if (!tlb_same_page(address, address >> 63, true))
		tlb_access(address, bits, address >> 63, true);
}

static void touch_many(uint64_t from, unsigned int pages)
{
	unsigned int i;

	for (i = 0; i < pages; i++)
		touch(from + i * PAGE, 12);
}

static void flush_all(void)
{
	tlb_flush(&(struct tlb_flush){ .what = TLB_ALL });
}

static void check_sets(void)
{
	unsigned int i;

	touch_many(0, 12);
	touch_many(0, 12);
	CHECK("twelve pages fit into two sets", 24, 24, 12);
	flush_all();
	for (i = 0; i < 18; i++)
		touch(i % 9 * 2 * PAGE, 12);
	CHECK("nine of one set do not", 18, 18, 18);
	flush_all();
}

/* What only the first level is asked for gets old in the second one. */
static void check_levels(void)
{
	unsigned int i;

	for (i = 1; i <= 8; i++) {
		touch(0, 12);
		touch(i * 2 * PAGE, 12);
	}
	for (i = 5; i <= 8; i++)
		touch(i * 2 * PAGE, 12);
	tlb_clear_counts();
	touch(0, 12);
	CHECK("a hit in the first level does not reach the second", 1, 1, 1);
	flush_all();
}

static void check_sizes(void)
{
	touch_many(0, 4);
	touch_many(0, 4);
	CHECK("four pages fit", 8, 4, 4);
	touch_many(0, 8);
	touch_many(0, 8);
	CHECK("eight fit into the second level only", 16, 12, 4);
	touch_many(0, 18);
	CHECK("one too many for two sets goes to the same one", 18, 18, 10);
	flush_all();
	touch(BLOCK, 21);
	touch(BLOCK + 5 * PAGE, 21);
	CHECK("a block is one entry", 2, 1, 1);
	touch(4UL << 30, 30);
	touch((4UL << 30) + BLOCK, 30);
	CHECK("a larger one is held in pieces", 2, 2, 2);
	touch(BLOCK, 12);
	CHECK("the same address as a page is another entry", 1, 1, 1);
	flush_all();
}

static void check_recent(void)
{
	touch_many(0, 4);
	touch(0, 12);
	touch(4 * PAGE, 12);
	touch(0, 12);
	touch(PAGE, 12);
	CHECK("what was used last stays", 8, 6, 5);
	flush_all();
}

static void check_spaces(void)
{
	tlb_space(1);
	touch(0, 12);
	touch(KERNEL, 12);
	tlb_space(2);
	touch(0, 12);
	touch(KERNEL, 12);
	CHECK("only the kernel's is global", 4, 3, 3);
	tlb_space(1);
	touch(0, 12);
	CHECK("another space forgets nothing", 1, 0, 0);
	tlb_flush(&(struct tlb_flush){ .what = TLB_SPACE, .space = 2 });
	touch(0, 12);
	CHECK("a flush of another space", 1, 0, 0);
	tlb_flush(&(struct tlb_flush){ .what = TLB_SPACE, .space = 1 });
	touch(0, 12);
	touch(KERNEL, 12);
	CHECK("a flush of this one", 2, 1, 1);
	tlb_flush(&(struct tlb_flush){ .what = TLB_OWN });
	touch(0, 12);
	touch(KERNEL, 12);
	CHECK("a flush of all but global", 2, 1, 1);
	flush_all();
}

static void check_ranges(void)
{
	touch(KERNEL, 12);
	touch(BLOCK, 21);
	tlb_flush(&(struct tlb_flush){ TLB_RANGE, KERNEL + PAGE, PAGE, 1, false });
	touch(KERNEL, 12);
	touch(BLOCK, 21);
	CHECK("the page beside", 4, 2, 2);
	tlb_flush(&(struct tlb_flush){ TLB_RANGE, KERNEL, PAGE, 7, false });
	tlb_flush(&(struct tlb_flush){ TLB_RANGE, BLOCK + PAGE, PAGE, 7, false });
	touch(KERNEL, 12);
	touch(BLOCK, 21);
	CHECK("a global one of any space, another's not", 2, 1, 1);
	tlb_flush(&(struct tlb_flush){ TLB_RANGE, BLOCK + PAGE, PAGE, 7, true });
	touch(BLOCK, 21);
	CHECK("within a block", 1, 1, 1);
	tlb_flush(&(struct tlb_flush){ TLB_RANGE, 0, 4 * BLOCK, 1, false });
	touch(BLOCK, 21);
	CHECK("around a block", 1, 1, 1);
	flush_all();
}

static void check_counts(void)
{
	tlb_access(0, 12, false, false);
	CHECK("what is not counted", 0, 0, 0);
	touch(0, 12);
	CHECK("is there", 1, 0, 0);
}

static void check_options(void)
{
	static const char * const bad[] = {
		"l1=5:4", "l1=4", "l2=0:0", "pages=11", "pages=12+12", "pages=12,21", "pages=12+",
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool good = tlb_option(bad[i]) && tlb_broken();

		printf("%s %u - %s is refused\n", good ? "ok" : "not ok", ++tests, bad[i]);
		failed += !good;
	}
}

int main(void)
{
	tlb_option("tlb=test");
	tlb_option("l1=4:4");
	tlb_option("l2=16:8");
	tlb_option("pages=12+21");
	if (tlb_trouble()) {
		printf("Bail out! %s\n", tlb_trouble());
		return 1;
	}
	check_sizes();
	check_sets();
	check_levels();
	check_recent();
	check_spaces();
	check_ranges();
	check_counts();
	check_options();
	printf("1..%u\n", tests);
	return failed != 0;
}
