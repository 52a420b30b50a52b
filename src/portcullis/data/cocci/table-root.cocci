// SPDX-License-Identifier: GPL-2.0-only
// Finds:   mm->pgd that is read or written.
// Why:     it is ordinary memory, so it does not say which table is the root of an mm: a record in keyed memory does. Code
//          that walks from mm->pgd, or loads it, can be made to use other tables; an mm that gets a root of its own has
//          no record, and a CPU that is to use it loads the kernel's root.
// Instead: pgd_offset(mm, address) to walk; kthread_use_mm() to work in a process's memory; get_user_pages() and
//          access_process_vm() to reach it from elsewhere.
// Words:   ->pgd\b|\.pgd\b

@root@
struct mm_struct *mm;
struct mm_struct m;
position x;
@@
(
 mm->pgd@x
|
 m.pgd@x
)

@script:python@
x << root.x;
@@
coccilib.report.print_report(x[0], "table-root in %s" % x[0].current_element)
