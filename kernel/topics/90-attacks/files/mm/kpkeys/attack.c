// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: debugfs interface.
 *
 * /sys/kernel/debug/kpkeys_attack/command takes one command per write() and
 * gives its answer to the next read() of the same open file:
 *
 *	write ctx=task form=plain fault=oops addr=0x... data=hexbytes
 *	read addr=0x... count=N
 *	load form=plain addr=0x... count=N
 *	copy addr=0x... count=N to=0x...
 *	symbol name=NAME [cpu=N]
 *	task [pid=N]
 *	walk addr=0x... [level=N] [pid=N] [name=MM_POINTER] [half=user]
 *	register
 *	sleep addr=0x... data=hexbytes [section=1] [spin=1] [cpu=N], then wake
 *	alloc order=N count=N, free [count=N] | [addr=0x...] | [holes=1 order=N]
 *	split addr=0x...
 *	vmalloc count=PAGES, vfree
 *	call addr=0x...
 *
 * Errors are those of write(); an access that was refused gives -EFAULT, or
 * kills the writer where it has no fixup: a store with fault=oops, a plain load,
 * and copy on some architectures.
 *
 * Use pwrite() and pread() on a file that is shared by fork(): a write() that
 * dies leaves the lock of the file position held.
 */
#define pr_fmt(fmt) "kpkeys_attack: " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/panic.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "attack.h"

#define ATTACK_COMMAND_SIZE	512

/* A command that may die in the middle must not hold the lock: alone. */
struct attack_command {
	const char *name;
	bool alone;
	int (*run)(struct attack_file *file, struct attack_request *request);
};

static const struct attack_command attack_commands[] = {
	{ "write", true, attack_store_in_context },
	{ "read", false, attack_read },
	{ "load", true, attack_load },
	{ "copy", true, attack_copy },
	{ "symbol", false, attack_symbol },
	{ "task", false, attack_task },
	{ "walk", false, attack_walk },
	{ "register", false, attack_register },
	{ "sleep", false, attack_sleep },
	{ "wake", false, attack_wake },
	{ "alloc", false, attack_alloc },
	{ "free", false, attack_free },
	{ "split", false, attack_split },
	{ "vmalloc", false, attack_vmalloc },
	{ "vfree", false, attack_vfree },
	{ "call", true, attack_call },
};

/**
 * attack_print() - append to the answer of a command
 * @file: open file
 * @fmt: printf() format
 */
void attack_print(struct attack_file *file, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	file->result_len += vscnprintf(file->result + file->result_len,
				       sizeof(file->result) - file->result_len,
				       fmt, args);
	va_end(args);
}

static int attack_run_one(const struct attack_command *command,
			  struct attack_file *file,
			  struct attack_request *request)
{
	if (command->alone)
		return command->run(file, request);

	guard(mutex)(&file->lock);
	file->result_len = 0;
	return command->run(file, request);
}

static int attack_run(struct attack_file *file, char *text)
{
	struct attack_request *request __free(kfree) = NULL;
	char *name = strsep(&text, " ");
	int i, err;

	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	err = attack_parse(text, request);
	if (err)
		return err;

	for (i = 0; i < ARRAY_SIZE(attack_commands); i++) {
		if (!strcmp(name, attack_commands[i].name))
			return attack_run_one(&attack_commands[i], file, request);
	}
	return -EINVAL;
}

static ssize_t attack_file_write(struct file *f, const char __user *buf,
				 size_t count, loff_t *pos)
{
	char text[ATTACK_COMMAND_SIZE];
	int err;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = '\0';

	err = attack_run(f->private_data, strim(text));
	return err ? err : count;
}

static ssize_t attack_file_read(struct file *f, char __user *buf,
				size_t count, loff_t *pos)
{
	struct attack_file *file = f->private_data;

	guard(mutex)(&file->lock);
	return simple_read_from_buffer(buf, count, pos, file->result,
				       file->result_len);
}

static int attack_file_open(struct inode *inode, struct file *f)
{
	struct attack_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	INIT_LIST_HEAD(&file->blocks);
	f->private_data = file;
	add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	return 0;
}

static int attack_file_release(struct inode *inode, struct file *f)
{
	struct attack_file *file = f->private_data;

	attack_sleeper_release(file);
	attack_memory_release(file);
	kfree(file);
	return 0;
}

static const struct file_operations attack_fops = {
	.owner		= THIS_MODULE,
	.open		= attack_file_open,
	.release	= attack_file_release,
	.read		= attack_file_read,
	.write		= attack_file_write,
	.llseek		= default_llseek,
};

static int __init attack_init(void)
{
	struct dentry *dir = debugfs_create_dir("kpkeys_attack", NULL);

	debugfs_create_file("command", 0600, dir, NULL, &attack_fops);
	add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	pr_warn("arbitrary kernel writes offered to root: test kernels only\n");
	return 0;
}
late_initcall(attack_init);
