// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: the information leak every real exploit starts with.
 */
#include <linux/err.h>
#include <linux/hex.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/kpkeys_attack.h>

#include "attack.h"

/**
 * attack_read() - arbitrary kernel read
 * @file: open file
 * @request: address and count
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int attack_read(struct attack_file *file, struct attack_request *request)
{
	void *buf __free(kvfree) = NULL;

	if (!request->count || request->count > ATTACK_MAX_READ)
		return -EINVAL;
	buf = kvmalloc(request->count, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	if (copy_from_kernel_nofault(buf, (void *)request->store.addr,
				     request->count))
		return -EFAULT;

	bin2hex(file->result, buf, request->count);
	file->result_len = 2 * request->count;
	return 0;
}

/**
 * attack_symbol() - address of a kernel symbol
 * @file: open file
 * @request: name, and a CPU for a per-CPU symbol
 *
 * Return: 0 or -ENOENT.
 */
int attack_symbol(struct attack_file *file, struct attack_request *request)
{
	unsigned long addr = kallsyms_lookup_name(request->name);

	if (request->cpu >= 0) {
		if (!cpu_possible(request->cpu))
			return -EINVAL;
		/* 0 is a good offset, but the first one is never a target. */
		if (addr)
			addr += per_cpu_offset(request->cpu);
	}
	if (!addr)
		return -ENOENT;
	attack_print(file, "address=0x%lx\n", addr);
	return 0;
}

static struct task_struct *get_task(int pid)
{
	struct task_struct *task;

	guard(rcu)();
	task = pid ? find_task_by_vpid(pid) : current;
	if (!task)
		return NULL;
	return get_task_struct(task);
}

/**
 * attack_task() - addresses of what belongs to a task
 * @file: open file
 * @request: pid
 *
 * Return: 0 or -ESRCH.
 */
int attack_task(struct attack_file *file, struct attack_request *request)
{
	struct task_struct *task = get_task(request->pid);

	if (!task)
		return -ESRCH;
	attack_print(file, "task=0x%lx size=0x%lx\n", (long)task,
		     (long)arch_task_struct_size);
	attack_print(file, "cred=0x%lx cred_slot=0x%lx real_cred_slot=0x%lx\n",
		     (long)rcu_access_pointer(task->cred), (long)&task->cred,
		     (long)&task->real_cred);
	attack_print(file, "mm=0x%lx pgd=0x%lx\n", (long)task->mm,
		     task->mm ? (long)task->mm->pgd : 0);
	attack_print(file, "stack=0x%lx stack_size=0x%lx regs=0x%lx\n",
		     (long)task_stack_page(task), (long)THREAD_SIZE,
		     (long)task_pt_regs(task));
	attack_print(file, "thread=0x%lx sp=0x%lx cpu=%u cpu_word=0x%lx\n",
		     (long)&task->thread, attack_stack_pointer(task),
		     task_cpu(task), (long)&task_thread_info(task)->cpu);
	attack_print(file, "keys=0x%lx keys_slot=0x%lx\n",
		     attack_task_keys(task), attack_task_slot(task));
	attack_print(file, "kernel_key=0x%lx enabled_keys=0x%lx frame=0x%lx\n",
		     attack_kernel_key(task), attack_enabled_keys(task),
		     attack_frame(task));
	put_task_struct(task);
	return 0;
}

struct attack_slot {
	void *slot;
	unsigned long value;
	unsigned int level;
	unsigned long phys;
};

static void set_slot(struct attack_slot *found, void *slot, unsigned int level,
		     unsigned long addr, unsigned int shift)
{
	unsigned long offset = addr & ((1UL << shift) - 1);

	found->slot = slot;
	found->value = READ_ONCE(*(unsigned long *)slot);
	found->level = level;
	found->phys = (attack_entry_phys(found->value) & ~((1UL << shift) - 1)) + offset;
}

/* Walk to @level, or to the leaf; stop above an entry that is not there. */
static void walk_to_slot(pgd_t *pgd, unsigned long addr, unsigned int level,
			 struct attack_slot *found)
{
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;

	set_slot(found, pgd, 5, addr, PGDIR_SHIFT);
	if (level == 5 || pgd_none(*pgd))
		return;
	p4d = p4d_offset(pgd, addr);
	set_slot(found, p4d, 4, addr, P4D_SHIFT);
	if (level == 4 || !p4d_present(*p4d))
		return;
	pud = pud_offset(p4d, addr);
	set_slot(found, pud, 3, addr, PUD_SHIFT);
	if (level == 3 || !pud_present(*pud) || pud_leaf(*pud))
		return;
	pmd = pmd_offset(pud, addr);
	set_slot(found, pmd, 2, addr, PMD_SHIFT);
	if (level == 2 || !pmd_present(*pmd) || pmd_leaf(*pmd))
		return;
	set_slot(found, pte_offset_kernel(pmd, addr), 1, addr, PAGE_SHIFT);
}

static void print_slot(struct attack_file *file, const struct attack_slot *found)
{
	attack_print(file, "slot=0x%lx value=0x%lx level=%u\n",
		     (long)found->slot, found->value, found->level);
	attack_print(file, "phys=0x%lx alias=0x%lx page=0x%lx\n", found->phys,
		     (long)__va(found->phys), (long)pfn_to_page(PHYS_PFN(found->phys)));
}

static pgd_t *attack_pgd(struct mm_struct *mm, struct attack_request *request)
{
	pgd_t *pgd = pgd_offset(mm, request->store.addr);

	if (!request->user_half)
		return pgd;
#ifdef CONFIG_MITIGATION_PAGE_TABLE_ISOLATION
	return kernel_to_user_pgdp(pgd);
#else
	return NULL;
#endif
}

static int walk_mm(struct attack_file *file, struct attack_request *request,
		   struct mm_struct *mm)
{
	struct attack_slot found;
	pgd_t *pgd;

	pgd = attack_pgd(mm, request);
	if (!pgd)
		return -EOPNOTSUPP;
	walk_to_slot(pgd, request->store.addr, request->level, &found);
	print_slot(file, &found);
	return 0;
}

/* The mm a global variable points to: the kernel's own, like text_poke_mm. */
static int walk_named_mm(struct attack_file *file, struct attack_request *request)
{
	struct mm_struct **mm = (void *)kallsyms_lookup_name(request->name);

	if (!mm || !*mm)
		return -ENOENT;
	return walk_mm(file, request, *mm);
}

/**
 * attack_walk() - address and value of a page-table entry
 * @file: open file
 * @request: virtual address, level, process or name of a pointer to an mm,
 *	and half
 *
 * A kernel address without a pid or a name is looked up in init_mm.
 *
 * Return: 0, -ESRCH or -ENOENT.
 */
int attack_walk(struct attack_file *file, struct attack_request *request)
{
	struct task_struct *task;
	struct mm_struct *mm;
	int err;

	if (request->name[0])
		return walk_named_mm(file, request);
	if ((long)request->store.addr < 0 && !request->pid)
		return walk_mm(file, request, &init_mm);

	task = get_task(request->pid);
	if (!task)
		return -ESRCH;
	mm = get_task_mm(task);
	put_task_struct(task);
	if (!mm)
		return -ESRCH;
	mmap_read_lock(mm);
	err = walk_mm(file, request, mm);
	mmap_read_unlock(mm);
	mmput(mm);
	return err;
}

/**
 * attack_register() - values of the register that protects
 * @file: open file
 * @request: unused
 *
 * Answers with a line for each form in which it may be saved: the value of this
 * moment, and the one that would protect nothing.
 *
 * Return: 0 or -EOPNOTSUPP when there is none.
 */
int attack_register(struct attack_file *file, struct attack_request *request)
{
	u64 shut, open;
	unsigned int n;

	for (n = 0; !attack_read_register(n, &shut, &open); n++)
		attack_print(file, "shut=0x%llx open=0x%llx\n", shut, open);
	return n ? 0 : -EOPNOTSUPP;
}
