// SPDX-License-Identifier: MIT
/* The backend with a protection key: one for the process, rights by thread. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "rights.h"

#define ALL_RIGHTS	(PROT_READ | PROT_WRITE | PROT_EXEC)

static void set_rights(int key, unsigned int bits)
{
	rights_write(rights_with(rights_read(), key, bits));
	thread_counts.register_writes++;
}

int pkey_protect(void *start, size_t size, int prot, int key)
{
	count_call();
	return syscall(SYS_pkey_mprotect, start, size, prot, key) ? -errno : 0;
}

int pkey_commit(void *start, size_t size, int key)
{
	return pkey_protect(start, size, ALL_RIGHTS, key);
}

/* Filters may allow to take a key and forbid to use it. */
static int try_key(int key)
{
	size_t size = page_size();
	void *page = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	count_call();
	if (page == MAP_FAILED)
		return -errno;
	error = pkey_commit(page, size, key);
	count_call();
	munmap(page, size);
	return error;
}

void pkey_give_back(int key)
{
	count_call();
	syscall(SYS_pkey_free, key);
}

/* Returns a reason, 0 with a key that is closed for this thread. */
int pkey_probe(int *key)
{
	int error;

	if (!rights_supported())
		return EOPNOTSUPP;
	count_call();
	*key = syscall(SYS_pkey_alloc, 0, 0);
	if (*key < 0)
		return errno;
	set_rights(*key, RIGHTS_CLOSED);
	error = try_key(*key);
	if (error)
		pkey_give_back(*key);
	return -error;
}

/*
 * The register is all the state there is. It cannot be wrong: the kernel resets
 * it for a signal handler and brings it back afterwards, so a counter beside it
 * would claim in a handler that the gate is open.
 */
int pkey_gate_state(void)
{
	return rights_of(rights_read(), DECISION->key) == RIGHTS_OPEN;
}

int pkey_gate_open(void)
{
	if (pkey_gate_state())
		return 1;
	set_rights(DECISION->key, RIGHTS_OPEN);
	return 0;
}

void pkey_gate_close(void)
{
	set_rights(DECISION->key, RIGHTS_CLOSED);
}

void pkey_gate_attach(void)
{
	if (rights_of(rights_read(), DECISION->key) != RIGHTS_CLOSED)
		set_rights(DECISION->key, RIGHTS_CLOSED);
}

uint64_t pkey_entry_mask(void)
{
	return (uint64_t)RIGHTS_ENTRY << (DECISION->key * RIGHTS_BITS);
}

uint64_t pkey_gate_borrow(void)
{
	rights_t before = rights_read();

	set_rights(DECISION->key, RIGHTS_OPEN);
	return before;
}

void pkey_gate_return(uint64_t rights)
{
	rights_write(rights);
	thread_counts.register_writes++;
}
