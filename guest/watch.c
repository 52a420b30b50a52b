// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operators watch: the files of /sys/kernel/kpkeys, the counter of
 * violations when there is one, how many are printed, and a panic.
 *
 * watch               the files, and one violation
 * watch flood N MOST  N violations, of which MOST are printed in 5 seconds
 * watch panic         one violation, behind which nothing comes
 * watch parameters    what the command line chose, which nobody can change
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "corrupt.h"
#include "files.h"
#include "kpkeys.h"
#include "paging.h"
#include "results.h"

#define SYSFS		"/sys/kernel/kpkeys/"
#define INTERVAL	5	/* seconds: KPKEYS_PRINT_INTERVAL of the kernel */
#define MOST_DIGITS	10	/* an address has more, decimal or not */

static const char * const words[] = { "mode", "backend" };
/* Those that debugfs has under the same name, and that nothing changes meanwhile. */
static const char * const counters[] = {
	"violations", "refusals", "left_open", "freelist_errors", "unkeyed_fallbacks",
	"pool_refill_failures", "direct_map_splits", "state_pages", "lost_pages",
};
static const char * const sizes[] = { "keyed_pages", "pool_free", "pool_used", "pool_reserved" };

#define COUNT(array)	(sizeof(array) / sizeof(array[0]))

/* One line of lower-case letters, or of few digits. */
static bool is_plain(const char *text)
{
	size_t letters = 0, digits = 0;

	while (islower(text[letters]))
		letters++;
	while (isdigit(text[digits]))
		digits++;
	return (letters || (digits && digits <= MOST_DIGITS)) &&
	       !strcmp(text + letters + digits, "\n");
}

/* Returns false, with a failed result, unless the file is as it has to be. */
static bool read_value(const char *name, char *text, size_t size)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), SYSFS "%s", name);
	if (stat(path, &st) || file_read(path, text, size) <= 0) {
		result_fail(name, "no such file");
		return false;
	}
	if ((st.st_mode & 07777) != 0444 || !is_plain(text)) {
		result_fail(name, "mode %o, '%s'", st.st_mode & 07777, text);
		return false;
	}
	text[strcspn(text, "\n")] = '\0';
	result_comment("%s %s", name, text);
	return true;
}

static void look_at_word(const char *name, const char *expected)
{
	char text[64];

	if (!read_value(name, text, sizeof(text)))
		return;
	if (strcmp(text, expected))
		result_fail(name, "'%s', and debugfs says '%s'", text, expected);
	else
		result_ok(name);
}

static void look_at_counter(const char *name)
{
	char text[64];

	if (!read_value(name, text, sizeof(text)))
		return;
	if (strtoul(text, NULL, 10) != kpkeys_stat(name))
		result_fail(name, "%s, and debugfs says %lu", text, kpkeys_stat(name));
	else
		result_ok(name);
}

static void look_at_size(const char *name, bool on)
{
	char text[64];

	if (!read_value(name, text, sizeof(text)))
		return;
	if (!strtoul(text, NULL, 10) == on)
		result_fail(name, "%s with the protection %s", text, on ? "on" : "off");
	else
		result_ok(name);
}

/* Returns the mode: is it anything but off? */
static bool look_at_files(void)
{
	char mode[16], backend[16];
	bool on;
	size_t i;

	kpkeys_mode(mode, sizeof(mode));
	kpkeys_backend(backend, sizeof(backend));
	on = strcmp(mode, "off");
	look_at_word(words[0], mode);
	look_at_word(words[1], backend);
	for (i = 0; i < COUNT(counters); i++)
		look_at_counter(counters[i]);
	for (i = 0; i < COUNT(sizes); i++)
		look_at_size(sizes[i], on);
	return on;
}

/* Store to an entry of our own what is in it. */
static bool provoke(void)
{
	static char page[1 << 16];
	struct slot slot;

	page[0] = 1;
	if (kwalk((uint64_t)page, LEVEL_PTE, 0, &slot))
		return false;
	kwrite64(slot.slot, slot.value);
	return true;
}

static unsigned long violations(void)
{
	char text[64];

	if (file_read(SYSFS "violations", text, sizeof(text)) <= 0)
		return 0;
	return strtoul(text, NULL, 10);
}

static void see_one(void)
{
	unsigned long before = violations(), now;

	if (!provoke()) {
		result_fail("one violation", "no entry to store to");
		return;
	}
	now = violations();
	if (now == before + 1)
		result_ok("one violation");
	else
		result_fail("one violation", "%lu before, and %lu now", before, now);
}

/* How many of the kernel's log, from here on, tell of an access. */
static int printed_since(int kmsg)
{
	char record[8192];
	int printed = 0;
	ssize_t n;

	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		printed += !!strstr(record, "kpkeys: violation: write to");
	}
	return printed;
}

static void flood(int nr, int most)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	time_t started = time(NULL);
	int i, printed, intervals;

	lseek(kmsg, 0, SEEK_END);
	for (i = 0; i < nr && provoke(); i++)
		;
	intervals = (time(NULL) - started) / INTERVAL + 1;
	printed = printed_since(kmsg);
	close(kmsg);
	result_comment("%d violations, %d printed in %d intervals", i, printed, intervals);
	if (i == nr && printed >= most && printed <= most * intervals)
		result_ok("as many reports as wanted");
	else
		result_fail("as many reports as wanted", "%d of %d printed, at most %d", printed,
			    i, most * intervals);
}

static void see_panic(void)
{
	result_ok("about to store");
	provoke();
	result_fail("panic", "the kernel goes on");
}

static void change(const char *symbol)
{
	uint64_t address = ksymbol(symbol);
	unsigned char before, after;

	if (!address || kread(address, &before, 1)) {
		result_fail(symbol, "no such symbol");
		return;
	}
	after = before ^ 1;
	kwrite(address, &after, 1);
	if (!kread(address, &after, 1) && after == before)
		result_ok(symbol);
	else
		result_fail(symbol, "%u before, and %u now", before, after);
}

/* By their names in report.c. */
static void change_parameters(void)
{
	change("panics");
	change("most_printed");
}

int main(int argc, char **argv)
{
	results_begin();
	if (corrupt_open())
		result_fail("attack component", "not in this kernel");
	if (argc == 4 && !strcmp(argv[1], "flood"))
		flood(atoi(argv[2]), atoi(argv[3]));
	else if (argc == 2 && !strcmp(argv[1], "panic"))
		see_panic();
	else if (argc == 2 && !strcmp(argv[1], "parameters"))
		change_parameters();
	else if (look_at_files())
		see_one();
	return results_end();
}
