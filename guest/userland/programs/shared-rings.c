// SPDX-License-Identifier: GPL-2.0-only
/* Memory of the kernel's that drivers map: a ring of packets, buffers of two dma-buf exporters, TCP without copies. */
#include <arpa/inet.h>
#include <linux/dma-heap.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/udmabuf.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "part.h"

#define FRAME	2048
#define BLOCK	(16 * PAGE)
#define BLOCKS	8
#define PACKETS	50

/* Sends a datagram to a port of this machine. */
static void send_one(int number)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	check(sendto(fd, &number, 4, 0, (struct sockaddr *)&to, sizeof(to)) == 4, "send");
	close(fd);
}

static void packets(void)
{
	struct tpacket_req ring = {
		.tp_block_size = BLOCK, .tp_block_nr = BLOCKS,
		.tp_frame_size = FRAME, .tp_frame_nr = BLOCK / FRAME * BLOCKS,
	};
	struct sockaddr_ll here = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), i, seen = 0;
	char *memory;

	check(fd >= 0, "packet socket");
	check(!setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)), "ring of packets");
	here.sll_ifindex = if_nametoindex("lo");
	check(!bind(fd, (struct sockaddr *)&here, sizeof(here)), "bind");
	memory = map(BLOCK * BLOCKS, MAP_SHARED, fd);
	for (i = 0; i < PACKETS; i++)
		send_one(i);
	for (i = 0; i < (int)ring.tp_frame_nr; i++)
		seen += !!(((struct tpacket_hdr *)(memory + (size_t)i * FRAME))->tp_status & TP_STATUS_USER);
	check(seen >= PACKETS, "%d packets in the ring", seen);
	munmap(memory, BLOCK * BLOCKS);
	close(fd);
	printf("ring of packets: %d seen\n", seen);
}

static void use_buffer(int fd, size_t size, const char *what)
{
	char *one = map(size, MAP_SHARED, fd), *two = map(size, MAP_SHARED, fd);

	number_pages(one, size, 6);
	check(pages_numbered(two, size, 6), "%s: a second mapping shows other content", what);
	check(!in_child(number_pages(one, size, 7)), "child");
	check(pages_numbered(two, size, 7), "%s: the child's writes", what);
	munmap(one, size);
	munmap(two, size);
	printf("%s: %zu bytes\n", what, size);
}

static void heap(void)
{
	struct dma_heap_allocation_data buffer = { .len = 4UL << 20, .fd_flags = O_RDWR | O_CLOEXEC };
	int fd = open("/dev/dma_heap/system", O_RDWR);

	if (fd < 0 && errno == ENOENT) {
		puts("this kernel has no heap");
		return;
	}
	check(fd >= 0, "heap");
	check(!ioctl(fd, DMA_HEAP_IOCTL_ALLOC, &buffer), "buffer of the heap");
	use_buffer(buffer.fd, 4UL << 20, "dma-buf of the heap");
	close(buffer.fd);
	close(fd);
}

static void of_memfd(void)
{
	int memory = memfd_create("buffer", MFD_ALLOW_SEALING), device = open("/dev/udmabuf", O_RDWR), fd;
	struct udmabuf_create create = { .memfd = memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = 1UL << 20 };

	if (device < 0 && errno == ENOENT) {
		puts("this kernel has no udmabuf");
		return;
	}
	check(device >= 0, "udmabuf cannot be opened");
	check(!ftruncate(memory, 1UL << 20) && !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), "memfd");
	fd = ioctl(device, UDMABUF_CREATE, &create);
	check(fd >= 0, "udmabuf");
	use_buffer(fd, 1UL << 20, "udmabuf");
	close(fd);
	close(memory);
}

static int listen_here(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	check(!bind(fd, (struct sockaddr *)address, size) && !listen(fd, 1), "listen");
	check(!getsockname(fd, (struct sockaddr *)address, &size), "port");
	return fd;
}

/*
 * Pages of packets are put into the mapping of a socket; what does not begin on a page must be copied.
 * Pages of a pipe can be mapped: they belong to no file and to no process.
 */
static void tcp(void)
{
	size_t size = 256 * PAGE, mapped = 0, copied = 0;
	struct sockaddr_in address;
	int listener = listen_here(&address), fd;
	char *memory, *rest = malloc(size);
	pid_t child = fork();

	if (!child) {
		char *data = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		int one = 1, to = socket(AF_INET, SOCK_STREAM, 0), pipes[2];
		size_t sent = 0;

		memset(data, 'p', size);
		setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		check(!connect(to, (struct sockaddr *)&address, sizeof(address)) && !pipe(pipes), "connect");
		while (sent < size) {
			ssize_t in = write(pipes[1], data + sent, 4 * PAGE), out;

			check(in > 0, "pipe");
			for (; in; in -= out, sent += out) {
				out = splice(pipes[0], NULL, to, NULL, in, 0);
				check(out > 0, "splice");
			}
		}
		shutdown(to, SHUT_WR);
		_exit(read(to, data, 1) < 0);
	}
	fd = accept(listener, NULL, NULL);
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	check(memory != MAP_FAILED, "mmap of a socket");
	while (mapped + copied < size) {
		struct tcp_zerocopy_receive receive = { .address = (uintptr_t)memory, .length = size - mapped - copied };
		socklen_t length = sizeof(receive);
		struct pollfd ready = { fd, POLLIN, 0 };
		size_t at;
		ssize_t got;

		poll(&ready, 1, 10000);
		check(!getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &receive, &length), "zerocopy");
		for (at = 0; at < receive.length; at += PAGE)
			check(memory[at] == 'p', "content");
		mapped += receive.length;
		if (receive.length)
			continue;
		got = recv(fd, rest, receive.recv_skip_hint ? receive.recv_skip_hint : PAGE, MSG_DONTWAIT);
		check(got > 0 || (got < 0 && errno == EAGAIN), "end of the stream after %zu bytes", mapped + copied);
		copied += got > 0 ? got : 0;
	}
	munmap(memory, size);
	close(fd);
	waitpid(child, NULL, 0);
	printf("TCP: %zu bytes mapped, %zu copied\n", mapped, copied);
	check(mapped, "no page was mapped");
}

int main(void)
{
	packets();
	heap();
	of_memfd();
	tcp();
	return 0;
}
