// SPDX-License-Identifier: MIT
/* Coroutines: a switch changes the stack and not the rights. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

#include "tests.h"

#define STACK	65536

static ucontext_t main_context, generator;
static struct jitgate_area *area;

static void leave(void)
{
	int state = jitgate_suspend(area);

	CHECK(state >= 0);
	swapcontext(&generator, &main_context);
	CHECK_EQUAL(jitgate_resume(area, state), 0);
}

static void generate(void)
{
	int i, outer, inner;

	for (i = 0; i < 3; i++) {
		leave();
		CHECK(!can_write(area));
		outer = jitgate_open(area);
		inner = jitgate_open(area);
		leave();
		CHECK(can_write(area));
		jitgate_close(area, inner);
		CHECK(can_write(area));
		jitgate_close(area, outer);
	}
}

static char *start_generator(void)
{
	char *stack = malloc(STACK);

	getcontext(&generator);
	generator.uc_stack.ss_sp = stack;
	generator.uc_stack.ss_size = STACK;
	generator.uc_link = &main_context;
	makecontext(&generator, generate, 0);
	return stack;
}

void coroutines(void)
{
	char *stack;
	int i;

	begin();
	area = make_area(4096);
	stack = start_generator();
	for (i = 0; i < 7; i++) {
		swapcontext(&main_context, &generator);
		CHECK(!can_write(area));
	}
	free(stack);
}

static void *resume_elsewhere(void *state)
{
	jitgate_attach();
	CHECK_EQUAL(jitgate_resume(area, *(int *)state), 0);
	CHECK(can_write(area));
	CHECK_EQUAL(jitgate_close(area, 0), 0);
	CHECK(!can_write(area));
	return NULL;
}

void coroutine_moves(void)
{
	pthread_t thread;
	int state;

	begin();
	area = make_area(4096);
	jitgate_open(area);
	state = jitgate_suspend(area);
	CHECK(state > 0);
	CHECK(!can_write(area));
	pthread_create(&thread, NULL, resume_elsewhere, &state);
	pthread_join(thread, NULL);
	CHECK(!can_write(area));
}
