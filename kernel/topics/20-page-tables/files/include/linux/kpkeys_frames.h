/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each page frame is. Entries are checked against this before they are
 * written: a pointer to a struct page, a page-cache slot or a free list is
 * ordinary data, and so is no reason to map a page table for somebody.
 */
#ifndef _LINUX_KPKEYS_FRAMES_H
#define _LINUX_KPKEYS_FRAMES_H

#include <linux/kpkeys.h>

/**
 * enum kpkeys_frame - what a page frame is
 * @KPKEYS_FRAME_STATE: state of the protection; zero, so that who has its byte cleared
 *	may not map it
 * @KPKEYS_FRAME_TABLE: a page table, or a page of the pool
 * @KPKEYS_FRAME_ORDINARY: anybody may map it
 * @KPKEYS_FRAME_SECRET: hidden memory
 * @KPKEYS_FRAME_READONLY: text or read-only data of the kernel
 * @KPKEYS_FRAME_MODULE: of a module, or compiled code, until that is released; see
 *	KPKEYS_FRAME_COMING
 * @KPKEYS_FRAME_LEAVING: the same, when nothing should map it any more
 * @KPKEYS_FRAME_KERNEL_TABLE: a page table by which the kernel finds its memory
 */
enum kpkeys_frame {
	KPKEYS_FRAME_STATE,
	KPKEYS_FRAME_TABLE,
	KPKEYS_FRAME_ORDINARY,
	KPKEYS_FRAME_SECRET,
	KPKEYS_FRAME_READONLY,
	KPKEYS_FRAME_MODULE,
	KPKEYS_FRAME_LEAVING,
	KPKEYS_FRAME_KERNEL_TABLE,
};

/**
 * enum kpkeys_link - how a page table is linked
 * @KPKEYS_LINK_NONE: not at all
 * @KPKEYS_LINK_CLAIMED: not yet, but somebody fills it, for one link; or it is a new
 *	root that the kernel's half was copied to, or waits to be the kernel's
 * @KPKEYS_LINK_ONE: one entry leads to it, or CPUs begin there
 * @KPKEYS_LINK_SHARED: a table of the kernel that several entries may lead to
 */
enum kpkeys_link {
	KPKEYS_LINK_NONE,
	KPKEYS_LINK_CLAIMED,
	KPKEYS_LINK_ONE,
	KPKEYS_LINK_SHARED,
};

/* Not the middle of one, of which another one would change. */
static __always_inline bool kpkeys_is_whole_entry(const void *entry)
{
	return !((unsigned long)entry % sizeof(u64));
}

/* May it be mapped read-only by anybody? */
static __always_inline bool kpkeys_frame_is_constant(enum kpkeys_frame frame)
{
	return frame == KPKEYS_FRAME_READONLY || frame == KPKEYS_FRAME_MODULE;
}

static __always_inline bool kpkeys_frame_is_table(enum kpkeys_frame frame)
{
	return frame == KPKEYS_FRAME_TABLE || frame == KPKEYS_FRAME_KERNEL_TABLE;
}

#ifdef KPKEYS_BUILT_IN

/*
 * A page of the table has a byte for each frame: what it is, and of a table
 * its level and its links. A page of the pool that holds no table has no level;
 * if it is shared as well it never holds one.
 */
#define KPKEYS_FRAMES_PER_PAGE	PAGE_SIZE
#define KPKEYS_FRAME_KIND	0x07
#define KPKEYS_FRAME_LEVEL	0x38
#define KPKEYS_FRAME_LINK	0xc0

#define KPKEYS_TABLE(level, link)					\
	(KPKEYS_FRAME_TABLE | (level) << 3 | (link) << 6)
#define KPKEYS_KERNEL_TABLE(level, link)				\
	(KPKEYS_FRAME_KERNEL_TABLE | (level) << 3 | (link) << 6)

/* Of a module, and nobody can write it; but who could before is still looked for. */
#define KPKEYS_FRAME_COMING	(KPKEYS_FRAME_MODULE | KPKEYS_LINK_CLAIMED << 6)

/**
 * struct kpkeys_frames - the table of frames; read-only after init
 * @page: its pages, in keyed memory as the pages are; one of ordinary frames for holes
 * @nr: how many there may be
 */
struct kpkeys_frames {
	u8		**page;
	unsigned long	nr;
};

extern struct kpkeys_frames kpkeys_frames;

static __always_inline u8 kpkeys_frame_byte(unsigned long pfn)
{
	unsigned long index = pfn / KPKEYS_FRAMES_PER_PAGE;

	if (unlikely(index >= kpkeys_frames.nr))
		return KPKEYS_FRAME_ORDINARY;
	return READ_ONCE(kpkeys_frames.page[index][pfn % KPKEYS_FRAMES_PER_PAGE]);
}

/**
 * kpkeys_frame - look a page frame up
 * @pfn: any number
 *
 * Return: what it is; ordinary where there is no memory.
 */
static __always_inline enum kpkeys_frame kpkeys_frame(unsigned long pfn)
{
	return kpkeys_frame_byte(pfn) & KPKEYS_FRAME_KIND;
}

/* May the kernel run it, or believe it as its own data that cannot be written? */
static __always_inline bool kpkeys_frame_is_text(unsigned long pfn)
{
	u8 frame = kpkeys_frame_byte(pfn);

	return frame == KPKEYS_FRAME_READONLY || frame == KPKEYS_FRAME_MODULE;
}

/**
 * kpkeys_frame_of_key - what a page with a key is
 * @pkey: KPKEYS_PKEY_*, or any number that an entry has there
 *
 * A key that stops nobody makes nothing of it.
 */
static __always_inline enum kpkeys_frame kpkeys_frame_of_key(int pkey)
{
	if (pkey == KPKEYS_PKEY_PGTABLES)
		return KPKEYS_FRAME_TABLE;
	if (arch_kpkeys_denies_read(pkey))
		return KPKEYS_FRAME_SECRET;
	return arch_kpkeys_denies_write(pkey) ? KPKEYS_FRAME_STATE :
						KPKEYS_FRAME_ORDINARY;
}

static __always_inline bool kpkeys_frame_has_key(enum kpkeys_frame frame, int pkey)
{
	if (frame == KPKEYS_FRAME_KERNEL_TABLE)
		frame = KPKEYS_FRAME_TABLE;
	return kpkeys_frame_of_key(pkey) == frame;
}

void kpkeys_frames_readonly(void *start, void *end);
void kpkeys_pages_readonly(void *addr, unsigned int nr);
void kpkeys_frames_table(void *page);
void kpkeys_firmware_text(phys_addr_t phys, unsigned long size);

/* Returns whether an entry must not be written. */
bool kpkeys_refuse_leaf(const void *entry, u64 value, unsigned long pfn,
			unsigned long nr);

/* links.c */
unsigned long kpkeys_entry_pfn(const void *entry);
int kpkeys_table_level(unsigned long pfn);
enum kpkeys_link kpkeys_table_links(unsigned long pfn);
bool kpkeys_is_shadow(const u64 *entry);
bool kpkeys_set_entry(void *entry, u64 value, unsigned int level);
u64 kpkeys_exchange_entry(void *entry, u64 value, unsigned int level);
void kpkeys_share_table(unsigned long pfn);
void kpkeys_begin_table(const void *table, unsigned int level);

/* slots.c */
bool kpkeys_exchange_leaf(void *entry, u64 value, u64 *old);

#else

static __always_inline enum kpkeys_frame kpkeys_frame(unsigned long pfn)
{
	return KPKEYS_FRAME_ORDINARY;
}

/* For kpkeys_is_pte_slot(), where nothing is looked up. */
#define KPKEYS_FRAME_LINK	0
#define KPKEYS_TABLE(level, link)	0
#define KPKEYS_KERNEL_TABLE(level, link)	0
static __always_inline u8 kpkeys_frame_byte(unsigned long pfn) { return 0; }

static inline void kpkeys_frames_readonly(void *start, void *end) { }
static inline void kpkeys_pages_readonly(void *addr, unsigned int nr) { }
static inline void kpkeys_frames_table(void *page) { }
static inline void kpkeys_firmware_text(phys_addr_t phys, unsigned long size) { }
static inline void kpkeys_begin_table(const void *table, unsigned int level) { }

#endif /* KPKEYS_BUILT_IN */

/* What takes the place of a table that must not be filled. */
extern void *kpkeys_no_table;

#endif /* _LINUX_KPKEYS_FRAMES_H */
