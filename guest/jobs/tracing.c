// SPDX-License-Identifier: GPL-2.0-only
/* Whatever interrupts page-table writers or patches kernel text under them. */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf.h"
#include "files.h"
#include "job.h"

#define TRACING		"/sys/kernel/tracing/"
#define PROBE		TRACING "events/kprobes/stress/"
#define RING_PAGES	8
#define PROGRAMS	60

static int open_event(unsigned int type, unsigned long config, unsigned long period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int churn_sampled(int fd)
{
	struct perf_event_mmap_page *ring;
	int i, samples;

	ring = mmap(NULL, (RING_PAGES + 1) * PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -1;
	for (i = 0; i < 20; i++)
		churn_memory(1 << 20);
	samples = ring->data_head != 0;
	munmap(ring, (RING_PAGES + 1) * PAGE_SIZE);
	return samples;
}

/* By NMI where there is a hardware counter, by timer otherwise. */
enum job_outcome perf_samples(void)
{
	int fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 100000);
	int samples;

	if (fd < 0)
		fd = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 100000);
	if (fd < 0)
		return skipped("no perf events");
	samples = churn_sampled(fd);
	close(fd);
	return samples > 0 ? passed() : failed("no samples");
}

/*
 * The churn stands still while kernel text is patched: a stock 6.12 kernel
 * under QEMU's emulation now and then runs into a breakpoint that is gone, or
 * to address 0, when another CPU executes what is being patched.
 */
static int patch_text(int churn, const char *path, const char *value)
{
	int err;

	kill(churn, SIGSTOP);
	usleep(5000);
	err = file_write(path, value);
	kill(churn, SIGCONT);
	return err;
}

/*
 * A command for each call, not the function tracer: that one has the scheduler
 * patched as well, which cannot stand still. All functions take an emulated
 * machine 15 s to patch.
 */
enum job_outcome function_trace(void)
{
	int churn, err;

	if (access(TRACING "set_ftrace_filter", W_OK))
		return skipped("no function tracer");
	churn = start_churn();
	err = patch_text(churn, TRACING "set_ftrace_filter", "*pte*:traceon\n");
	if (err == -EOPNOTSUPP) {
		stop_churn(churn);
		return skipped("not without kpkeys_kernel_probes=1");
	}
	usleep(200000);
	err |= patch_text(churn, TRACING "set_ftrace_filter", "!*pte*:traceon\n");
	stop_churn(churn);
	return err ? failed("calls cannot be traced") : passed();
}

enum job_outcome kernel_probe(void)
{
	int churn, i, err = 0;

	if (file_write(TRACING "kprobe_events", "p:stress vm_mmap_pgoff"))
		return skipped("no kprobe events");
	file_write(TRACING "options/record-cmd", "0");	/* patches the scheduler, too */
	churn = start_churn();
	for (i = 0; i < 2; i++) {
		err |= patch_text(churn, PROBE "enable", "1");
		usleep(50000);
		err |= patch_text(churn, PROBE "enable", "0");
	}
	stop_churn(churn);
	file_write(TRACING "kprobe_events", "-:stress");
	return err ? failed("the probe cannot be enabled") : passed();
}

enum job_outcome bpf_jit(void)
{
	int fds[PROGRAMS];
	int i, loaded = 0;

	if (bpf_jit_on())
		return skipped("no BPF JIT");
	for (i = 0; i < PROGRAMS; i++) {
		fds[i] = bpf_load(i);
		loaded += fds[i] >= 0;
	}
	for (i = 0; i < PROGRAMS; i++)
		close(fds[i]);
	return loaded == PROGRAMS ? passed() : failed("%d of %d programs loaded", loaded, PROGRAMS);
}
