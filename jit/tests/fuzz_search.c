// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "search_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
	if (search_differs(input, length))
		abort();
	return 0;
}
