// SPDX-License-Identifier: MIT
/*
 * Areas that are mapped twice: code runs in one view, which was never writable,
 * and is written in another, which never runs and is open for the time of a scope.
 *
 * Both are shared memory, which a child of fork() would share with its parent. So
 * the kernel leaves them out of children, and fork() gives the child copies: they
 * are made before, in addresses kept behind the writable view, and moved to where
 * the areas are in the child. Nothing has to be remembered for that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		8u
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	16
#endif

#define SIZE_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW)

static int make_file(const char *name)
{
	int file;

	/* As a file it is not executable; mmap() does not ask that. */
	count_call();
	file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (file >= 0 || errno != EINVAL)
		return file;
	count_call();
	return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static bool map_shared(unsigned char *at, size_t size, int prot, int file)
{
	count_call();
	return mmap(at, size, prot, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
}

/*
 * What is mapped after the seal can never be made writable, also not by mprotect().
 * Kernels before 5.1 do not know it.
 */
static void seal_writing(int file)
{
	count_call();
	if (!fcntl(file, F_ADD_SEALS, SIZE_SEALS | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return;
	count_call();
	fcntl(file, F_ADD_SEALS, SIZE_SEALS | F_SEAL_SEAL);
}

static bool fill_file(int file, const struct jitgate_area *area)
{
	size_t done = 0;
	ssize_t got;

	while (done < area->size) {
		count_call();
		got = pwrite(file, area->base + done, area->size - done, done);
		if (got <= 0)
			return false;
		done += got;
	}
	return true;
}

static int map_file(unsigned char *writable, unsigned char *code, size_t size, const char *name,
		    const struct jitgate_area *content)
{
	int file = make_file(name), error = 0;

	if (file < 0)
		return -errno;
	count_call();
	if (ftruncate(file, size) || (content && !fill_file(file, content)) ||
	    !map_shared(writable, size, PROT_NONE, file))
		error = -errno;
	seal_writing(file);
	if (!error && !map_shared(code, size, PROT_READ | PROT_EXEC, file))
		error = -errno;
	count_call();
	close(file);
	return error;
}

/*
 * With the content of `content`, if that is not NULL; both places are reserved.
 * A thread that were cancelled meanwhile would leave the file open.
 */
static int map_both(unsigned char *writable, unsigned char *code, size_t size, const char *name,
		    const struct jitgate_area *content)
{
	int error, cancelling;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	error = map_file(writable, code, size, name, content);
	pthread_setcancelstate(cancelling, NULL);
	return error;
}

static void keep_from_children(const struct jitgate_area *area)
{
	count_call();
	madvise(area->writable, area->reserve, MADV_DONTFORK);
	count_call();
	madvise(area->base, area->reserve, MADV_DONTFORK);
}

static void *reserve(void *at, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	count_call();
	return mmap(at, size, PROT_NONE, at ? flags | MAP_FIXED : flags, -1, 0);
}

int views_map(struct jitgate_area *area, const char *name)
{
	void *got = reserve(NULL, VIEWS * area->reserve);
	int error;

	if (got == MAP_FAILED)
		return -errno;
	area->writable = got;
	error = map_both(area->writable, area->base, area->reserve, name ? name : "jitgate", NULL);
	if (!error)
		keep_from_children(area);
	return error;
}

void views_unmap(const struct jitgate_area *area)
{
	count_call();
	munmap(area->writable, VIEWS * area->reserve);
}

/* Whether the system lets an area be made; returns 0 or why not. */
int views_probe(void)
{
	struct jitgate_area area = { .reserve = page_size() };
	int error;

	area.base = reserve(NULL, area.reserve);
	if (area.base == MAP_FAILED)
		return errno;
	error = views_map(&area, NULL);
	if (area.writable)
		views_unmap(&area);
	count_call();
	munmap(area.base, area.reserve);
	return -error;
}

static unsigned char *spare(const struct jitgate_area *area, int number)
{
	return area->writable + number * area->reserve;
}

static void drop_spares(const struct jitgate_area *area)
{
	reserve(spare(area, 1), 2 * area->reserve);
}

void views_before_fork(void)
{
	struct jitgate_area *area;

	/* The child cannot use an area whose copy was not made. */
	for (area = next_area(NULL); area; area = next_area(area))
		if (map_both(spare(area, 1), spare(area, 2), area->reserve, "jitgate", area))
			drop_spares(area);
}

void views_after_fork(void)
{
	struct jitgate_area *area;

	for (area = next_area(NULL); area; area = next_area(area))
		drop_spares(area);
}

static void move_here(void *from, void *to, size_t size)
{
	count_call();
	if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		reserve(to, size);
}

void views_in_child(void)
{
	struct jitgate_area *area;

	for (area = next_area(NULL); area; area = next_area(area)) {
		move_here(spare(area, 1), area->writable, area->reserve);
		move_here(spare(area, 2), area->base, area->reserve);
		drop_spares(area);
		keep_from_children(area);
	}
}
