// SPDX-License-Identifier: GPL-2.0-only
/* A graphics driver's buffers, mapped twice and handed on: argument 1 is the name of the driver. */
#include <drm.h>
#include <drm_mode.h>

#include "part.h"

#define WIDTH	1024
#define HEIGHT	512
#define ROUNDS	4

static int open_driver(const char *wanted)
{
	char path[32], name[64];
	int fd, i;

	for (i = 0; i < 16; i++) {
		struct drm_version version = { .name_len = sizeof(name) - 1, .name = name };

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strncmp(name, wanted, strlen(wanted))) {
			printf("%s is driver %s\n", path, name);
			return fd;
		}
		close(fd);
	}
	return -1;
}

static char *map_buffer(int fd, __u32 handle, size_t size)
{
	struct drm_mode_map_dumb place = { .handle = handle };
	char *memory;

	check(!ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &place), "where to map a buffer");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, place.offset);
	check(memory != MAP_FAILED, "mmap of a buffer");
	return memory;
}

/* The same buffer by the descriptor that another driver would get. */
static void handed_on(int fd, __u32 handle, size_t size, unsigned int seed)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	char *memory;

	if (ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime)) {
		puts("this driver hands on no buffers");
		return;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, prime.fd, 0);
	if (memory == MAP_FAILED) {
		puts("what it hands on cannot be mapped");
	} else {
		check(pages_numbered(memory, size, seed), "content by the other descriptor");
		munmap(memory, size);
		puts("mapped by the other descriptor");
	}
	close(prime.fd);
}

static void one_buffer(int fd, unsigned int seed)
{
	struct drm_mode_create_dumb buffer = { .width = WIDTH, .height = HEIGHT, .bpp = 32 };
	struct drm_mode_destroy_dumb done;
	char *one, *two;

	check(!ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &buffer), "create a buffer");
	one = map_buffer(fd, buffer.handle, buffer.size);
	two = map_buffer(fd, buffer.handle, buffer.size);
	check_shared(one, two, buffer.size, seed);
	check(!mprotect(one, buffer.size / 2, PROT_READ), "mprotect");
	check(pages_numbered(one, buffer.size, seed + 1), "after mprotect");
	handed_on(fd, buffer.handle, buffer.size, seed + 1);
	munmap(one, buffer.size / 2);
	done = (struct drm_mode_destroy_dumb){ .handle = buffer.handle };
	check(!ioctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &done), "destroy");
	/* The mapping holds it. */
	check(pages_numbered(two, buffer.size, seed + 1), "content after its end");
	munmap(one + buffer.size / 2, buffer.size / 2);
	munmap(two, buffer.size);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open_driver(argv[1]) : -1, i;

	need(fd >= 0, "no device of this driver");
	for (i = 0; i < ROUNDS; i++)
		one_buffer(fd, i * 10);
	printf("%d buffers\n", ROUNDS);
	return 0;
}
