// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "words.h"

int words_split(char *text, char *words[MAX_WORDS + 1])
{
	char *word;
	int n = 0;

	while ((word = strsep(&text, ","))) {
		if (n == MAX_WORDS)
			return -E2BIG;
		words[n++] = word;
	}
	words[n] = NULL;
	return n;
}
