// SPDX-License-Identifier: MIT
/* A user of the installed library. */
#include <jitgate.h>
#include <stdio.h>

int main(void)
{
	struct jitgate_info info;

	if (jitgate_init(JITGATE_AUTO))
		return 1;
	jitgate_query(&info);
	printf("backend %d, key %d, reason %d\n", info.backend, info.key, info.reason);
	return info.backend == JITGATE_NOTHING;
}
