// SPDX-License-Identifier: GPL-2.0-only
/* Pages that move while a thread writes them: small, huge and hugetlb, between two nodes, and by compaction. */
#include <linux/mempolicy.h>
#include <pthread.h>

#include "part.h"

#define SIZE	(8UL << 20)
#define PAGES	(SIZE / PAGE)
#define ROUNDS	6

static volatile bool stop;

struct writer {
	char *memory;
	unsigned int rounds;
};

static void *write_on(void *data)
{
	struct writer *writer = data;

	while (!stop) {
		number_pages(writer->memory, SIZE, writer->rounds);
		if (!pages_numbered(writer->memory, SIZE, writer->rounds))
			end_part(1, "a write got lost while pages moved");
		writer->rounds++;
	}
	return NULL;
}

/* How many pages are on the node they were sent to. */
static long move_to(char *memory, int node)
{
	static void *addresses[PAGES];
	static int nodes[PAGES], status[PAGES];
	long moved = 0;
	size_t i;

	for (i = 0; i < PAGES; i++) {
		addresses[i] = memory + i * PAGE;
		nodes[i] = node;
	}
	check(!(syscall(SYS_move_pages, 0, PAGES, addresses, nodes, status, MPOL_MF_MOVE) < 0), "move_pages");
	check(syscall(SYS_move_pages, 0, PAGES, addresses, NULL, status, 0) >= 0, "move_pages asks");
	for (i = 0; i < PAGES; i++)
		moved += status[i] == node;
	return moved;
}

static void between_nodes(char *memory, const char *what, const char *counter)
{
	struct writer writer = { .memory = memory };
	long before = vmstat(counter);
	long here[2] = {};
	pthread_t thread;
	int i;

	number_pages(memory, SIZE, 0);
	stop = false;
	check(!pthread_create(&thread, NULL, write_on, &writer), "thread");
	for (i = 0; i < ROUNDS; i++) {
		long moved = move_to(memory, i % 2);

		here[i % 2] = moved > here[i % 2] ? moved : here[i % 2];
	}
	stop = true;
	pthread_join(thread, NULL);
	check(!in_child(number_pages(memory, SIZE, 1000); check(pages_numbered(memory, SIZE, 1000), "child")), "child");
	check(here[0] > (long)PAGES / 2 && here[1] > (long)PAGES / 2, "%s: only %ld and %ld pages arrived", what, here[0], here[1]);
	/* -1: the kernel does not count */
	check(before < 0 || vmstat(counter) > before, "%s: %s did not grow", what, counter);
	printf("%s: %ld and %ld of %lu on their nodes, %s +%ld, %u rounds of writes\n", what, here[0], here[1], PAGES,
	       counter, vmstat(counter) - before, writer.rounds);
}

static void kinds(void)
{
	char *memory = aligned_memory(SIZE, MAP_PRIVATE);

	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	between_nodes(memory, "small pages", "pgmigrate_success");
	memory = aligned_memory(SIZE, MAP_PRIVATE);
	madvise(memory, SIZE, MADV_HUGEPAGE);
	between_nodes(memory, "huge pages", "thp_migration_success");
	memory = aligned_memory(SIZE, MAP_SHARED);
	between_nodes(memory, "shared pages", "pgmigrate_success");
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (memory == MAP_FAILED)
		puts("no hugetlb pages to move");
	else
		between_nodes(memory, "hugetlb pages", "pgmigrate_success");
}

/* Holes in the memory that compaction then closes. */
static void compaction(void)
{
	size_t size = 128UL << 20, at;
	char *memory = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	long before = vmstat("pgmigrate_success");

	madvise(memory, size, MADV_NOHUGEPAGE);
	number_pages(memory, size, 21);
	for (at = 0; at < size; at += 4 * PAGE)
		madvise(memory + at, 2 * PAGE, MADV_DONTNEED);
	check(write_file("/proc/sys/vm/compact_memory", "1"), "compact_memory");
	for (at = 0; at < size; at += PAGE)
		if (at / PAGE % 4 > 1)
			check(*(unsigned int *)(memory + at) == 21 + at / PAGE, "content after compaction");
	check(before < 0 || vmstat("pgmigrate_success") > before, "compaction moved nothing");
	printf("compaction moved %ld pages\n", vmstat("pgmigrate_success") - before);
	munmap(memory, size);
}

int main(void)
{
	compaction();
	need(!access("/sys/devices/system/node/node1", F_OK), "one node only");
	write_file("/proc/sys/vm/nr_hugepages", "16");
	kinds();
	write_file("/proc/sys/vm/nr_hugepages", "0");
	return 0;
}
