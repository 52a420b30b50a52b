// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab [size=MIB] [rounds=N] [times=N] NAME...: benchmarks, whose regions the
 * emulator's plugin counts. "lab list" prints their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kpkeys.h"
#include "load.h"
#include "results.h"
#include "steady.h"

static const struct load * const lists[] = { memory_loads, kernel_loads, call_loads, compile_loads,
					   lmbench_loads, user_loads };

#define LISTS	(sizeof(lists) / sizeof(lists[0]))

/* The next benchmark after one, the first for NULL; NULL when there is none. */
static const struct load *next_load(const struct load *load, size_t *list)
{
	load = load ? load + 1 : lists[*list = 0];
	while (!load->name) {
		if (++*list == LISTS)
			return NULL;
		load = lists[*list];
	}
	return load;
}

static const struct load *find_load(const char *name)
{
	const struct load *load = NULL;
	size_t list;

	while ((load = next_load(load, &list)))
		if (!strcmp(load->name, name))
			break;
	return load;
}

static int print_list(void)
{
	const struct load *load = NULL;
	size_t list;

	while ((load = next_load(load, &list)))
		printf("%s\n", load->name);
	return 0;
}

static bool take_option(const char *word, struct load_options *options)
{
	char *end, *value = strchr(word, '=');
	long number = value ? strtol(value + 1, &end, 10) : 0;

	if (!value)
		return false;
	if (number <= 0 || *end)
		result_fail("options", "%s is not a number above zero", word);
	else if (!strncmp(word, "size=", 5))
		options->size = number << 20;
	else if (!strncmp(word, "rounds=", 7))
		options->rounds = number;
	else if (!strncmp(word, "times=", 6))
		options->times = number;
	else
		result_fail("options", "%s is not known", word);
	return true;
}

static void run(const char *name, const struct load_options *options)
{
	const struct load *load = find_load(name);

	if (load)
		load_run(load, options);
	else
		result_fail(name, "there is no such benchmark");
}

static void check_tables(void)
{
	char reason[512];

	if (kpkeys_check(reason, sizeof(reason)))
		result_ok("checker");
	else
		result_fail("checker", "%s", reason);
}

int main(int argc, char **argv)
{
	struct load_options options = { .size = 128UL << 20, .rounds = 3 };
	int i;

	if (argc == 2 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "list"))
		return print_list();

	fix_layout(argv);
	results_begin();
	stay_ahead_on_one_cpu();
	load_begin();
	for (i = 1; i < argc; i++)
		if (!take_option(argv[i], &options))
			run(argv[i], &options);
	check_tables();
	return results_end();
}
