// SPDX-License-Identifier: GPL-2.0-only
/* Faults that a thread of the program serves: pages that are copied, zero, moved, continued, or written at last. */
#include <linux/userfaultfd.h>
#include <pthread.h>

#include "part.h"

/* Debian 12's headers are those of 6.1. */
#ifndef UFFDIO_MOVE
struct uffdio_move {
	__u64 dst, src, len, mode;
	__s64 move;
};
#define UFFD_FEATURE_MOVE	(1 << 16)
#define UFFDIO_MOVE		_IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif

#define PAGES	128
#define SIZE	(PAGES * PAGE)

enum kind { COPY, ZERO, MOVE, CONTINUE, WRITE, KINDS };

static const char *const names[] = { "copied", "zero", "moved", "continued", "written" };

struct server {
	int fd;
	enum kind kind;
	char *memory, *source;
	volatile int served;
};

static void serve(struct server *server, uintptr_t page)
{
	char *source = server->source + (page - (uintptr_t)server->memory);
	int result = -1;

	server->served++;	/* before the page is there and somebody counts */
	switch (server->kind) {
	case COPY:
		result = ioctl(server->fd, UFFDIO_COPY, &(struct uffdio_copy){
			.dst = page, .src = (uintptr_t)source, .len = PAGE });
		break;
	case ZERO:
		result = ioctl(server->fd, UFFDIO_ZEROPAGE, &(struct uffdio_zeropage){ .range = { page, PAGE } });
		break;
	case MOVE:
		result = ioctl(server->fd, UFFDIO_MOVE, &(struct uffdio_move){
			.dst = page, .src = (uintptr_t)source, .len = PAGE });
		break;
	case CONTINUE:
		result = ioctl(server->fd, UFFDIO_CONTINUE, &(struct uffdio_continue){ .range = { page, PAGE } });
		break;
	default:
		result = ioctl(server->fd, UFFDIO_WRITEPROTECT, &(struct uffdio_writeprotect){
			.range = { page, PAGE } });
	}
	check(!result, "a page is not %s", names[server->kind]);
}

static void *serve_all(void *data)
{
	struct server *server = data;
	struct uffd_msg message;

	while (read(server->fd, &message, sizeof(message)) == sizeof(message))
		if (message.event == UFFD_EVENT_PAGEFAULT)
			serve(server, message.arg.pagefault.address & ~(PAGE - 1));
	return NULL;
}

static int open_it(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_MOVE | UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	need(fd >= 0, "no userfaultfd");
	need(!ioctl(fd, UFFDIO_API, &api), "userfaultfd has not all features");
	return fd;
}

static const int modes[] = {
	[COPY] = UFFDIO_REGISTER_MODE_MISSING, [ZERO] = UFFDIO_REGISTER_MODE_MISSING,
	[MOVE] = UFFDIO_REGISTER_MODE_MISSING, [CONTINUE] = UFFDIO_REGISTER_MODE_MINOR,
	[WRITE] = UFFDIO_REGISTER_MODE_WP,
};

static void prepare(struct server *server)
{
	int fd;

	if (server->kind == CONTINUE) {
		fd = memfd_create("pages", 0);
		check(!ftruncate(fd, SIZE), "memfd");
		server->source = map(SIZE, MAP_SHARED, fd);
		server->memory = map(SIZE, MAP_SHARED, fd);
	} else {
		server->source = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		server->memory = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	}
	madvise(server->memory, SIZE, MADV_NOHUGEPAGE);
	madvise(server->source, SIZE, MADV_NOHUGEPAGE);
	number_pages(server->source, SIZE, 5);
	if (server->kind == WRITE)
		number_pages(server->memory, SIZE, 4);
}

static void one_kind(enum kind kind)
{
	struct server server = { .fd = open_it(), .kind = kind };
	struct uffdio_register region;
	pthread_t thread;

	prepare(&server);
	region = (struct uffdio_register){ .range = { (uintptr_t)server.memory, SIZE }, .mode = modes[kind] };
	check(!ioctl(server.fd, UFFDIO_REGISTER, &region), "register (%s)", names[kind]);
	if (kind == WRITE)
		check(!ioctl(server.fd, UFFDIO_WRITEPROTECT, &(struct uffdio_writeprotect){
			.range = region.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP }), "protect");
	check(!pthread_create(&thread, NULL, serve_all, &server), "thread");
	if (kind == WRITE)
		number_pages(server.memory, SIZE, 5);
	else if (kind == ZERO)
		for (int i = 0; i < PAGES; i++)
			check(!*(volatile char *)(server.memory + i * PAGE), "zero page is not zero");
	if (kind != ZERO)
		check(pages_numbered(server.memory, SIZE, 5), "content (%s)", names[kind]);
	check(server.served == PAGES, "%d faults served, not %d (%s)", server.served, (int)PAGES, names[kind]);
	if (kind == MOVE)
		check(!(pagemap(server.source) & PAGEMAP_PRESENT), "a moved page is still where it was");
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	close(server.fd);
	printf("%d faults: %s\n", server.served, names[kind]);
}

int main(void)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		one_kind(kind);
	return 0;
}
