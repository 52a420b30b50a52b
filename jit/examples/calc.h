/* SPDX-License-Identifier: MIT */
/* Expressions of one variable: parsed, interpreted, compiled. */
#ifndef CALC_H
#define CALC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jitgate.h"

#define MOST_OPS	256

/* Operations of a stack machine. */
enum op_kind { OP_NUMBER, OP_X, OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_NEGATE };

struct op {
	enum op_kind kind;
	int64_t number;
};

struct program {
	struct op ops[MOST_OPS];
	size_t count;
	const char *error;	/* NULL when it is good */
	size_t error_at;
};

/* parse.c */
bool parse(struct program *program, const char *text);
int64_t interpret(const struct program *program, int64_t x);

/* engine.c */
typedef int64_t function_t(int64_t x);

struct engine {
	struct jitgate_area *area;
	size_t used;
	unsigned int generation;	/* how often all code was dropped */
};

/* All return a negative errno of jitgate when they fail. */
int engine_start(struct engine *engine, size_t size, size_t reserve);
int engine_compile(struct engine *engine, const struct program *program, function_t **function);
void engine_stop(struct engine *engine);

#endif
