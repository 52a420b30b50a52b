// SPDX-License-Identifier: GPL-2.0-or-later
/* x-poe-lazy-write=on: a write takes effect at the next ISB or exception, not before. */
#include "poe.h"

static u64 pending;

static void writes_after_set(u64 address)
{
	set_then_write(pending, address, 1);
}

static void writes_after_svc(u64 address)
{
	set_svc_write(pending, address, 1);
}

void test_delay(void)
{
	u64 va = window(false);

	set_por(0, 0);
	overlays(true);
	map_windows(1, 0);
	set_por(1, ALL);
	check(!faults(writes, va), "open", 0, 0);
	pending = por_value(1, R);
	check(!faults(writes_after_set, va), "closed without ISB", 0, 0);
	check(READ_REG(POR) == pending, "MRS", READ_REG(POR), pending);
	ISB();
	check(faults(writes, va), "closed, ISB", 0, 0);
	result("closing without ISB leaves the gate open");

	pending = por_value(1, ALL);
	check(faults(writes_after_set, va), "opened without ISB", 0, 0);
	ISB();
	check(!faults(writes, va), "opened, ISB", 0, 0);
	result("opening without ISB leaves the gate closed");

	pending = por_value(1, R);
	seen.expected = 1;
	set_svc_write(por_value(1, ALL), va, 1);
	seen.expected = 0;
	check(EC(seen.esr) == 0x15, "opened, exception", seen.esr, 0);
	check(faults(writes_after_svc, va) && EC(seen.esr) == 0x25, "closed, exception", seen.esr, 0);
	result("an exception and its return are as good as an ISB");
}
