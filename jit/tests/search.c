// SPDX-License-Identifier: MIT
/* The search for addresses against a plain one that tries each page. */
#include <stdio.h>
#include <stdlib.h>

#include "search.h"
#include "search_model.h"

int main(void)
{
	unsigned char input[24];
	int round, i;

	srand(1);
	for (round = 0; round < 20000; round++) {
		for (i = 0; i < (int)sizeof(input); i++)
			input[i] = rand() >> 7;
		if (search_differs(input, sizeof(input))) {
			printf("round %d: the search differs from the plain one\n", round);
			return 1;
		}
	}
	printf("%d searches agree\n", round);
	return 0;
}
