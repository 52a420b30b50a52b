// SPDX-License-Identifier: GPL-2.0-only
/* Binder: a service of root's is told whose request it has, and gets the files that are sent with it. */
#include <linux/android/binder.h>
#include <signal.h>
#include <sys/prctl.h>

#include "part.h"

#define DEVICE		"/dev/binderfs/binder"
#define BUFFER		(128UL << 10)
#define CLIENTS		4
#define REQUESTS	50
#define FIRST_ID	20000U

struct request {
	uint32_t command;
	struct binder_transaction_data data;
} __attribute__((packed));

struct release {
	uint32_t command;
	binder_uintptr_t buffer;
} __attribute__((packed));

static int open_device(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	need(fd >= 0, "no binder");
	check(mmap(NULL, BUFFER, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED, "buffer");
	return fd;
}

static size_t talk(int fd, const void *out, size_t size, void *in, size_t room)
{
	struct binder_write_read both = {
		.write_size = size, .write_buffer = (uintptr_t)out,
		.read_size = room, .read_buffer = (uintptr_t)in,
	};

	check(!ioctl(fd, BINDER_WRITE_READ, &both), "write and read");
	return both.read_consumed;
}

/* Waits for a request or a reply; what else comes has the size that its number says. */
static struct binder_transaction_data await(int fd, uint32_t wanted)
{
	struct binder_transaction_data data;
	char in[512];
	size_t size, at;
	uint32_t command;

	for (;;) {
		size = talk(fd, NULL, 0, in, sizeof(in));
		for (at = 0; at < size; at += sizeof(command) + _IOC_SIZE(command)) {
			memcpy(&command, in + at, sizeof(command));
			check(command != BR_FAILED_REPLY && command != BR_DEAD_REPLY, "refused: %#x", command);
			if (command != wanted)
				continue;
			memcpy(&data, in + at + sizeof(command), sizeof(data));
			return data;
		}
	}
}

static void give_back(int fd, binder_uintptr_t buffer)
{
	struct release release = { BC_FREE_BUFFER, buffer };

	talk(fd, &release, sizeof(release), NULL, 0);
}

static int file_with(unsigned int number)
{
	int fd = memfd_create("request", MFD_CLOEXEC);

	check(fd >= 0 && write(fd, &number, sizeof(number)) == sizeof(number), "a file");
	return fd;
}

/* Sends a file, as the user with that ID. */
static void ask(int fd, unsigned int id)
{
	int file = file_with(id);
	struct binder_fd_object object = { .hdr.type = BINDER_TYPE_FD, .fd = file };
	binder_size_t offset = 0;
	struct request request = { BC_TRANSACTION, {
		.flags = TF_ACCEPT_FDS,
		.data_size = sizeof(object), .data.ptr.buffer = (uintptr_t)&object,
		.offsets_size = sizeof(offset), .data.ptr.offsets = (uintptr_t)&offset,
	} };

	check(!setresuid(-1, id, -1), "user ID");
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* which another ID takes away */
	talk(fd, &request, sizeof(request), NULL, 0);
	give_back(fd, await(fd, BR_REPLY).data.ptr.buffer);
	check(!setresuid(-1, 0, -1), "user ID");
	close(file);
}

static void be_client(unsigned int first)
{
	int fd = open_device();
	unsigned int i;

	for (i = 0; i < REQUESTS; i++)
		ask(fd, first + i);
	_exit(0);
}

static void serve(int fd)
{
	struct binder_transaction_data data = await(fd, BR_TRANSACTION);
	struct binder_fd_object *object = (void *)(uintptr_t)data.data.ptr.buffer;
	struct request reply = { BC_REPLY, {} };
	unsigned int number = 0;

	check(data.data_size == sizeof(*object), "size of a request");
	check(pread(object->fd, &number, sizeof(number), 0) == sizeof(number), "its file");
	check(data.sender_euid == number, "ID %u, not %u", data.sender_euid, number);
	close(object->fd);
	give_back(fd, data.data.ptr.buffer);
	talk(fd, &reply, sizeof(reply), NULL, 0);
}

static int be_service(void)
{
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_BINDER, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	uint32_t enter = BC_ENTER_LOOPER;
	int fd = open_device();

	check(!ioctl(fd, BINDER_SET_CONTEXT_MGR_EXT, &self), "context manager");
	talk(fd, &enter, sizeof(enter), NULL, 0);
	return fd;
}

int main(void)
{
	int fd = be_service(), status;
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		if (!fork())
			be_client(FIRST_ID + i * REQUESTS);
	for (i = 0; i < CLIENTS * REQUESTS; i++)
		serve(fd);
	for (i = 0; i < CLIENTS; i++)
		check(wait(&status) > 0 && !status, "client");
	printf("%d requests\n", CLIENTS * REQUESTS);
	return 0;
}
