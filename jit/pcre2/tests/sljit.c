// SPDX-License-Identifier: MIT
/*
 * What sljit can do and PCRE2 does not: code that is patched after it was made. A
 * copy of sljit is built for it, with the allocator of the library that is tested.
 */
#define _GNU_SOURCE
#include <string.h>

#define SLJIT_CONFIG_AUTO 1
#define SLJIT_CONFIG_STATIC 1
#define SLJIT_VERBOSE 0
#define SLJIT_DEBUG 0
#include "sljitLir.c"

#undef CHECK
#include "tests.h"

#ifdef SLJIT_NEW_CALLS
#define CREATE()		sljit_create_compiler(NULL)
#define GENERATE(compiler)	sljit_generate_code((compiler), 0, NULL)
#define ENTER(compiler)		sljit_emit_enter((compiler), 0, SLJIT_ARGS0(W), 2, 0, 0)
#else
#define CREATE()		sljit_create_compiler(NULL, NULL)
#define GENERATE(compiler)	sljit_generate_code(compiler)
#define ENTER(compiler)		sljit_emit_enter((compiler), 0, SLJIT_ARGS0(W), 2, 0, 0, 0, 0)
#endif

#ifndef SLJIT_ENTER_CODE
#define SLJIT_ENTER_CODE()
#endif

#define ROUNDS	50

typedef sljit_sw (SLJIT_FUNC *function)(void);

static sljit_sw call(void *code)
{
	union {
		void *code;
		function function;
	} convert = { code };

	SLJIT_ENTER_CODE();
	return convert.function();
}

static void emit_return(struct sljit_compiler *compiler, sljit_sw value)
{
	sljit_emit_return(compiler, SLJIT_MOV, SLJIT_IMM, value);
}

void patched_constant(void)
{
	struct sljit_compiler *compiler = CREATE();
	struct sljit_const *constant;
	sljit_sw offset, i;
	sljit_uw at;
	void *code;

	CHECK(compiler);
	ENTER(compiler);
	constant = sljit_emit_const(compiler, SLJIT_R0, 0, 7);
	sljit_emit_return(compiler, SLJIT_MOV, SLJIT_R0, 0);
	code = GENERATE(compiler);
	CHECK(code);
	at = sljit_get_const_addr(constant);
	offset = sljit_get_executable_offset(compiler);
	sljit_free_compiler(compiler);
	CHECK_EQUAL(call(code), 7);
	for (i = 0; i < ROUNDS; i++) {
		sljit_set_const(at, i * 0x123456789, offset);
		CHECK_EQUAL(call(code), i * 0x123456789);
		work((int)i, 1);
	}
#ifdef USE_JITGATE
	CHECK(write_fault(code, jitgate_attach));
#endif
	sljit_free_code(code, NULL);
}

void patched_jump(void)
{
	struct sljit_compiler *compiler = CREATE();
	struct sljit_label *labels[2];
	struct sljit_jump *jump;
	sljit_sw offset;
	sljit_uw at, to[2];
	void *code;
	int i;

	CHECK(compiler);
	ENTER(compiler);
	jump = sljit_emit_jump(compiler, SLJIT_JUMP | SLJIT_REWRITABLE_JUMP);
	for (i = 0; i < 2; i++) {
		labels[i] = sljit_emit_label(compiler);
		emit_return(compiler, 100 + i);
	}
	sljit_set_label(jump, labels[0]);
	code = GENERATE(compiler);
	CHECK(code);
	at = sljit_get_jump_addr(jump);
	offset = sljit_get_executable_offset(compiler);
	for (i = 0; i < 2; i++)
		to[i] = sljit_get_label_addr(labels[i]);
	sljit_free_compiler(compiler);
	CHECK_EQUAL(call(code), 100);
	for (i = 1; i < ROUNDS; i++) {
		sljit_set_jump_addr(at, to[i % 2], offset);
		CHECK_EQUAL(call(code), 100 + i % 2);
		work(i, 1);
	}
	sljit_free_code(code, NULL);
}
