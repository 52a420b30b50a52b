// SPDX-License-Identifier: GPL-2.0-only
/* What a tracer and a core dump see of a task's pointer authentication. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "job.h"
#include "kpkeys.h"
#include "pauth.h"
#include "tracee.h"

#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"
#define CORE		"/tmp/pauth-core"
#define SIGNED_VALUES	64

static long enabled_of(const struct tracee *tracee)
{
	long mask = -1;
	int err = get_regs(tracee, NT_ARM_PAC_ENABLED_KEYS, &mask, sizeof(mask));

	return err ? err : mask;
}

static int enable(const struct tracee *tracee, unsigned long mask)
{
	return set_regs(tracee, NT_ARM_PAC_ENABLED_KEYS, &mask, sizeof(mask));
}

static enum job_outcome enable_by_tracer(const struct tracee *tracee)
{
	unsigned long mask;

	for (mask = 0; mask <= PAUTH_ALL; mask++) {
		if (enable(tracee, mask) || enabled_of(tracee) != (long)mask)
			return failed("set keys %#lx, got %#lx", mask, enabled_of(tracee));
		if (!step_tracee(tracee))
			return failed("the tracee is gone");
		if (tracee->state->enabled != (long)mask || tracee->state->signing != mask)
			return failed("the tracer enabled keys %#lx, the task sees %#lx, "
				      "signing %#lx", mask, tracee->state->enabled,
				      tracee->state->signing);
	}
	return passed();
}

static enum job_outcome refuse_tracer(const struct tracee *tracee)
{
	int n;

	for (n = PAUTH_SWITCHED; n < 64; n++)
		if (enable(tracee, PAUTH_ALL | 1UL << n) != -EINVAL)
			return failed("a tracer set the unknown bit %d", n);
	if (enable(tracee, ~0UL) != -EINVAL)
		return failed("a tracer set all ones");
	return enabled_of(tracee) == PAUTH_ALL ? passed() :
	       failed("what was refused left keys %#lx", enabled_of(tracee));
}

/* The bits that signing ever changes. */
static uint64_t signed_bits(enum pauth_key key)
{
	uint64_t value, bits = 0;

	for (value = 0; value < SIGNED_VALUES; value++)
		bits |= pauth_sign(key, value) ^ value;
	return bits;
}

static enum job_outcome see_mask(const struct tracee *tracee)
{
	uint64_t mask[2];	/* of data and of instructions */

	if (get_regs(tracee, NT_ARM_PAC_MASK, mask, sizeof(mask)))
		return failed("no view of the mask");
	if (mask[0] != signed_bits(PAUTH_DA) || mask[1] != signed_bits(PAUTH_IA))
		return failed("masks are %#lx and %#lx, signing changes %#lx and %#lx", mask[0],
			      mask[1], signed_bits(PAUTH_DA), signed_bits(PAUTH_IA));
	if (!set_regs(tracee, NT_ARM_PAC_MASK, mask, sizeof(mask)))
		return failed("a tracer could set the mask");
	return passed();
}

enum job_outcome pauth_traced(void)
{
	enum job_outcome outcome;
	struct tracee tracee;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (!start_tracee(&tracee) || enabled_of(&tracee) != PAUTH_ALL)
		return failed("no view of the enabled keys");
	outcome = enable_by_tracer(&tracee);
	if (outcome == JOB_PASSED)
		outcome = refuse_tracer(&tracee);
	if (outcome == JOB_PASSED)
		outcome = see_mask(&tracee);
	end_tracee(&tracee);
	return outcome;
}

static bool differ(const struct keys *keys)
{
	const unsigned __int128 *key = (const unsigned __int128 *)keys;
	int i, j;

	for (i = 0; i < PAUTH_KEYS; i++)
		for (j = 0; j < i; j++)
			if (key[i] == key[j])
				return false;
	return true;
}

static bool same_signatures(const struct tracee *one, const struct tracee *other)
{
	return !memcmp(one->state->signature, other->state->signature,
		       sizeof(one->state->signature));
}

/* What the tracer sees and sets are the keys that sign. */
static enum job_outcome exchange_keys(const struct tracee *one, const struct tracee *other)
{
	struct keys keys, copy;

	if (get_keys(one, &keys) || get_keys(other, &copy))
		return failed("keys cannot be read");
	if (memcmp(&keys, &copy, sizeof(keys)) || !differ(&keys))
		return failed("two children of one process have other keys");
	memset(&copy, 0x5a, sizeof(copy));
	if (set_keys(one, &copy) || !step_tracee(one) || !step_tracee(other))
		return failed("keys cannot be set");
	if (same_signatures(one, other))
		return failed("other keys, the same signatures");
	if (set_keys(other, &copy) || get_keys(other, &keys) || !step_tracee(other))
		return failed("keys cannot be set");
	if (memcmp(&keys, &copy, sizeof(keys)) || !same_signatures(one, other))
		return failed("the same keys, other signatures");
	return passed();
}

static bool sees_keys(const struct tracee *tracee)
{
	struct keys keys;

	return !get_keys(tracee, &keys);
}

enum job_outcome pauth_traced_keys(void)
{
	struct tracee one, other;
	enum job_outcome outcome;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (!start_tracee(&one) || !start_tracee(&other))
		return failed("no tracee");
	outcome = sees_keys(&one) ? exchange_keys(&one, &other) :
		  skipped("this kernel shows no keys to tracers");
	end_tracee(&one);
	end_tracee(&other);
	return outcome;
}

/* Its keys are known to this process, and to nobody whose memory is dumped. */
static bool dump_core(struct keys *keys)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct tracee tracee;
	int status = 0;

	setrlimit(RLIMIT_CORE, &unlimited);
	if (!start_tracee(&tracee) || get_keys(&tracee, keys))
		return false;
	ptrace(PTRACE_DETACH, tracee.pid, NULL, (void *)SIGABRT);
	waitpid(tracee.pid, &status, 0);
	return WIFSIGNALED(status) && WCOREDUMP(status);
}

static bool has_note(const char *core, Elf64_Word type)
{
	const Elf64_Ehdr *elf = (const void *)core;
	const Elf64_Phdr *segment = (const void *)(core + elf->e_phoff);
	const Elf64_Nhdr *note = (const void *)(core + segment->p_offset);
	const char *end = (const char *)note + segment->p_filesz;

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) || segment->p_type != PT_NOTE)
		return false;
	while ((const char *)note < end) {
		if (note->n_type == type)
			return true;
		note = (const void *)((const char *)(note + 1) +
				      ((note->n_namesz + 3) & ~3U) +
				      ((note->n_descsz + 3) & ~3U));
	}
	return false;
}

/* How many halves of keys are in it, anywhere. */
static int count_halves(const char *core, size_t size, const struct keys *keys)
{
	const uint64_t *half = (const uint64_t *)keys;
	size_t i;
	int n = 0;

	for (i = 0; i < sizeof(*keys) / sizeof(*half); i++)
		n += memmem(core, size, &half[i], sizeof(*half)) != NULL;
	return n;
}

/* Unless all are, those of user space are where any Linux has them. */
static bool keys_are_hidden(void)
{
	char mode[16], pauth[16] = "";

	kpkeys_mode(mode, sizeof(mode));
	cmdline_value("kpkeys_pauth", pauth, sizeof(pauth));
	return strcmp(mode, "off") && !strcmp(pauth, "all");
}

static enum job_outcome look_for_all(const char *core, int halves)
{
	if (!has_note(core, NT_ARM_PACA_KEYS) || !has_note(core, NT_ARM_PACG_KEYS))
		return failed("the core dump has no notes with the keys, which are not hidden");
	return halves == sizeof(struct keys) / sizeof(uint64_t) ? passed() :
	       failed("%d halves of keys are in the core dump", halves);
}

static enum job_outcome search_core(const char *core, size_t size, const struct keys *keys)
{
	int halves = count_halves(core, size, keys);

	if (!has_note(core, NT_ARM_PAC_MASK) || !has_note(core, NT_ARM_PAC_ENABLED_KEYS))
		return failed("the core dump has no notes on pointer authentication");
	if (!keys_are_hidden())
		return look_for_all(core, halves);
	if (has_note(core, NT_ARM_PACA_KEYS) || has_note(core, NT_ARM_PACG_KEYS))
		return failed("the core dump has notes with the keys, %d halves of them", halves);
	return halves ? failed("%d halves of keys are in the core dump", halves) : passed();
}

static enum job_outcome read_core(const struct keys *keys)
{
	enum job_outcome outcome;
	struct stat file;
	char *core;
	int fd = open(CORE, O_RDONLY);

	if (fd < 0 || fstat(fd, &file))
		return failed("no core dump");
	core = mmap(NULL, file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (core == MAP_FAILED)
		return failed("the core dump cannot be read");
	outcome = search_core(core, file.st_size, keys);
	munmap(core, file.st_size);
	return outcome;
}

enum job_outcome pauth_core(void)
{
	enum job_outcome outcome;
	struct keys keys;
	char old[128];

	if (!pauth_present())
		return skipped("no pointer authentication");
	file_read(CORE_PATTERN, old, sizeof(old));
	if (file_write(CORE_PATTERN, CORE))
		return skipped("no core dumps");
	outcome = dump_core(&keys) ? read_core(&keys) : failed("no core was dumped");
	file_write(CORE_PATTERN, old);
	unlink(CORE);
	return outcome;
}
