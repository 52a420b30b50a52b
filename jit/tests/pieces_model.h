/* SPDX-License-Identifier: MIT */
#ifndef PIECES_MODEL_H
#define PIECES_MODEL_H

#include <stddef.h>

/*
 * Takes and gives back pieces as the bytes say, and keeps its own books beside.
 * Returns the line where the two differ, 0 when they agree.
 */
int pieces_differ(const unsigned char *input, size_t length);

#endif
