// SPDX-License-Identifier: MIT
/* Opening and closing, whichever backend it is. */
#include <errno.h>

#include "internal.h"

int jitgate_state(const struct jitgate_area *area)
{
	return have_key() ? pkey_gate_state() : pages_state(area);
}

int jitgate_open(struct jitgate_area *area)
{
	thread_counts.opens++;
	return have_key() ? pkey_gate_open() : pages_open_one(area);
}

int jitgate_close(struct jitgate_area *area, int state)
{
	if (state < 0)
		return -EINVAL;
	if (!have_key())
		return pages_close_one(area, state);
	if (!state)
		pkey_gate_close();
	return 0;
}

int jitgate_state_all(void)
{
	return have_key() ? pkey_gate_state() : pages_state_of_all();
}

int jitgate_open_all(void)
{
	int error = decided() ? 0 : jitgate_init(JITGATE_AUTO);

	if (error)
		return error;
	thread_counts.opens++;
	return have_key() ? pkey_gate_open() : pages_open_all();
}

int jitgate_close_all(int state)
{
	if (state < 0)
		return -EINVAL;
	if (!have_key())
		return pages_close_all(state);
	if (!state)
		pkey_gate_close();
	return 0;
}

int jitgate_open_at(const void *address)
{
	if (!address || have_key())
		return jitgate_open_all();
	return jitgate_open(jitgate_area_at(address));
}

int jitgate_close_at(const void *address, int state)
{
	if (!address || have_key())
		return jitgate_close_all(state);
	return jitgate_close(jitgate_area_at(address), state);
}

int jitgate_suspend(struct jitgate_area *area)
{
	int state = jitgate_state(area);
	int error = state ? jitgate_close(area, 0) : 0;

	return error ? error : state;
}

int jitgate_resume(struct jitgate_area *area, int state)
{
	if (state < 0)
		return -EINVAL;
	if (!state)
		return 0;
	if (!have_key())
		return pages_set_state(area, state);
	pkey_gate_open();
	return 0;
}

void jitgate_attach(void)
{
	if (have_key())
		pkey_gate_attach();
}

uint64_t jitgate_entry_mask(void)
{
	if (!decided())
		return 0;
	return have_key() ? pkey_entry_mask() : JITGATE_NO_ENTRY;
}
