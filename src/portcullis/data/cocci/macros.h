/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros of Linux 6.12 and of Portcullis that Coccinelle cannot parse without
 * being told, for it does not read headers. They come behind its own. Only
 * shape matters: attributes vanish, and macros that stand for strings, loops or
 * declarations become such.
 */
#define scoped_guard(...)		YACFE_ITERATOR
#define for_each_possible_cpu(...)	YACFE_ITERATOR

#define __flatten
#define noinstr
#define __ro_after_init
#define __latent_entropy
#define __annotate_jump_table
#define __alias(name)
#define __section(name)
#define __cleanup(name)

#define DECLARE_BITMAP(name, bits)	unsigned long name[bits]
#define MMAP_LOCK_INITIALIZER(name)

#define ANNOTATE_IGNORE_ALTERNATIVE	""
#define ALTERNATIVE(...)		""
#define ALTERNATIVE_2(...)		""
#define ALTERNATIVE_3(...)		""
#define _ASM_EXTABLE(...)		""
#define _ASM_EXTABLE_TYPE(...)		""
#define _ASM_EXTABLE_TYPE_REG(...)	""
#define _ASM_EXTABLE_UA(...)		""
#define SET_PSTATE_PAN(value)		""
#define __HYPERCALL			""
#define __mrs_s(...)			""
#define __msr_s(...)			""
#define __stringify(...)		""
