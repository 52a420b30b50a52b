// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the lab counts and user space cannot do itself. Test only.
 *
 * /sys/kernel/debug/kpkeys_lab/command takes "NAME TIMES PAGES" and has done
 * NAME that many times when write() returns; -EOPNOTSUPP says that this machine
 * cannot. What it reads as is the order of pages that vmalloc-order saw.
 */
#define pr_fmt(fmt) "kpkeys_lab: " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/prandom.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/kpkeys_lab.h>

#define LAB_COMMAND_SIZE	64
#define LAB_MAX_TIMES		10000000
#define LAB_MAX_PAGES		4096
#define LAB_RANDOM_PAGES	100

struct lab_operation {
	const char *name;
	int (*run)(unsigned int times, unsigned int pages);
};

static u32 last_order;

static int use_area(u8 *area)
{
	if (!area)
		return -ENOMEM;
	*area = 0;
	vfree(area);
	return 0;
}

static int lab_vmalloc(unsigned int times, unsigned int pages)
{
	int ret = 0;

	while (!ret && times--)
		ret = use_area(vmalloc(pages * PAGE_SIZE));
	return ret;
}

static int lab_vmalloc_huge(unsigned int times, unsigned int pages)
{
	int ret = 0;

	while (!ret && times--)
		ret = use_area(vmalloc_huge(pages * PAGE_SIZE, GFP_KERNEL));
	return ret;
}

/* What vmalloc-huge makes of that many pages. */
static int lab_vmalloc_order(unsigned int times, unsigned int pages)
{
	void *area = vmalloc_huge(pages * PAGE_SIZE, GFP_KERNEL);
	struct vm_struct *vm = area ? find_vm_area(area) : NULL;

	if (!vm)
		return -ENOMEM;
	last_order = 0;
#ifdef CONFIG_HAVE_ARCH_HUGE_VMALLOC
	last_order = vm->page_order;
#endif
	vfree(area);
	return 0;
}

/* The same sizes each time, so that runs can be compared. */
static int lab_vmalloc_random(unsigned int times, unsigned int pages)
{
	struct rnd_state state;
	int ret = 0;

	prandom_seed_state(&state, pages);
	while (!ret && times--) {
		pages = 1 + prandom_u32_state(&state) % LAB_RANDOM_PAGES;
		ret = use_area(vmalloc(pages * PAGE_SIZE));
	}
	return ret;
}

static int map_pages(struct page **page, unsigned int times, unsigned int pages)
{
	u8 *area;

	while (times--) {
		area = vm_map_ram(page, pages, NUMA_NO_NODE);
		if (!area)
			return -ENOMEM;
		*area = 0;
		vm_unmap_ram(area, pages);
	}
	return 0;
}

static int lab_vm_map_ram(unsigned int times, unsigned int pages)
{
	struct page **page = kcalloc(pages, sizeof(*page), GFP_KERNEL);
	unsigned long nr = 0;
	int ret = -ENOMEM;

	if (!page)
		return -ENOMEM;
	nr = alloc_pages_bulk_array(GFP_KERNEL, pages, page);
	if (nr == pages)
		ret = map_pages(page, times, pages);
	while (nr)
		__free_page(page[--nr]);
	kfree(page);
	return ret;
}

static int lab_set_memory(unsigned int times, unsigned int pages)
{
	void *area = vmalloc(PAGE_SIZE);
	int ret = area ? 0 : -ENOMEM;

	while (!ret && times--) {
		ret = set_memory_ro((unsigned long)area, 1);
		if (!ret)
			ret = set_memory_rw((unsigned long)area, 1);
	}
	vfree(area);
	return ret;
}

static int lab_guard(unsigned int times, unsigned int pages)
{
	if (!kpkeys_pgtables_enabled())
		return -EOPNOTSUPP;
	while (times--)
		scoped_guard(kpkeys_hardened_pgtables)
			barrier();
	return 0;
}

/* Raise and lower, and nothing but the register. */
static int lab_register(unsigned int times, unsigned int pages)
{
	if (!kpkeys_pgtables_enabled())
		return -EOPNOTSUPP;
	guard(irqsave)();
	while (times--) {
		arch_kpkeys_write_reg(kpkeys_level_reg(KPKEYS_LVL_PGTABLES));
		arch_kpkeys_write_reg(ARCH_KPKEYS_REG_DEFAULT);
	}
	return 0;
}

static const struct lab_operation operations[] = {
	{ "vmalloc", lab_vmalloc },
	{ "vmalloc-huge", lab_vmalloc_huge },
	{ "vmalloc-order", lab_vmalloc_order },
	{ "vmalloc-random", lab_vmalloc_random },
	{ "vm-map-ram", lab_vm_map_ram },
	{ "gate-set-memory", lab_set_memory },
	{ "gate-guard", lab_guard },
	{ "gate-register", lab_register },
	ARCH_LAB_OPERATIONS
};

static int lab_run(const char *name, unsigned int times, unsigned int pages)
{
	unsigned int i;

	if (!times || times > LAB_MAX_TIMES || !pages || pages > LAB_MAX_PAGES)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(name, operations[i].name))
			return operations[i].run(times, pages);
	return -EINVAL;
}

static ssize_t lab_write(struct file *f, const char __user *buf, size_t count,
			 loff_t *pos)
{
	char text[LAB_COMMAND_SIZE] = {}, name[32];
	unsigned int times, pages;
	int err;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	if (sscanf(text, "%31s %u %u", name, &times, &pages) != 3)
		return -EINVAL;
	err = lab_run(name, times, pages);
	return err ?: count;
}

static ssize_t lab_read(struct file *f, char __user *buf, size_t count,
			loff_t *pos)
{
	char text[16];
	int len = scnprintf(text, sizeof(text), "%u\n", last_order);

	return simple_read_from_buffer(buf, count, pos, text, len);
}

static const struct file_operations lab_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= lab_read,
	.write	= lab_write,
	.llseek	= default_llseek,
};

static int __init lab_init(void)
{
	struct dentry *dir = debugfs_create_dir("kpkeys_lab", NULL);

	debugfs_create_file("command", 0600, dir, NULL, &lab_fops);
	add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	pr_warn("operations offered to root, for measuring only\n");
	return 0;
}
late_initcall(lab_init);
