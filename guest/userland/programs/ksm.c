// SPDX-License-Identifier: GPL-2.0-only
/* KSM: equal pages of two processes become one, zero pages the zero page, and a write parts them again. */
#include "part.h"

#define KSM	"/sys/kernel/mm/ksm/"
#define PAGES	2000
#define SIZE	(PAGES * PAGE)
#define SECONDS	60

static void fill(char *memory)
{
	size_t at;

	for (at = 0; at < SIZE; at += PAGE)
		memset(memory + at, at < SIZE / 2 ? 'x' : 0, PAGE);
	madvise(memory, SIZE, MADV_MERGEABLE);
}

static bool content(char *memory)
{
	size_t at;

	for (at = 0; at < SIZE; at += 97)
		if (memory[at] != (at < SIZE / 2 ? 'x' : 0))
			return false;
	return true;
}

static bool wait_for(const char *path, long number)
{
	int i;

	for (i = 0; i < SECONDS * 10 && read_number(path) < number; i++)
		usleep(100000);
	printf("%s %ld\n", path, read_number(path));
	return read_number(path) >= number;
}

int main(void)
{
	char *memory = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	long zero_before;
	int go[2], i;
	pid_t child;
	int status;
	char c;

	need(write_file(KSM "run", "1"), "no KSM");
	write_file(KSM "sleep_millisecs", "5");
	write_file(KSM "pages_to_scan", "1000");
	zero_before = read_number(KSM "ksm_zero_pages");
	check(write_file(KSM "use_zero_pages", "1"), "use_zero_pages");
	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	check(!pipe(go), "pipe");
	child = fork();
	if (!child) {
		fill(memory);
		check(read(go[0], &c, 1) == 1, "pipe");
		check(content(memory), "a child's merged page has other content");
		number_pages(memory, SIZE, 3);
		_exit(!pages_numbered(memory, SIZE, 3));
	}
	fill(memory);
	check(wait_for(KSM "pages_sharing", PAGES * 9 / 10), "pages were not merged");
	check(wait_for(KSM "ksm_zero_pages", zero_before + PAGES * 9 / 10), "zero pages were not merged");
	check(write(go[1], "x", 1) == 1, "pipe");
	check(waitpid(child, &status, 0) == child && !status, "child");
	check(content(memory), "a merged page has other content");
	/* A fork of merged pages, and writes into them in both. */
	for (i = 0; i < 4; i++)
		check(!in_child(number_pages(memory, SIZE, i); check(pages_numbered(memory, SIZE, i), "lost")), "fork");
	number_pages(memory, SIZE / 2, 11);
	check(pages_numbered(memory, SIZE / 2, 11), "write into merged pages");
	check(write_file(KSM "run", "2"), "unmerge");
	check(pages_numbered(memory, SIZE / 2, 11) && !memory[SIZE - 1], "content after unmerging");
	check(!read_number(KSM "pages_sharing"), "pages are still shared");
	write_file(KSM "run", "0");
	write_file(KSM "use_zero_pages", "0");
	return 0;
}
