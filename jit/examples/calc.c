// SPDX-License-Identifier: MIT
/*
 * jitgate-calc EXPRESSION X...: compiles an expression and prints its values.
 * jitgate-calc --self-test N: N random ones, compared with the interpreter, while
 * another thread runs code of another area.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calc.h"

#define LONGEST	200

struct text {
	char letters[LONGEST + 64];
	size_t length;
};

static void add_text(struct text *text, const char *more)
{
	size_t length = strlen(more);

	memcpy(text->letters + text->length, more, length + 1);
	text->length += length;
}

static void random_expression(struct text *text, int depth)
{
	static const char *const operators[] = { " + ", " - ", " * " };
	char number[32];
	int choice = text->length > LONGEST / 2 || depth > 5 ? rand() % 2 : rand() % 6;

	if (choice == 0) {
		add_text(text, "x");
	} else if (choice == 1) {
		snprintf(number, sizeof(number), "%d", rand());
		add_text(text, number);
	} else if (choice == 2) {
		add_text(text, "-(");
		random_expression(text, depth + 1);
		add_text(text, ")");
	} else {
		add_text(text, "(");
		random_expression(text, depth + 1);
		add_text(text, operators[choice - 3]);
		random_expression(text, depth + 1);
		add_text(text, ")");
	}
}

static atomic_bool ended;

/* Of an engine of its own: the other one drops code. */
static void *keep_running(void *function)
{
	function_t *square = *(function_t **)function;
	int64_t x;

	for (x = 0; !atomic_load(&ended); x = (x + 1) % 1000)
		if (square(x) != x * x)
			return "wrong";
	return NULL;
}

static int compare(struct engine *engine)
{
	struct text text = { .length = 0 };
	struct program program;
	function_t *function;
	int64_t x = (int64_t)rand() * rand() - rand();
	int error;

	random_expression(&text, 0);
	if (!parse(&program, text.letters))
		return fprintf(stderr, "cannot parse %s: %s\n", text.letters, program.error);
	error = engine_compile(engine, &program, &function);
	if (error)
		return fprintf(stderr, "cannot compile: %s\n", strerror(-error));
	if (function(x) == interpret(&program, x))
		return 0;
	return fprintf(stderr, "%s is wrong for %" PRId64 "\n", text.letters, x);
}

static int compare_many(struct engine *engine, int rounds)
{
	int wrong = 0;

	for (; rounds && !wrong; rounds--)
		wrong = compare(engine);
	if (!wrong && jitgate_check(NULL, NULL))
		wrong = fprintf(stderr, "an area is not protected\n");
	return wrong ? 1 : 0;
}

static int self_test(int rounds)
{
	struct engine kept, dropped;
	struct program program;
	function_t *square;
	pthread_t thread;
	void *complaint;
	int wrong;

	if (engine_start(&kept, 4096, 0) || engine_start(&dropped, 4096, 16384))
		return 2;
	if (!parse(&program, "x * x") || engine_compile(&kept, &program, &square))
		return 2;
	pthread_create(&thread, NULL, keep_running, &square);
	wrong = compare_many(&dropped, rounds);
	atomic_store(&ended, true);
	pthread_join(thread, &complaint);
	printf("%d expressions, all code dropped %u times\n", rounds, dropped.generation);
	if (!dropped.generation)
		wrong = fprintf(stderr, "the area was never full\n");
	engine_stop(&kept);
	engine_stop(&dropped);
	return wrong || complaint ? 1 : 0;
}

static int print_values(const char *text, int count, char **values)
{
	struct engine engine;
	struct program program;
	function_t *function;
	int error, i;

	if (!parse(&program, text)) {
		fprintf(stderr, "column %zu: %s\n", program.error_at, program.error);
		return 1;
	}
	error = engine_start(&engine, 4096, 65536);
	if (!error)
		error = engine_compile(&engine, &program, &function);
	if (error) {
		fprintf(stderr, "no machine code: %s\n", strerror(-error));
		return 2;
	}
	for (i = 0; i < count; i++)
		printf("%" PRId64 "\n", function(strtoll(values[i], NULL, 10)));
	engine_stop(&engine);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: jitgate-calc EXPRESSION X... | --self-test N\n");
		return 2;
	}
	if (!strcmp(argv[1], "--self-test"))
		return self_test(atoi(argv[2]));
	return print_values(argv[1], argc - 2, argv + 2);
}
