// SPDX-License-Identifier: MIT
/* From text to operations of a stack machine, and the machine that says what is right. */
#include <ctype.h>
#include <stdlib.h>

#include "calc.h"

struct parser {
	struct program *program;
	const char *text;
	size_t at;
	int depth;
};

#define DEEPEST	64

static void sum(struct parser *parser);

static void complain(struct parser *parser, const char *what)
{
	if (parser->program->error)
		return;
	parser->program->error = what;
	parser->program->error_at = parser->at + 1;
}

static void add(struct parser *parser, enum op_kind kind, int64_t number)
{
	struct program *program = parser->program;

	if (program->count == MOST_OPS)
		complain(parser, "this is too long");
	else
		program->ops[program->count++] = (struct op){ kind, number };
}

static char peek(struct parser *parser)
{
	while (isspace((unsigned char)parser->text[parser->at]))
		parser->at++;
	return parser->program->error ? '\0' : parser->text[parser->at];
}

static bool accept(struct parser *parser, char letter)
{
	if (peek(parser) != letter)
		return false;
	parser->at++;
	return true;
}

static void number(struct parser *parser)
{
	char *end;

	add(parser, OP_NUMBER, strtoll(parser->text + parser->at, &end, 10));
	parser->at = end - parser->text;
}

static void factor(struct parser *parser)
{
	if (parser->depth++ > DEEPEST)
		complain(parser, "this is too deep");
	if (isdigit((unsigned char)peek(parser))) {
		number(parser);
	} else if (accept(parser, 'x')) {
		add(parser, OP_X, 0);
	} else if (accept(parser, '-')) {
		factor(parser);
		add(parser, OP_NEGATE, 0);
	} else if (accept(parser, '(')) {
		sum(parser);
		if (!accept(parser, ')'))
			complain(parser, "a number, x or an operator and ) are missing");
	} else {
		complain(parser, "a number, x or ( is missing");
	}
	parser->depth--;
}

static void product(struct parser *parser)
{
	factor(parser);
	while (accept(parser, '*')) {
		factor(parser);
		add(parser, OP_MULTIPLY, 0);
	}
}

static void sum(struct parser *parser)
{
	product(parser);
	while (peek(parser) == '+' || peek(parser) == '-') {
		enum op_kind kind = parser->text[parser->at++] == '+' ? OP_ADD : OP_SUBTRACT;

		product(parser);
		add(parser, kind, 0);
	}
}

bool parse(struct program *program, const char *text)
{
	struct parser parser = { .program = program, .text = text };

	program->count = 0;
	program->error = NULL;
	sum(&parser);
	if (peek(&parser))
		complain(&parser, "an operator is missing");
	return !program->error;
}

/* Unsigned, because that may overflow. */
static uint64_t combine(enum op_kind kind, uint64_t a, uint64_t b)
{
	if (kind == OP_ADD)
		return a + b;
	return kind == OP_SUBTRACT ? a - b : a * b;
}

int64_t interpret(const struct program *program, int64_t x)
{
	uint64_t stack[MOST_OPS];
	size_t i, top = 0;

	for (i = 0; i < program->count; i++) {
		const struct op *op = &program->ops[i];

		if (op->kind == OP_NUMBER || op->kind == OP_X) {
			stack[top++] = op->kind == OP_X ? x : op->number;
		} else if (op->kind == OP_NEGATE) {
			stack[top - 1] = -stack[top - 1];
		} else {
			top--;
			stack[top - 1] = combine(op->kind, stack[top - 1], stack[top]);
		}
	}
	return stack[0];
}
