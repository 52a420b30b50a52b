// SPDX-License-Identifier: GPL-2.0-only
/* Memory that a device has alone: entries that say so, faults that bring it back, exclusive access. */
#include <linux/types.h>

#include "part.h"

/* lib/test_hmm_uapi.h of the kernel */
struct command {
	__u64 address, pointer, pages, copied, faults;
};

#define MIGRATE_TO_DEVICE	_IOWR('H', 0x02, struct command)
#define MIGRATE_TO_SYSTEM	_IOWR('H', 0x03, struct command)
#define READ_BY_DEVICE		_IOWR('H', 0x00, struct command)
#define WRITE_BY_DEVICE		_IOWR('H', 0x01, struct command)
#define SNAPSHOT		_IOWR('H', 0x04, struct command)
#define EXCLUSIVE		_IOWR('H', 0x05, struct command)
#define CHECK_EXCLUSIVE		_IOWR('H', 0x06, struct command)
#define ON_DEVICE		0x20

#define PAGES	64
#define SIZE	(PAGES * PAGE)

static int device;
static char *mirror;

static int ask(unsigned long what, char *memory)
{
	struct command command = { (uintptr_t)memory, (uintptr_t)mirror, PAGES, 0, 0 };

	return ioctl(device, what, &command) ? -errno : (int)command.copied;
}

static int on_device(char *memory)
{
	unsigned char state[PAGES];
	struct command command = { (uintptr_t)memory, (uintptr_t)state, PAGES, 0, 0 };
	int i, found = 0;

	check(!ioctl(device, SNAPSHOT, &command), "snapshot");
	for (i = 0; i < PAGES; i++)
		found += (state[i] & 0x30) == ON_DEVICE;
	return found;
}

static void to_device_and_back(char *memory)
{
	number_pages(memory, SIZE, 1);
	check(ask(MIGRATE_TO_DEVICE, memory) == PAGES, "pages to the device");
	check(on_device(memory) == PAGES, "%d of %d pages are on the device", on_device(memory), PAGES);
	check(pages_numbered(mirror, SIZE, 1), "the device's content");
	/* Each access is a fault that brings a page back. */
	check(pages_numbered(memory, SIZE, 1), "content that came back");
	check(!on_device(memory), "pages stayed on the device");
	check(ask(MIGRATE_TO_DEVICE, memory) == PAGES, "again");
	check(ask(MIGRATE_TO_SYSTEM, memory) == PAGES && !on_device(memory), "back by request");
	check(ask(MIGRATE_TO_DEVICE, memory) == PAGES, "a third time");
	/* The entries are copied into a child, protected and moved. */
	check(!in_child(check(pages_numbered(memory, SIZE, 1), "content"); number_pages(memory, SIZE, 2)), "child");
	mprotect(memory, SIZE, PROT_READ);
	mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
	memory = mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, aligned_memory(HUGE_PAGE, MAP_PRIVATE));
	check(memory != MAP_FAILED && pages_numbered(memory, SIZE, 1), "content after all");
}

static void exclusive(char *memory)
{
	number_pages(memory, SIZE, 4);
	check(ask(EXCLUSIVE, memory) >= 0 && pages_numbered(mirror, SIZE, 4), "exclusive access");
	/* It refuses where a page is exclusive. */
	check(ask(CHECK_EXCLUSIVE, memory) == -EPERM, "it is not exclusive");
	check(pages_numbered(memory, SIZE, 4), "content that is not exclusive any more");
	check(ask(CHECK_EXCLUSIVE, memory) >= 0, "it is still exclusive");
	check(ask(EXCLUSIVE, memory) >= 0, "exclusive access again");
	number_pages(mirror, SIZE, 5);
	check(ask(WRITE_BY_DEVICE, memory) == PAGES, "the device's writes");
	check(pages_numbered(memory, SIZE, 5), "content that the device wrote");
	number_pages(memory, SIZE, 6);
	check(ask(READ_BY_DEVICE, memory) == PAGES && pages_numbered(mirror, SIZE, 6), "what the device reads");
}

static char *small_pages(void)
{
	char *memory = map(SIZE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(memory, SIZE, MADV_NOHUGEPAGE);
	return memory;
}

int main(void)
{
	device = open("/dev/hmm_dmirror0", O_RDWR);
	need(device >= 0, "no device to test it with");
	mirror = small_pages();
	to_device_and_back(small_pages());
	exclusive(small_pages());
	printf("%d pages there and back\n", PAGES);
	return 0;
}
