// SPDX-License-Identifier: GPL-2.0-only
#include "list.h"

#define X(function, name, helpers) { name, function, helpers },
const struct attack attacks[] = {
#include "attack-table.h"
	{ 0 }
};
#undef X
