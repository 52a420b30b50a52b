// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "corrupt.h"

#define MAX_STORE	64
#define MAX_READ	4096

static int command_fd = -1;
static char answer[2 * MAX_READ + 16];

int corrupt_open(void)
{
	command_fd = open("/sys/kernel/debug/kpkeys_attack/command",
			  O_RDWR | O_CLOEXEC);
	return command_fd < 0 ? -errno : 0;
}

/* pwrite: a write() that dies in an oops leaves the file position locked. */
static int send_command(const char *text)
{
	if (pwrite(command_fd, text, strlen(text), 0) < 0)
		return -errno;
	return 0;
}

static int fetch_answer(void)
{
	ssize_t n = pread(command_fd, answer, sizeof(answer) - 1, 0);

	answer[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

int corrupt_command(const char *fmt, ...)
{
	char text[512];
	va_list args;
	int err;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	err = send_command(text);
	return err ? err : fetch_answer();
}

uint64_t corrupt_answer_nth(const char *name, int n)
{
	char key[64];
	char *at = answer;

	snprintf(key, sizeof(key), "%s=", name);
	for (at = strstr(at, key); at; at = strstr(at + 1, key)) {
		if (at != answer && at[-1] != ' ' && at[-1] != '\n')
			continue;
		if (!n--)
			return strtoull(at + strlen(key), NULL, 0);
	}
	return 0;
}

uint64_t corrupt_answer(const char *name)
{
	return corrupt_answer_nth(name, 0);
}

static void to_hex(const unsigned char *data, size_t len, char *text)
{
	for (; len; len--, text += 2)
		sprintf(text, "%02x", *data++);
}

/* The oops kills the writer, so let that be somebody else. */
static int send_from_child(const char *text)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-send_command(text));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

static int store_chunk(const struct store *how, uint64_t addr,
		       const void *data, size_t len)
{
	char text[512], hex[2 * MAX_STORE + 1];

	to_hex(data, len, hex);
	snprintf(text, sizeof(text),
		 "write ctx=%s form=%s fault=%s addr=0x%lx data=%s",
		 how->context ? how->context : "task",
		 how->form ? how->form : "plain", how->oops ? "oops" : "fixup",
		 addr, hex);
	return how->oops ? send_from_child(text) : send_command(text);
}

int kstore(const struct store *how, uint64_t addr, const void *data, size_t len)
{
	const char *from = data;
	size_t n;
	int err = 0;

	for (; len && !err; len -= n, addr += n, from += n) {
		n = len < MAX_STORE ? len : MAX_STORE;
		err = store_chunk(how, addr, from, n);
	}
	return err;
}

int kwrite(uint64_t addr, const void *data, size_t len)
{
	static const struct store plain;

	return kstore(&plain, addr, data, len);
}

int kwrite64(uint64_t addr, uint64_t value)
{
	return kwrite(addr, &value, sizeof(value));
}

/* sscanf() would measure all of the answer for each byte. */
static int digit_to_bits(char digit)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, digit);

	return digit && at ? at - digits : -1;
}

static int answer_to_bytes(unsigned char *data, size_t len)
{
	int high, low;
	size_t i;

	for (i = 0; i < len; i++) {
		high = digit_to_bits(answer[2 * i]);
		low = high < 0 ? -1 : digit_to_bits(answer[2 * i + 1]);
		if (low < 0)
			return -EIO;
		data[i] = high << 4 | low;
	}
	return 0;
}

static int read_chunk(uint64_t addr, unsigned char *data, size_t len)
{
	int err = corrupt_command("read addr=0x%lx count=%zu", addr, len);

	return err ? err : answer_to_bytes(data, len);
}

int kread(uint64_t addr, void *data, size_t len)
{
	unsigned char *to = data;
	size_t n;
	int err = 0;

	for (; len && !err; len -= n, addr += n, to += n) {
		n = len < MAX_READ ? len : MAX_READ;
		err = read_chunk(addr, to, n);
	}
	return err;
}

uint64_t kread64(uint64_t addr)
{
	uint64_t value = 0;

	kread(addr, &value, sizeof(value));
	return value;
}

int kload(const char *form, uint64_t addr, void *data, size_t len)
{
	char text[128];
	int err;

	snprintf(text, sizeof(text), "load form=%s addr=0x%lx count=%zu", form, addr, len);
	err = strcmp(form, "plain") ? send_command(text) : send_from_child(text);
	if (!err)
		err = fetch_answer();
	return err ? err : answer_to_bytes(data, len);
}

int kcopy(uint64_t addr, void *data, size_t len)
{
	/* Not there yet: the copy faults on that side, too. */
	void *shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char text[128];
	int err;

	if (shared == MAP_FAILED)
		return -errno;
	snprintf(text, sizeof(text), "copy addr=0x%lx count=%zu to=0x%lx", addr, len,
		 (uint64_t)shared);
	err = send_from_child(text);
	memcpy(data, shared, len);
	munmap(shared, PAGE_SIZE);
	return err;
}

static int kcore_fd = -1;

int kcore_open(void)
{
	kcore_fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	return kcore_fd < 0 ? -errno : 0;
}

/* Where in the file a kernel address is, or 0. */
static off_t kcore_offset(uint64_t addr)
{
	Elf64_Ehdr header;
	Elf64_Phdr part;
	int i;

	if (pread(kcore_fd, &header, sizeof(header), 0) != sizeof(header))
		return 0;
	for (i = 0; i < header.e_phnum; i++) {
		if (pread(kcore_fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) !=
		    sizeof(part))
			return 0;
		if (part.p_type == PT_LOAD && addr - part.p_vaddr < part.p_memsz)
			return part.p_offset + (addr - part.p_vaddr);
	}
	return 0;
}

int kcore_read(uint64_t addr, void *data, size_t len)
{
	off_t offset = kcore_offset(addr);

	if (!offset)
		return -ENOENT;
	return pread(kcore_fd, data, len, offset) == (ssize_t)len ? 0 : -errno;
}

uint64_t ksymbol(const char *name)
{
	if (corrupt_command("symbol name=%s", name))
		return 0;
	return corrupt_answer("address");
}

const char *known_symbol(const char *name, const char *newer)
{
	return ksymbol(name) ? name : newer;
}

uint64_t ksymbol_cpu(const char *name, int cpu)
{
	if (corrupt_command("symbol name=%s cpu=%d", name, cpu))
		return 0;
	return corrupt_answer("address");
}

static void answer_to_slot(struct slot *slot)
{
	slot->slot = corrupt_answer("slot");
	slot->value = corrupt_answer("value");
	slot->level = corrupt_answer("level");
	slot->phys = corrupt_answer("phys");
	slot->alias = corrupt_answer("alias");
	slot->page = corrupt_answer("page");
}

int kwalk(uint64_t addr, int level, pid_t pid, struct slot *slot)
{
	int err = corrupt_command("walk addr=0x%lx level=%d pid=%d", addr, level, pid);

	if (!err)
		answer_to_slot(slot);
	return err;
}

int kwalk_user_half(uint64_t addr, int level, struct slot *slot)
{
	int err = corrupt_command("walk addr=0x%lx level=%d half=user", addr, level);

	if (!err)
		answer_to_slot(slot);
	return err;
}

int ktask(pid_t pid, struct task *task)
{
	int err = corrupt_command("task pid=%d", pid);

	if (err)
		return err;
	task->task = corrupt_answer("task");
	task->size = corrupt_answer("size");
	task->cred = corrupt_answer("cred");
	task->cred_slot = corrupt_answer("cred_slot");
	task->real_cred_slot = corrupt_answer("real_cred_slot");
	task->mm = corrupt_answer("mm");
	task->pgd = corrupt_answer("pgd");
	task->stack = corrupt_answer("stack");
	task->stack_size = corrupt_answer("stack_size");
	task->regs = corrupt_answer("regs");
	task->thread = corrupt_answer("thread");
	task->sp = corrupt_answer("sp");
	task->keys = corrupt_answer("keys");
	task->keys_slot = corrupt_answer("keys_slot");
	task->kernel_key = corrupt_answer("kernel_key");
	task->enabled_keys = corrupt_answer("enabled_keys");
	task->frame = corrupt_answer("frame");
	task->cpu_word = corrupt_answer("cpu_word");
	return 0;
}

uint64_t user_room(int part)
{
	return (uint64_t)part << (address_bits() - 8);
}

#if defined(__x86_64__)
/* With five levels there is more, which nobody here needs. */
int address_bits(void)
{
	return 48;
}

uint64_t direct_map_base(void)
{
	return kread64(ksymbol("page_offset_base"));
}

uint64_t memory_map_base(void)
{
	return kread64(ksymbol("vmemmap_base"));
}

uint64_t vmalloc_base(void)
{
	return kread64(ksymbol("vmalloc_base"));
}
#elif defined(__aarch64__)
/* Addresses in the direct map have the highest of these bits clear. */
int address_bits(void)
{
	static int bits;
	struct task task;

	if (!bits && !ktask(0, &task))
		bits = 64 - __builtin_clzl(~task.task);
	return bits;
}

uint64_t direct_map_base(void)
{
	return -1UL << address_bits();
}

/* The part that some page of this machine is in. */
uint64_t memory_map_base(void)
{
	if (corrupt_command("alloc order=0"))
		return 0;
	return corrupt_answer("page") & ~(PUD_SIZE - 1);
}

uint64_t vmalloc_base(void)
{
	return -1UL << (address_bits() - 1);
}
#endif
