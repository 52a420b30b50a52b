/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_ATTACK_LIST_H
#define GUEST_ATTACK_LIST_H

#include "attack.h"

#define X(function, name, helpers) enum outcome function(void);
#include "attack-table.h"
#undef X

#endif
