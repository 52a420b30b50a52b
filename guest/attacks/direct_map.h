/* SPDX-License-Identifier: GPL-2.0-only */
/* The address in the direct map of a page of this process, which leads to another one. */
#ifndef GUEST_DIRECT_MAP_H
#define GUEST_DIRECT_MAP_H

#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define MOVED		3	/* a page of a chunk that is not its first one */

#ifndef UFFDIO_MOVE
struct uffdio_move {
	uint64_t dst, src, len, mode;
	int64_t move;
};

#define UFFDIO_MOVE	_IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif

struct chunk {
	volatile char *at;
	uint64_t phys, page;
	volatile char *spare;	/* has the moved page besides */
};

extern int faults;		/* a userfaultfd */

/* So many that one block of the direct map has. */
bool find_chunks(struct chunk *chunk, int nr);

/* Two blocks there have no pages but those that are moved. */
bool open_faults(volatile char *spare);

uint64_t direct_address(const struct chunk *chunk);

/* What each page is mapped by is one more than its count says. */
void count_twice(const struct chunk *chunk);

/* Behind it the kernel takes no address from a system call. */
uint64_t find_task_size(uint64_t mm);

#endif
