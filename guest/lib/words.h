/* SPDX-License-Identifier: GPL-2.0-only */
/* The job on the kernel command line: words with commas between them. */
#ifndef GUEST_WORDS_H
#define GUEST_WORDS_H

/* The host has the same number (JOB_WORDS in core/machine.py). */
#define MAX_WORDS	128

/*
 * Split text where it lies; words[] ends with a NULL and has room for
 * MAX_WORDS of them. Returns how many there are, -E2BIG when they are more.
 */
int words_split(char *text, char *words[MAX_WORDS + 1]);

#endif
