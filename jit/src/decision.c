// SPDX-License-Identifier: MIT
/*
 * What protects the areas of this process, decided once. It has a page of its
 * own, which is read-only afterwards: who could change the number of the key
 * could make every later close be one of another key.
 */
#define _GNU_SOURCE	/* secure_getenv() */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

union decision_page decision_page __attribute__((aligned(LARGEST_PAGE))) = {
	.decision = { .key = -1 },
};

static enum jitgate_use asked_by_environment(void)
{
	const char *word = secure_getenv("JITGATE");

	if (word && !strcmp(word, "never"))
		return JITGATE_NEVER;
	if (word && !strcmp(word, "always"))
		return JITGATE_ALWAYS;
	return JITGATE_AUTO;
}

/* Not to succeed in sealing it changes nothing but what an attacker can do. */
static void decide_for(enum jitgate_backend backend, int key, int reason)
{
	DECISION->key = key;
	DECISION->reason = reason;
	atomic_store_explicit(&DECISION->backend, backend, memory_order_release);
	count_call();
	mprotect(&decision_page, sizeof(decision_page), PROT_READ);
}

static enum jitgate_backend without_key(enum jitgate_use use)
{
	return use == JITGATE_TWICE ? JITGATE_TWO_VIEWS : JITGATE_MPROTECT;
}

static int decide(enum jitgate_use use)
{
	int key = -1, error = use == JITGATE_TWICE ? views_probe() : 0;
	int reason = use == JITGATE_AUTO || use == JITGATE_ALWAYS ? pkey_probe(&key) : ECANCELED;

	if (!error && reason && use == JITGATE_ALWAYS)
		error = reason;
	if (error)
		return -error;
	DECISION->vault = vault_map();
	if (!DECISION->vault) {
		if (!reason)
			pkey_give_back(key);
		return -ENOMEM;
	}
	if (reason)
		decide_for(without_key(use), -1, reason);
	else
		decide_for(JITGATE_PKEY, key, 0);
	return 0;
}

/* Whether what was decided for somebody else suits this caller, too. */
static int agree(enum jitgate_use use)
{
	/* Who does not ask for two views knows of one, and would write there. */
	if ((use == JITGATE_TWICE) != have_views() || (use == JITGATE_NEVER && have_key()))
		return -EBUSY;
	if (use != JITGATE_ALWAYS || have_key())
		return 0;
	return DECISION->reason == ECANCELED ? -EBUSY : -DECISION->reason;
}

int jitgate_init(enum jitgate_use use)
{
	struct held_lock lock;
	int result;

	if (use != JITGATE_AUTO && use != JITGATE_ALWAYS && use != JITGATE_NEVER &&
	    use != JITGATE_TWICE)
		return -EINVAL;
	if (use == JITGATE_AUTO && !decided())
		use = asked_by_environment();
	lock_take(&lock);
	result = decided() ? agree(use) : decide(use);
	lock_drop(&lock);
	/* Somebody else's thread may have taken the key after this one was born. */
	if (have_key() && !pkey_gate_state())
		pkey_gate_attach();
	return result;
}

void jitgate_query(struct jitgate_info *info)
{
	info->backend = (enum jitgate_backend)atomic_load_explicit(&DECISION->backend,
								   memory_order_acquire);
	info->key = info->backend == JITGATE_PKEY ? DECISION->key : -1;
	info->reason = info->key < 0 && info->backend != JITGATE_NOTHING ? DECISION->reason : 0;
}
