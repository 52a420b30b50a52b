// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel does for a task by other credentials than the task's own. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "ids.h"
#include "uring.h"

#define ROUNDS		50
#define LAYERS		"/tmp/layers/"
#define MERGED		LAYERS "merged/"
#define CORES		"/tmp/cores"
#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"

/* ---- io_uring ---- */

static struct uring ring;

/* Reads root's file with these credentials, here or in a worker: 0 or -errno. */
static int open_secret(int personality, int flags)
{
	struct io_uring_sqe entry = {
		.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)SECRET,
		.open_flags = O_RDONLY, .personality = personality, .flags = flags,
	};
	int fd = uring_operate(&ring, &entry);

	return fd < 0 ? fd : close(fd);
}

static enum job_outcome use_personality(int personality)
{
	int i, flags;

	for (i = 0; i < ROUNDS; i++) {
		flags = i % 2 ? IOSQE_ASYNC : 0;
		if (open_secret(0, flags) != -EACCES)
			return failed("round %d: a user reads what is root's", i);
		if (open_secret(personality, flags))
			return failed("round %d: root's personality does not", i);
		if (may_read_secret())
			return failed("round %d: the personality stays", i);
	}
	uring_register(&ring, IORING_UNREGISTER_PERSONALITY, NULL, personality);
	return open_secret(personality, 0) == -EINVAL ? passed() :
	       failed("a personality that is gone is used");
}

enum job_outcome uring_personality(void)
{
	int err = uring_open(&ring), personality;

	if (err == -ENOSYS)
		return skipped("the kernel has no io_uring");
	personality = err ?: uring_register(&ring, IORING_REGISTER_PERSONALITY, NULL, 0);
	if (personality <= 0 || !make_secret() || !become_user())
		return failed("no ring, or nobody to use it: %d", personality);
	return use_personality(personality);
}

/* ---- overlayfs: by those of who mounted it ---- */

static bool make_layers(void)
{
	static const char *const dirs[] = { "lower", "upper", "work", "merged" };
	char path[64];
	unsigned int i;

	if ((mkdir(LAYERS, 0755) && errno != EEXIST) || mount("layers", LAYERS, "tmpfs", 0, NULL))
		return false;
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), LAYERS "%s", dirs[i]);
		if (mkdir(path, 0777) || chmod(path, 0777))
			return false;
	}
	return make_file(LAYERS "lower/ours", USER, 0600) &&
	       make_file(LAYERS "lower/roots", 0, 0600) &&
	       make_file(LAYERS "lower/gone", USER, 0600);
}

static bool is_of(const char *path, unsigned int owner)
{
	struct stat stat;

	return !lstat(path, &stat) && stat.st_uid == owner;
}

static enum job_outcome use_layers(void)
{
	char text[16];

	if (file_write(MERGED "ours", "upper\n") || !is_of(LAYERS "upper/ours", USER))
		return failed("a user's file does not come up as his");
	if (file_read(MERGED "roots", text, sizeof(text)) != -EACCES ||
	    file_write(MERGED "roots", "x") != -EACCES)
		return failed("a user has root's file");
	if (mkdir(MERGED "dir", 0700) || !make_file(MERGED "dir/new", USER, 0644) ||
	    !is_of(LAYERS "upper/dir/new", USER))
		return failed("a user's new file is not his");
	if (unlink(MERGED "gone") || !is_of(LAYERS "upper/gone", 0))
		return failed("what a user removes leaves no mark of the mounter's");
	return may_read_secret() ? failed("the mounter's credentials stay") : passed();
}

static enum job_outcome mount_layers(void)
{
	enum job_outcome outcome;

	if (mount("overlay", MERGED, "overlay", 0, "lowerdir=" LAYERS "lower,upperdir="
		  LAYERS "upper,workdir=" LAYERS "work"))
		return errno == ENODEV ? skipped("the kernel has no overlayfs") :
					 failed("no overlay: error %d", errno);
	outcome = as_user(use_layers);
	umount(MERGED);
	return outcome;
}

enum job_outcome overlays(void)
{
	enum job_outcome outcome = make_secret() && make_layers() ? mount_layers() :
								    failed("no layers");
	umount2(LAYERS, MNT_DETACH);
	return outcome;
}

/* ---- access(2): by the real IDs ---- */

static bool access_says(uid_t real, uid_t effective, bool allowed)
{
	bool right;

	if (setresuid(real, effective, 0))
		return false;
	right = !access(SECRET, R_OK) == allowed && may_read_secret() != allowed;
	return !setresuid(0, 0, 0) && right;
}

enum job_outcome real_ids(void)
{
	int i;

	if (!make_secret())
		return failed("no secret");
	for (i = 0; i < ROUNDS; i++)
		if (!access_says(0, USER, true) || !access_says(USER, 0, false))
			return failed("round %d: access() goes by other IDs than the real ones", i);
	return passed();
}

/* ---- core dumps: by those of whose memory it is ---- */

static enum job_outcome dump_core(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		abort();
	}
	if (waitpid(pid, &status, 0) != pid || !WCOREDUMP(status))
		return failed("no core");
	return is_of(CORES "/core", USER) ? passed() : failed("the core is somebody else's");
}

enum job_outcome core_owner(void)
{
	enum job_outcome outcome;
	char old[128];

	if (file_read(CORE_PATTERN, old, sizeof(old)) < 0)
		return skipped("the kernel dumps no core");
	if (mkdir(CORES, 0700) || chown(CORES, USER, USER) ||
	    file_write(CORE_PATTERN, CORES "/core"))
		return failed("no place for cores");
	outcome = as_user(dump_core);
	file_write(CORE_PATTERN, old);
	unlink(CORES "/core");
	rmdir(CORES);
	return outcome;
}
