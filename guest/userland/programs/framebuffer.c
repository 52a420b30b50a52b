// SPDX-License-Identifier: GPL-2.0-only
/* Frame buffers: each /dev/fb is mapped twice; its lowest quarter, where no console writes, is written and read. */
#include <linux/fb.h>

#include "part.h"

static void one_device(int fd, const char *path)
{
	struct fb_fix_screeninfo fixed;
	struct fb_var_screeninfo variable;
	char *one, *two;
	size_t size, quarter;

	check(!ioctl(fd, FBIOGET_FSCREENINFO, &fixed) && !ioctl(fd, FBIOGET_VSCREENINFO, &variable), "%s", path);
	size = (size_t)fixed.line_length * variable.yres & ~(PAGE - 1);
	one = map(size, MAP_SHARED, fd);
	two = map(size, MAP_SHARED, fd);
	quarter = (size / 4 * 3) & ~(PAGE - 1);
	number_pages(one + quarter, size - quarter, 3);
	check(pages_numbered(two + quarter, size - quarter, 3), "%s: a second mapping shows other content", path);
	check(!in_child(number_pages(two + quarter, size - quarter, 4)), "child");
	check(pages_numbered(one + quarter, size - quarter, 4), "%s: the child's writes", path);
	/* A driver that copies what was written protects the entries again. */
	usleep(200000);
	number_pages(one + quarter, size - quarter, 5);
	check(pages_numbered(two + quarter, size - quarter, 5), "%s: written again", path);
	munmap(one, size);
	munmap(two, size);
	printf("%s is %s: %ux%u, %zu bytes\n", path, fixed.id, variable.xres, variable.yres, size);
}

int main(void)
{
	char path[16];
	int fd, i, found = 0;

	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/dev/fb%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		one_device(fd, path);
		close(fd);
		found++;
	}
	need(found, "no frame buffer");
	return 0;
}
