// SPDX-License-Identifier: MIT
/*
 * The engine: one area, filled from its start; when it is full it grows, and
 * when it cannot, all code is dropped. The code is written where it will run, in
 * one scope for each function.
 *
 * The code keeps x in a register of its own, the top of the stack in another
 * and the rest on the stack of the machine.
 */
#include <errno.h>
#include <string.h>

#include "calc.h"

#define MOST_BYTES	24	/* of code for one operation */

struct writer {
	unsigned char *next;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
	memcpy(writer->next, bytes, size);
	writer->next += size;
}

#if defined(__x86_64__)
/* x: rdi; top: rax; scratch: rcx */
#define BYTES(writer, ...)							\
	put(writer, (const unsigned char[]){ __VA_ARGS__ },			\
	    sizeof((const unsigned char[]){ __VA_ARGS__ }))

static void put_value(struct writer *writer, const struct op *op)
{
	BYTES(writer, 0x50);				/* push rax */
	if (op->kind == OP_X) {
		BYTES(writer, 0x48, 0x89, 0xf8);	/* mov rax, rdi */
	} else {
		BYTES(writer, 0x48, 0xb8);		/* mov rax, number */
		put(writer, &op->number, sizeof(op->number));
	}
}

static void put_operator(struct writer *writer, enum op_kind kind)
{
	if (kind == OP_NEGATE) {
		BYTES(writer, 0x48, 0xf7, 0xd8);	/* neg rax */
		return;
	}
	BYTES(writer, 0x48, 0x89, 0xc1, 0x58);		/* mov rcx, rax; pop rax */
	if (kind == OP_ADD)
		BYTES(writer, 0x48, 0x01, 0xc8);	/* add rax, rcx */
	else if (kind == OP_SUBTRACT)
		BYTES(writer, 0x48, 0x29, 0xc8);	/* sub rax, rcx */
	else
		BYTES(writer, 0x48, 0x0f, 0xaf, 0xc1);	/* imul rax, rcx */
}

static void put_begin(struct writer *writer)
{
	(void)writer;
}

/* The first value pushed what was in rax before. */
static void put_end(struct writer *writer)
{
	BYTES(writer, 0x59, 0xc3);			/* pop rcx; ret */
}

#elif defined(__aarch64__)
/* x: x9; top: x0; scratch: x1 */
static void put_word(struct writer *writer, uint32_t word)
{
	put(writer, &word, sizeof(word));
}

static void put_number(struct writer *writer, uint64_t number)
{
	uint32_t part;

	put_word(writer, 0xd2800000 | (uint32_t)(number & 0xffff) << 5);	/* movz x0 */
	for (part = 1; part < 4; part++)					/* movk x0 */
		put_word(writer, 0xf2800000 | part << 21 |
			 (uint32_t)(number >> (16 * part) & 0xffff) << 5);
}

static void put_value(struct writer *writer, const struct op *op)
{
	put_word(writer, 0xf81f0fe0);			/* str x0, [sp, #-16]! */
	if (op->kind == OP_X)
		put_word(writer, 0xaa0903e0);		/* mov x0, x9 */
	else
		put_number(writer, op->number);
}

static void put_operator(struct writer *writer, enum op_kind kind)
{
	if (kind == OP_NEGATE) {
		put_word(writer, 0xcb0003e0);		/* neg x0, x0 */
		return;
	}
	put_word(writer, 0xf84107e1);			/* ldr x1, [sp], #16 */
	if (kind == OP_ADD)
		put_word(writer, 0x8b000020);		/* add x0, x1, x0 */
	else if (kind == OP_SUBTRACT)
		put_word(writer, 0xcb000020);		/* sub x0, x1, x0 */
	else
		put_word(writer, 0x9b007c20);		/* mul x0, x1, x0 */
}

static void put_begin(struct writer *writer)
{
	put_word(writer, 0xaa0003e9);			/* mov x9, x0 */
}

static void put_end(struct writer *writer)
{
	put_word(writer, 0xf84107e1);			/* ldr x1, [sp], #16 */
	put_word(writer, 0xd65f03c0);			/* ret */
}
#else
#error "this example generates code for x86-64 and arm64"
#endif

static size_t most_bytes(const struct program *program)
{
	return (program->count + 2) * MOST_BYTES;
}

/* Room from engine->used on: grows, or starts again from the beginning. */
static int make_room(struct engine *engine, size_t bytes)
{
	size_t size = jitgate_area_size(engine->area);
	size_t reserve = jitgate_area_reserve(engine->area);

	if (bytes > reserve)
		return -ENOSPC;
	if (engine->used + bytes <= size)
		return 0;
	if (engine->used + bytes <= reserve)
		return jitgate_area_grow(engine->area, engine->used + bytes);
	engine->used = 0;
	engine->generation++;
	return 0;
}

static size_t write_code(unsigned char *start, const struct program *program)
{
	struct writer writer = { .next = start };
	size_t i;

	put_begin(&writer);
	for (i = 0; i < program->count; i++) {
		const struct op *op = &program->ops[i];

		if (op->kind == OP_NUMBER || op->kind == OP_X)
			put_value(&writer, op);
		else
			put_operator(&writer, op->kind);
	}
	put_end(&writer);
	return writer.next - start;
}

int engine_compile(struct engine *engine, const struct program *program, function_t **function)
{
	unsigned char *start;
	size_t bytes;
	int state;
	int error = make_room(engine, most_bytes(program));

	if (error)
		return error;
	start = (unsigned char *)jitgate_area_start(engine->area) + engine->used;
	state = jitgate_open(engine->area);
	if (state < 0)
		return state;
	bytes = write_code(start, program);
	error = jitgate_close(engine->area, state);
	if (error)
		return error;
	/* Another thread may have run what was here before. */
	jitgate_publish(start, bytes, engine->generation ? JITGATE_ALL_THREADS : 0);
	engine->used += (bytes + 15) & ~(size_t)15;
	*function = (function_t *)(uintptr_t)start;
	return 0;
}

int engine_start(struct engine *engine, size_t size, size_t reserve)
{
	struct jitgate_request request = {
		.size = size,
		.reserve = reserve,
		.flags = JITGATE_SHARED_RUN,
	};

	*engine = (struct engine){ .used = 0 };
	return jitgate_area_new(&engine->area, &request);
}

void engine_stop(struct engine *engine)
{
	jitgate_area_free(engine->area);
	engine->area = NULL;
}
