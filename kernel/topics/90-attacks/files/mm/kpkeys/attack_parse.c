// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attack component: text of a command to struct attack_request.
 */
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "attack.h"

static const char * const attack_contexts[] = {
	[ATTACK_TASK]		= "task",
	[ATTACK_SOFTIRQ]	= "softirq",
	[ATTACK_HARDIRQ]	= "hardirq",
	[ATTACK_KTHREAD]	= "kthread",
	[ATTACK_OTHER_OPEN]	= "other-open",
	[ATTACK_SECTION]	= "section",
	[ATTACK_CR0]		= "cr0",
};

static const char * const attack_forms[] = {
	[ATTACK_PLAIN]		= "plain",
	[ATTACK_MEMCPY]		= "memcpy",
	[ATTACK_CMPXCHG]	= "cmpxchg",
	[ATTACK_NOFAULT]	= "nofault",
};

static int parse_context(struct attack_request *request, const char *value)
{
	int i = match_string(attack_contexts, ARRAY_SIZE(attack_contexts), value);

	if (i < 0)
		return i;
	request->context = i;
	return 0;
}

static int parse_form(struct attack_request *request, const char *value)
{
	int i = match_string(attack_forms, ARRAY_SIZE(attack_forms), value);

	if (i < 0)
		return i;
	request->store.form = i;
	return 0;
}

static int parse_fault(struct attack_request *request, const char *value)
{
	request->store.may_oops = !strcmp(value, "oops");
	return 0;
}

static int parse_addr(struct attack_request *request, const char *value)
{
	return kstrtoul(value, 16, &request->store.addr);
}

static int parse_to(struct attack_request *request, const char *value)
{
	return kstrtoul(value, 16, &request->to);
}

static int parse_data(struct attack_request *request, const char *value)
{
	size_t len = strlen(value) / 2;

	if (!len || len > ATTACK_MAX_STORE)
		return -EINVAL;
	request->store.len = len;
	return hex2bin(request->store.data, value, len);
}

static int parse_cpu(struct attack_request *request, const char *value)
{
	return kstrtoint(value, 10, &request->cpu);
}

static int parse_pid(struct attack_request *request, const char *value)
{
	return kstrtoint(value, 10, &request->pid);
}

static int parse_level(struct attack_request *request, const char *value)
{
	return kstrtouint(value, 10, &request->level);
}

static int parse_order(struct attack_request *request, const char *value)
{
	return kstrtouint(value, 10, &request->order);
}

static int parse_count(struct attack_request *request, const char *value)
{
	return kstrtouint(value, 10, &request->count);
}

static int parse_half(struct attack_request *request, const char *value)
{
	request->user_half = !strcmp(value, "user");
	return 0;
}

static int parse_section(struct attack_request *request, const char *value)
{
	return kstrtobool(value, &request->section);
}

static int parse_spin(struct attack_request *request, const char *value)
{
	return kstrtobool(value, &request->spin);
}

static int parse_holes(struct attack_request *request, const char *value)
{
	return kstrtobool(value, &request->holes);
}

static int parse_name(struct attack_request *request, const char *value)
{
	return strscpy(request->name, value) < 0 ? -EINVAL : 0;
}

static const struct {
	const char *key;
	int (*parse)(struct attack_request *request, const char *value);
} attack_keys[] = {
	{ "ctx", parse_context },
	{ "form", parse_form },
	{ "fault", parse_fault },
	{ "addr", parse_addr },
	{ "to", parse_to },
	{ "data", parse_data },
	{ "cpu", parse_cpu },
	{ "pid", parse_pid },
	{ "level", parse_level },
	{ "order", parse_order },
	{ "count", parse_count },
	{ "half", parse_half },
	{ "section", parse_section },
	{ "spin", parse_spin },
	{ "holes", parse_holes },
	{ "name", parse_name },
};

static int parse_word(struct attack_request *request, char *word)
{
	char *key = strsep(&word, "=");
	int i;

	if (!word)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(attack_keys); i++) {
		if (!strcmp(key, attack_keys[i].key))
			return attack_keys[i].parse(request, word);
	}
	return -EINVAL;
}

/**
 * attack_parse() - parse the arguments of a command
 * @text: words of the form key=value; modified
 * @request: result, zeroed by the caller
 *
 * Return: 0, or -EINVAL for an unknown key or a bad value.
 */
int attack_parse(char *text, struct attack_request *request)
{
	char *word;
	int err;

	request->cpu = -1;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		err = parse_word(request, word);
		if (err)
			return err;
	}
	return 0;
}
