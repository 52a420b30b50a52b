// SPDX-License-Identifier: GPL-2.0-only
/* Processes whose memory must be what it was when a file appears: small and huge pages, shared and copied on write. */
#include "part.h"

#define CHILDREN	4
#define SIZE		(8 * HUGE_PAGE)
#define SECONDS		500

struct kept {
	char *small, *huge, *shared;
};

static void wait_for_file(const char *path)
{
	int tries;

	for (tries = 0; tries < SECONDS * 10 && access(path, F_OK); tries++)
		usleep(100000);
	check(!access(path, F_OK), "%s did not come", path);
}

static void keep(const struct kept *kept, const char *path, unsigned int seed)
{
	number_pages(kept->small, SIZE / 2, seed);
	number_pages(kept->huge, SIZE / 2, seed);
	wait_for_file(path);
	check(pages_numbered(kept->small, SIZE / 2, seed), "own small pages");
	check(pages_numbered(kept->huge, SIZE / 2, seed), "own huge pages");
	check(pages_numbered(kept->shared, SIZE, 1), "shared pages");
	number_pages(kept->small, SIZE, seed + 1);
	check(pages_numbered(kept->small, SIZE, seed + 1), "small pages written again");
}

int main(int argc, char **argv)
{
	struct kept kept = {
		.small = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1),
		.huge = aligned_memory(SIZE, MAP_PRIVATE),
		.shared = map(SIZE, MAP_SHARED | MAP_ANONYMOUS, -1),
	};
	int i, status;

	check(argc == 2, "which file?");
	madvise(kept.small, SIZE, MADV_NOHUGEPAGE);
	madvise(kept.huge, SIZE, MADV_HUGEPAGE);
	number_pages(kept.small, SIZE, 2);
	number_pages(kept.huge, SIZE, 3);
	number_pages(kept.shared, SIZE, 1);
	for (i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		keep(&kept, argv[1], 100 * i);
		return 0;
	}
	wait_for_file(argv[1]);
	check(pages_numbered(kept.small, SIZE, 2), "small pages");
	check(pages_numbered(kept.huge, SIZE, 3), "huge pages");
	for (i = 0; i < CHILDREN; i++)
		check(wait(&status) > 0 && !status, "a child's memory");
	return 0;
}
