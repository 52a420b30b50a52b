// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "jitgate.h"
#include "pieces_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
	if (jitgate_init(JITGATE_NEVER) || pieces_differ(input, length))
		abort();
	return 0;
}
