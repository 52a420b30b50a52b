// SPDX-License-Identifier: GPL-2.0-only
#include "answer.h"
#include "corrupt.h"

#define ANSWER	0x600d

#ifdef __x86_64__
/* endbr64; mov $0x600d,%eax; ret */
const unsigned char answer_code[ANSWER_SIZE] = {
	0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x0d, 0x60, 0x00, 0x00, 0xc3,
};
#else
/* bti c; mov x0,#0x600d; ret */
const unsigned char answer_code[ANSWER_SIZE] = {
	0x5f, 0x24, 0x03, 0xd5, 0xa0, 0x01, 0x8c, 0xd2, 0xc0, 0x03, 0x5f, 0xd6,
};
#endif

int call_answer(uint64_t addr, uint64_t *value)
{
	int err = corrupt_command("call addr=0x%lx", addr);

	*value = corrupt_answer("value");
	return err;
}

bool is_answer(int err, uint64_t value)
{
	return !err && value == ANSWER;
}
