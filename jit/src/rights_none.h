/* SPDX-License-Identifier: MIT */
/* An architecture without keys: nothing but the question is ever called. */
#ifndef JITGATE_RIGHTS_NONE_H
#define JITGATE_RIGHTS_NONE_H

typedef uint32_t rights_t;

#define RIGHTS_BITS	2
#define RIGHTS_MASK	3u
#define RIGHTS_OPEN	0u
#define RIGHTS_CLOSED	2u
#define RIGHTS_ENTRY	1u

static inline bool rights_supported(void)
{
	return false;
}

static inline rights_t rights_read(void)
{
	return 0;
}

static inline void rights_write(rights_t rights)
{
	(void)rights;
}

#endif
