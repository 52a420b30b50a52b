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
	int state, error;

	thread_counts.opens++;
	if (have_key())
		return pkey_gate_open();
	state = pages_state(area);
	error = pages_set_state(area, state + 1);
	return error ? error : state;
}

int jitgate_close(struct jitgate_area *area, int state)
{
	if (state < 0)
		return -EINVAL;
	if (!have_key())
		return state < pages_state(area) ? pages_set_state(area, state) : 0;
	if (!state)
		pkey_gate_close();
	return 0;
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
