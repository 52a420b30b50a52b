// SPDX-License-Identifier: GPL-2.0-only
#include "list.h"

#define X(function, name, needs) { name, function, needs },
const struct attack attacks[] = { ATTACKS(X) { 0 } };
#undef X
