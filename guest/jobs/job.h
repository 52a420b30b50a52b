/* SPDX-License-Identifier: GPL-2.0-only */
/* Stress jobs: each a function that runs in a process of its own. */
#ifndef GUEST_JOB_H
#define GUEST_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "paging.h"

#define HUGE_SIZE	(2UL << 20)	/* of a huge page; all page sizes have it */

enum job_outcome {
	JOB_DIED,
	JOB_PASSED,
	JOB_FAILED,
	JOB_SKIPPED,
};

enum job_outcome passed(void);
enum job_outcome failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
enum job_outcome skipped(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Seconds since some point in the past. */
double now(void);

/* Private anonymous memory, NULL when there is none. */
char *map_memory(size_t size);

/* Write one byte to each page. */
void touch_pages(char *memory, size_t size);

/* One round of page-table changes: map, touch, protect, move, unmap. */
void churn_memory(size_t size);

/* Run churn_memory() in a child until stop_churn(). */
int start_churn(void);
void stop_churn(int pid);

/* Write struct pauth_state to standard output; what exec leaves is seen so. */
int pauth_show_state(void);

/* Says who this process is, by how it ends. */
int show_ids(void);

/* Tasks that ask for it get no pages, with this probability in per cent. */
#define FAIL_PAGES	"/sys/kernel/debug/fail_page_alloc/"
int fail_page_allocations(const char *probability);

/* Reap all children. Returns how many ended with a non-zero status. */
int reap_children(void);

#define JOBS(X)							\
	X(fork_exec,		"fork-exec",		true)	\
	X(fork_swapped,		"fork-swapped",		true)	\
	X(fork_pinned,		"fork-pinned",		true)	\
	X(threads,		"threads",		true)	\
	X(huge_pages,		"huge-pages",		true)	\
	X(large_folios,		"large-folios",		true)	\
	X(shared_file,		"shared-file",		true)	\
	X(hugetlb,		"hugetlb",		true)	\
	X(same_page_merging,	"same-page-merging",	true)	\
	X(soft_dirty,		"soft-dirty",		true)	\
	X(fault_by_user,	"userfaultfd",		true)	\
	X(local_descriptors,	"ldt",			true)	\
	X(io_ports,		"io-ports",		true)	\
	X(user_keys,		"user-keys",		true)	\
	X(guarded_sysctls,	"guarded-sysctls",	true)	\
	X(user_namespaces,	"user-namespaces",	true)	\
	X(lent_ids,		"lent-ids",		true)	\
	X(set_user_id,		"set-user-id",		true)	\
	X(keyrings,		"keyrings",		true)	\
	X(told_ids,		"told-ids",		true)	\
	X(changing_ids,		"changing-ids",		true)	\
	X(uring_personality,	"uring-personality",	true)	\
	X(overlays,		"overlays",		true)	\
	X(real_ids,		"real-ids",		true)	\
	X(core_owner,		"core-owner",		true)	\
	X(vmalloc_churn,	"vmalloc-churn",	true)	\
	X(compaction,		"compaction",		true)	\
	X(drop_caches,		"drop-caches",		true)	\
	X(out_of_memory,	"out-of-memory",	true)	\
	X(charged_tables,	"memcg-charge",		true)	\
	X(perf_samples,		"perf",			true)	\
	X(function_trace,	"ftrace",		true)	\
	X(kernel_probe,		"kprobe",		true)	\
	X(bpf_jit,		"bpf-jit",		true)	\
	X(pauth_masks,		"pauth-masks",		true)	\
	X(pauth_reset,		"pauth-reset",		true)	\
	X(pauth_inherit,	"pauth-inherit",	true)	\
	X(pauth_disabled,	"pauth-disabled",	true)	\
	X(pauth_switching,	"pauth-switching",	true)	\
	X(pauth_traced,		"pauth-traced",		true)	\
	X(pauth_traced_keys,	"pauth-traced-keys",	true)	\
	X(pauth_core,		"pauth-core",		true)	\
	X(cpu_hotplug,		"cpu-hotplug",		true)	\
	X(fault_injection,	"faultinject",		false)	\
	X(memory_hotplug,	"memhotplug",		false)	\
	X(far_memory_hotplug,	"memhotplug-far",	false)	\
	X(nmi_storm,		"nmi",			false)	\
	X(backtraces,		"backtraces",		false)	\
	X(part_memory_hotplug,	"memhotplug-part",	false)	\
	X(suspend,		"s3",			false)	\
	X(protect_memory,	"protect",		false)	\
	X(protect_without_memory, "protect-faulty",	false)	\
	X(protect_refused,	"protect-refused",	false)	\
	X(late_cpu,		"late-cpu",		false)	\
	X(late_kfence,		"late-kfence",		false)

#define X(function, name, by_default) enum job_outcome function(void);
JOBS(X)
#undef X

#endif
