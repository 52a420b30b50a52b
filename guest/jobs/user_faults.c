// SPDX-License-Identifier: GPL-2.0-only
/* Page faults answered by user space, and local descriptor tables. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#include <asm/ldt.h>
#endif

#include "job.h"

#define FAULT_PAGES	96
#define LDT_LAST	1024	/* two pages */
#define LDT_STEP	64
#define LDT_LIMIT	4
#define LDT_CHILDREN	6
#define LDT_ROUNDS	200

static char *faulting;

static int copy_page(int fd, unsigned long addr, char *source)
{
	struct uffdio_copy copy = {
		.dst = addr & ~(PAGE_SIZE - 1),
		.src = (unsigned long)source,
		.len = PAGE_SIZE,
		.mode = UFFDIO_COPY_MODE_WP,
	};

	return ioctl(fd, UFFDIO_COPY, &copy);
}

static int unprotect_page(int fd, unsigned long addr)
{
	struct uffdio_writeprotect range = {
		.range = { .start = addr & ~(PAGE_SIZE - 1), .len = PAGE_SIZE },
	};

	return ioctl(fd, UFFDIO_WRITEPROTECT, &range);
}

static void *answer_faults(void *data)
{
	char *source = map_memory(PAGE_SIZE);
	int fd = *(int *)data;
	struct uffd_msg message;

	memset(source, 5, PAGE_SIZE);
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		unsigned long addr = message.arg.pagefault.address;
		bool protected = message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP;

		if (protected ? unprotect_page(fd, addr) : copy_page(fd, addr, source))
			break;
	}
	return NULL;
}

static int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register region = {
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return -1;
	region.range.start = (unsigned long)faulting;
	region.range.len = FAULT_PAGES * PAGE_SIZE;
	return ioctl(fd, UFFDIO_REGISTER, &region) ? -1 : fd;
}

enum job_outcome fault_by_user(void)
{
	pthread_t thread;
	int i, fd;

	faulting = map_memory(FAULT_PAGES * PAGE_SIZE);
	fd = open_userfaultfd();
	if (fd < 0)
		return skipped("no userfaultfd with write protection");
	pthread_create(&thread, NULL, answer_faults, &fd);
	for (i = 0; i < FAULT_PAGES; i++) {
		if (((volatile char *)faulting)[i * PAGE_SIZE] != 5)
			return failed("page %d has the wrong content", i);
		((volatile char *)faulting)[i * PAGE_SIZE] = 6;
	}
	munmap(faulting, FAULT_PAGES * PAGE_SIZE);
	return passed();
}

#ifdef __x86_64__
static int set_descriptor(int number, unsigned int limit)
{
	struct user_desc desc = {
		.entry_number = number,
		.limit = limit,
		.seg_32bit = 1,
		.useable = 1,
	};

	return syscall(SYS_modify_ldt, 1, &desc, sizeof(desc));
}

static int set_descriptors(unsigned int limit)
{
	int number;

	for (number = 0; number < LDT_LAST; number += LDT_STEP)
		if (set_descriptor(number, limit))
			return -1;
	return 0;
}

/* As the CPU has it; 0 if there is none. */
static unsigned int limit_of(int number)
{
	unsigned int limit = 0;

	asm volatile("lsl %1, %0" : "+r" (limit) : "r" (number << 3 | 7) : "cc");
	return limit;
}

static bool have_limit(unsigned int limit)
{
	int number;

	for (number = 0; number < LDT_LAST; number += LDT_STEP)
		if (limit_of(number) != limit || limit_of(number + 1))
			return false;
	return true;
}

/* More of them than CPUs: each comes behind another one's descriptors. */
static int use_own(unsigned int limit)
{
	int round;

	if (!have_limit(LDT_LIMIT) || set_descriptors(limit) ||
	    set_descriptor(LDT_ENTRIES - limit % 2 * LDT_LAST - 1, limit))
		return 1;
	for (round = 0; round < LDT_ROUNDS; round++, sched_yield())
		if (!have_limit(limit))
			return 1;
	return limit_of(LDT_ENTRIES - 1) != (limit % 2 ? 0 : limit);
}

enum job_outcome local_descriptors(void)
{
	unsigned int child;

	if (set_descriptors(LDT_LIMIT) || !have_limit(LDT_LIMIT))
		return failed("modify_ldt() gave no descriptors");
	for (child = 0; child < LDT_CHILDREN; child++)
		if (!fork())
			_exit(use_own(LDT_LIMIT + 1 + child));
	if (reap_children())
		return failed("a child has not its own descriptors");
	return have_limit(LDT_LIMIT) ? passed() : failed("a child's descriptors are the parent's");
}
#else
enum job_outcome local_descriptors(void)
{
	return skipped("there are no local descriptor tables here");
}
#endif
