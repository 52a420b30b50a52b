/* SPDX-License-Identifier: MIT */
#ifndef SEARCH_MODEL_H
#define SEARCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/* Makes a small address space of the bytes, and searches in it twice. */
bool search_differs(const unsigned char *input, size_t length);

#endif
