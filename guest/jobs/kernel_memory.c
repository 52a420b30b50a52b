// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's own mappings, and the pressure it can put on pages. */
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "job.h"

#define VMALLOC_ROUNDS	60
#define MAPS		8
#define STACKS		32
#define BOUNDED_SECONDS	15

/* An array this large lives in vmalloc space. */
static int make_vmalloc_area(unsigned int size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = size;
	attr.max_entries = 1;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static void *map_churn(void *data)
{
	long *made = data;
	int fds[MAPS];
	int i, n;

	for (i = 0; i < VMALLOC_ROUNDS; i++) {
		for (n = 0; n < MAPS; n++) {
			fds[n] = make_vmalloc_area((64 << 10) << n % 4);
			*made += fds[n] >= 0;
		}
		for (n = 0; n < MAPS; n++)
			close(fds[n]);
	}
	return NULL;
}

static void *sleep_a_little(void *data)
{
	usleep(20000);
	return data;
}

/* Each thread has a kernel stack in vmalloc space; few are cached. */
static int stack_churn(void)
{
	pthread_t thread[STACKS];
	int i;

	for (i = 0; i < STACKS; i++)
		if (pthread_create(&thread[i], NULL, sleep_a_little, NULL))
			break;
	while (i--)
		pthread_join(thread[i], NULL);
	return 0;
}

enum job_outcome vmalloc_churn(void)
{
	pthread_t other;
	long made[2] = { 0 };
	int round;

	pthread_create(&other, NULL, map_churn, &made[0]);
	for (round = 0; round < 4; round++)
		stack_churn();
	map_churn(&made[1]);
	pthread_join(other, NULL);
	return made[0] && made[1] ? passed() : failed("no vmalloc area was made");
}

/* While other processes change page tables; must not take for ever. */
static enum job_outcome write_under_load(const char *path, const char *value)
{
	double start = now();
	int churn = start_churn();
	int round, err = 0;

	for (round = 0; !err && round < 3; round++) {
		usleep(50000);
		err = file_write(path, value);
	}
	stop_churn(churn);
	if (err)
		return skipped("%s: error %d", path, -err);
	if (now() - start > BOUNDED_SECONDS)
		return failed("took %.0f s", now() - start);
	return passed();
}

enum job_outcome compaction(void)
{
	return write_under_load("/proc/sys/vm/compact_memory", "1");
}

enum job_outcome drop_caches(void)
{
	return write_under_load("/proc/sys/vm/drop_caches", "3");
}
