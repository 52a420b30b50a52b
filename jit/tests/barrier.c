// SPDX-License-Identifier: MIT
/* Compiled and looked at: without the barrier the first store is dead, and the loads are one. */
#include "rights.h"

int write_twice(int *code, rights_t open, rights_t closed);

int write_twice(int *code, rights_t open, rights_t closed)
{
	int before = *code;

	rights_write(open);
	*code = 0x11111;
	rights_write(closed);
	before += *code;
	rights_write(open);
	*code = 0x22222;
	rights_write(closed);
	return before + *code;
}
