// SPDX-License-Identifier: GPL-2.0-only
#include "load.h"

const struct load compile_loads[] = {
	{ .name = NULL },
};
