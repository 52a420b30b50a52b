// SPDX-License-Identifier: GPL-2.0-only
/* Sysctls of guarded variables: root writes them as ever, and reads what it wrote. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

static const struct sysctl {
	const char *path;
	const char *value;
	const char *refused;	/* beyond its range, or NULL */
} sysctls[] = {
	{ "/proc/sys/kernel/core_pattern", "|/bin/true %p", NULL },
	{ "/proc/sys/kernel/core_pattern", "core.%p", NULL },
	{ "/proc/sys/kernel/core_pipe_limit", "7", NULL },
	{ "/proc/sys/fs/suid_dumpable", "2", "3" },
	{ "/proc/sys/kernel/modprobe", "/sbin/none", NULL },
	{ "/proc/sys/kernel/poweroff_cmd", "/sbin/none", NULL },
	{ "/proc/sys/kernel/dmesg_restrict", "1", "2" },
	{ "/proc/sys/kernel/kptr_restrict", "2", "3" },
	{ "/proc/sys/kernel/unprivileged_bpf_disabled", "0", "3" },
	{ "/proc/sys/kernel/perf_event_paranoid", "-1", NULL },
	{ "/proc/sys/kernel/randomize_va_space", "1", NULL },
	{ "/proc/sys/kernel/yama/ptrace_scope", "2", "4" },
	{ "/proc/sys/fs/protected_symlinks", "0", "2" },
	{ "/proc/sys/fs/protected_hardlinks", "0", "2" },
	{ "/proc/sys/fs/protected_fifos", "2", "3" },
	{ "/proc/sys/fs/protected_regular", "2", "3" },
	{ "/proc/sys/vm/mmap_min_addr", "8192", NULL },
};

static bool holds(const char *path, const char *value)
{
	char text[256];
	int len = file_read(path, text, sizeof(text));

	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return len > 0 && !strcmp(text, value);
}

static enum job_outcome try_value(const struct sysctl *sysctl)
{
	int err = file_write(sysctl->path, sysctl->value);

	if (err || !holds(sysctl->path, sysctl->value))
		return failed("%s: error %d, or it is not %s", sysctl->path, err, sysctl->value);
	if (sysctl->refused && file_write(sysctl->path, sysctl->refused) != -EINVAL)
		return failed("%s takes %s", sysctl->path, sysctl->refused);
	if (!holds(sysctl->path, sysctl->value))
		return failed("%s changed with what was refused", sysctl->path);
	return passed();
}

static enum job_outcome try_one(const struct sysctl *sysctl)
{
	char old[256];
	int len = file_read(sysctl->path, old, sizeof(old));
	enum job_outcome outcome;

	if (len == -ENOENT)
		return passed();
	outcome = try_value(sysctl);
	if (len > 0 && old[len - 1] == '\n')
		old[len - 1] = '\0';
	if (file_write(sysctl->path, old) || !holds(sysctl->path, old))
		return failed("%s does not get its old value back", sysctl->path);
	return outcome;
}

enum job_outcome guarded_sysctls(void)
{
	enum job_outcome outcome = JOB_PASSED;
	size_t i;

	for (i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]) && outcome == JOB_PASSED; i++)
		outcome = try_one(&sysctls[i]);
	return outcome;
}
