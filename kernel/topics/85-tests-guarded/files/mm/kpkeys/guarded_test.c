// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests: guarded variables, and the sysctls that write them. */
#include <linux/cred.h>
#include <linux/kallsyms.h>
#include <linux/kpkeys_guarded.h>
#include <linux/kpkeys_secrets.h>
#include <linux/kpkeys_test.h>
#include <linux/kpkeys_test_compat.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>

#include "check.h"
#include "guarded.h"
#include "internal.h"
#include "kpkeys_test_programs.h"

static int number __kpkeys_guarded = 1;
static int neighbour __kpkeys_guarded = 7;
static char path[64] __kpkeys_guarded = "/none";
static int seen;

static int handle_and_look(const struct ctl_table *table, int write, void *buffer,
			   size_t *lenp, loff_t *ppos)
{
	int error = proc_dointvec_minmax(table, write, buffer, lenp, ppos);

	if (!error && write)
		error = kpkeys_guarded_commit(table);
	seen = number;
	return error;
}

/* Never registered. */
static struct ctl_table tables[] __ro_after_init = {
	{
		.procname	= "number",
		.data		= &number,
		.maxlen		= sizeof(number),
		.mode		= 0644,
		.proc_handler	= handle_and_look,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	},
	{
		.procname	= "path",
		.data		= path,
		.maxlen		= sizeof(path),
		.mode		= 0644,
		.proc_handler	= proc_dostring,
	},
	{
		.procname	= "seen",
		.data		= &seen,
		.maxlen		= sizeof(seen),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
};

static int write_by(const struct ctl_table *table, const char *text)
{
	char buffer[32];
	size_t len = strscpy(buffer, text, sizeof(buffer));
	loff_t pos = 0;

	return kpkeys_guarded_sysctl(table, buffer, &len, &pos);
}

static int store_to(void *addr, int value)
{
	return copy_to_kernel_nofault(addr, &value, sizeof(value));
}

static void test_default_denies_stores(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, store_to(&number, 5), -EFAULT);
	KUNIT_EXPECT_EQ(test, store_to(lm_alias(&number), 5), -EFAULT);
	KUNIT_EXPECT_EQ(test, number, 1);
}

static void test_other_levels_deny_stores(struct kunit *test)
{
	int by_tables, by_secrets;

	scoped_guard(kpkeys_hardened_pgtables)
		by_tables = store_to(&number, 5);
	scoped_guard(kpkeys_secret)
		by_secrets = store_to(&number, 5);
	/* Write protection has one gate for all. */
	if (arch_kpkeys_has_keys()) {
		KUNIT_EXPECT_EQ(test, by_tables, -EFAULT);
		KUNIT_EXPECT_EQ(test, by_secrets, -EFAULT);
	}
	kpkeys_guarded_set(number, 1);
}

static void test_guard_allows_stores(struct kunit *test)
{
	int by_guard, to_table;

	scoped_guard(kpkeys_guarded) {
		by_guard = store_to(&number, 2);
		to_table = kpkeys_test_store();
	}
	KUNIT_EXPECT_EQ(test, by_guard, 0);
	KUNIT_EXPECT_EQ(test, number, 2);
	if (arch_kpkeys_has_keys())
		KUNIT_EXPECT_NE(test, to_table, 0);
	kpkeys_guarded_set(number, 1);
	KUNIT_EXPECT_EQ(test, number, 1);
	KUNIT_EXPECT_EQ(test, store_to(&number, 5), -EFAULT);
}

static void test_copy_writes_all_of_it(struct kunit *test)
{
	char other[sizeof(path)] = "/other", none[sizeof(path)] = "/none";

	kpkeys_guarded_copy(path, other, sizeof(other));
	KUNIT_EXPECT_STREQ(test, path, "/other");
	kpkeys_guarded_copy(path, none, sizeof(none));
	KUNIT_EXPECT_STREQ(test, path, "/none");
}

static void test_sysctl_writes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, write_by(&tables[0], "2\n"), 0);
	KUNIT_EXPECT_EQ(test, number, 2);
	KUNIT_EXPECT_EQ(test, seen, 2);
	KUNIT_EXPECT_EQ(test, write_by(&tables[0], "3\n"), -EINVAL);
	KUNIT_EXPECT_EQ(test, number, 2);
	KUNIT_EXPECT_EQ(test, write_by(&tables[0], "1\n"), 0);
	KUNIT_EXPECT_EQ(test, write_by(&tables[1], "/some/where\n"), 0);
	KUNIT_EXPECT_STREQ(test, path, "/some/where");
	KUNIT_EXPECT_EQ(test, write_by(&tables[1], "/none\n"), 0);
	KUNIT_EXPECT_EQ(test, neighbour, 7);
	kpkeys_test_expect_clean(test);
}

/* What an inode leads to may be anything. */
static void test_forged_tables_are_refused(struct kunit *test)
{
	struct ctl_table forged = tables[0];

	forged.proc_handler = proc_dointvec;
	KUNIT_EXPECT_EQ(test, write_by(&forged, "2\n"), -EPERM);
	/* Nor is what is genuine, but not of a guarded variable. */
	KUNIT_EXPECT_EQ(test, write_by(&tables[2], "2\n"), -EPERM);
	/* Nor the end of one and the beginning of the next. */
	KUNIT_EXPECT_EQ(test, write_by((void *)tables + 8, "2\n"), -EPERM);
	KUNIT_EXPECT_EQ(test, number, 1);
}

static int write_as(const struct cred *cred)
{
	const struct cred *old = kpkeys_test_override(cred);
	int ret = write_by(&tables[0], "2\n");

	kpkeys_test_revert(old);
	return ret;
}

static void test_others_than_root_are_refused(struct kunit *test)
{
	struct cred *other = prepare_creds(), *setuid = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_NOT_NULL(test, setuid);
	other->euid = KUIDT_INIT(1000);
	setuid->uid = KUIDT_INIT(1000);
	KUNIT_EXPECT_EQ(test, write_as(other), -EPERM);
	KUNIT_EXPECT_EQ(test, write_as(setuid), -EPERM);
	put_cred(other);
	put_cred(setuid);
	KUNIT_EXPECT_EQ(test, number, 1);
}

/* They are root, and write what others gave them: to which file, that file does not say. */
static void test_threads_of_the_kernel_are_refused(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_test_run_programs(false));
	KUNIT_EXPECT_EQ(test, write_by(&tables[0], "2\n"), -EPERM);
	KUNIT_EXPECT_EQ(test, number, 1);
}

/* A handler that is given what looks like the copy of a table, and whoever calls it. */
static void test_nobody_commits_for_others(struct kunit *test)
{
	struct cred *other = prepare_creds();
	const struct cred *old;
	int value = 2, ret;
	struct {
		struct ctl_table	table;
		const struct ctl_table	*of;
	} forged = { .table = tables[0], .of = &tables[0] };

	KUNIT_ASSERT_NOT_NULL(test, other);
	forged.table.data = &value;
	other->euid = KUIDT_INIT(1000);
	old = kpkeys_test_override(other);
	ret = kpkeys_guarded_commit(&forged.table);
	kpkeys_test_revert(old);
	put_cred(other);
	KUNIT_EXPECT_EQ(test, ret, -EPERM);
	KUNIT_EXPECT_EQ(test, number, 1);
	forged.of = &forged.table;
	KUNIT_EXPECT_EQ(test, kpkeys_guarded_commit(&forged.table), -EPERM);
}

static const char * const guarded[] = {
	"core_pattern", "core_pipe_limit", "suid_dumpable", "modprobe_path",
	"modules_disabled", "poweroff_cmd", "uevent_helper", "dmesg_restrict",
	"kptr_restrict", "sysctl_unprivileged_bpf_disabled",
	"sysctl_perf_event_paranoid", "randomize_va_space", "kexec_load_disabled",
	"sysctl_protected_symlinks", "sysctl_protected_hardlinks",
	"sysctl_protected_fifos", "sysctl_protected_regular", "ptrace_scope",
	"kernel_locked_down", "mmap_min_addr", "dac_mmap_min_addr",
};

static const char * const readonly[] = {
	"coredump_sysctls", "fs_exec_sysctls", "kern_table", "kern_reboot_table",
	"printk_sysctls", "bpf_syscall_table", "kexec_core_sysctls",
	"namei_sysctls", "yama_sysctl_table", "vm_table",
};

/* Those that this kernel has. */
static void test_all_are_guarded(struct kunit *test)
{
	unsigned long addr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(guarded); i++) {
		addr = kallsyms_lookup_name(guarded[i]);
		KUNIT_EXPECT_TRUE_MSG(test, !addr || __kpkeys_is_guarded((void *)addr, 1),
				      "%s", guarded[i]);
	}
	for (i = 0; i < ARRAY_SIZE(readonly); i++) {
		addr = kallsyms_lookup_name(readonly[i]);
		KUNIT_EXPECT_TRUE_MSG(test, !addr || is_kernel_rodata(addr),
				      "%s", readonly[i]);
	}
	KUNIT_EXPECT_NE(test, kallsyms_lookup_name("core_pattern"), 0);
}

static void test_checker_sees_bare_variables(struct kunit *test)
{
	struct kpkeys_check *check = kpkeys_test_check_bare(test, kpkeys_guarded_page(0),
							    KPKEYS_PKEY_GUARDED);

	KUNIT_EXPECT_EQ(test, check->guarded_unkeyed, 1);
	kpkeys_test_expect_clean(test);
}

static int store_number(void)
{
	return store_to(&number, 5);
}

static void test_report_says_variable(struct kunit *test)
{
	kpkeys_test_expect_report(test, "write to guarded variable", store_number);
}

static int guarded_test_init(struct kunit *test)
{
	KPKEYS_TEST_REQUIRES(test, kpkeys_guarded_enabled());
	kpkeys_test_run_programs(true);
	return kpkeys_test_init(test);
}

static struct kunit_case guarded_cases[] = {
	KUNIT_CASE(test_default_denies_stores),
	KUNIT_CASE(test_other_levels_deny_stores),
	KUNIT_CASE(test_guard_allows_stores),
	KUNIT_CASE(test_copy_writes_all_of_it),
	KUNIT_CASE(test_sysctl_writes),
	KUNIT_CASE(test_forged_tables_are_refused),
	KUNIT_CASE(test_others_than_root_are_refused),
	KUNIT_CASE(test_threads_of_the_kernel_are_refused),
	KUNIT_CASE(test_nobody_commits_for_others),
	KUNIT_CASE(test_all_are_guarded),
	KUNIT_CASE(test_checker_sees_bare_variables),
	KUNIT_CASE(test_report_says_variable),
	{}
};

static struct kunit_suite guarded_suite = {
	.name = "kpkeys-guarded",
	.init = guarded_test_init,
	.exit = kpkeys_test_exit,
	.test_cases = guarded_cases,
};

kunit_test_suite(guarded_suite);
