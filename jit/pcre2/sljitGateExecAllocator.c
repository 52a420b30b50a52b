/* SPDX-License-Identifier: MIT */
/*
   An executable memory allocator on jitgate: memory is writable only for the
   thread that is writing it. It never comes from a shared mapping, so a child of
   fork() has a copy of its own.

   With a protection key pieces are cut from chunks, each of them an area, which
   is keyed once; afterwards neither allocating nor opening and closing take a
   system call. What the allocator knows of its pieces lies in the chunks, and is
   as well protected as the code.

   Without a key mprotect() has to open whole pages, for all threads, and nobody
   can run what is in them meanwhile. So every piece is an area of its own. Some that
   were freed are kept. The same holds where areas have two views: one where code is
   written, which is what sljit is given, and one where it runs, which sljit computes.

   Chunk: [ chunk header ][ block ][ block ] ... [ block ]
   All of it is a row of blocks, each behind a header that has its size.
*/

#include <jitgate.h>

/* 64 KByte. */
#define GATE_CHUNK_SIZE		((sljit_uw)0x10000)
#define GATE_ALIGN_TO(x, a)	(((x) + (a) - 1) & ~(sljit_uw)((a) - 1))
/* Sizes are multiples of it, which leaves the lowest bit for a flag. */
#define GATE_UNIT		((sljit_uw)64)
#define GATE_IN_USE		((sljit_uw)1)

struct gate_chunk {
	struct jitgate_area *area;
	struct gate_chunk *next;
	sljit_u8 *end;
	/* No free block is larger. */
	sljit_uw room;
};

struct gate_block {
	struct gate_chunk *chunk;
	/* With this header. */
	sljit_uw size;
};

#define GATE_HEADER	GATE_ALIGN_TO(sizeof(struct gate_chunk), GATE_UNIT)
/* Keeps what follows the header of a block aligned to 16 bytes. */
#define GATE_BLOCK	GATE_ALIGN_TO(sizeof(struct gate_block), (sljit_uw)16)

/* These pointers are all data of this allocator that is not protected: who forges one
   reaches another area of jitgate, and no other memory. The latter are without a key:
   to make an area anew takes twice the system calls of using it again. */
#define GATE_KEPT	8
static struct jitgate_area *gate_newest;
static struct jitgate_area *gate_kept[GATE_KEPT];

#define SLJIT_UPDATE_WX_FLAGS(from, to, enable_exec) \
	gate_update((from), (enable_exec))

/* Where there are two views, code runs that far from where it is written. */
#undef SLJIT_EXEC_OFFSET
#define SLJIT_EXEC_OFFSET(ptr) gate_exec_offset(ptr)

/* How to begin, if no one else in the process has. */
#ifndef SLJIT_GATE_USE
#define SLJIT_GATE_USE JITGATE_AUTO
#endif

/* A thread may be older than the key. */
#define SLJIT_ENTER_CODE() jitgate_enter()

static SLJIT_INLINE void gate_update(const void *from, sljit_s32 enable_exec)
{
	if (enable_exec)
		jitgate_close_at(from, 0);
	else
		jitgate_open_at(from);
}

static enum jitgate_backend gate_backend(void)
{
	struct jitgate_info info;

	jitgate_query(&info);
	return info.backend;
}

static int gate_has_key(void)
{
	return gate_backend() == JITGATE_PKEY;
}

static SLJIT_INLINE struct gate_block *gate_first_block(struct gate_chunk *chunk)
{
	return (struct gate_block *)((sljit_u8 *)chunk + GATE_HEADER);
}

static SLJIT_INLINE struct gate_block *gate_block_of(void *code)
{
	return (struct gate_block *)((sljit_u8 *)code - GATE_BLOCK);
}

static SLJIT_INLINE void *gate_code_of(struct gate_block *block)
{
	return (sljit_u8 *)block + GATE_BLOCK;
}

/* Of a piece that has it alone, in the view that the code is in. */
static struct jitgate_area *gate_own_area(void *code)
{
	struct gate_chunk *chunk = (struct gate_chunk *)((sljit_u8 *)gate_block_of(code) - GATE_HEADER);

	return chunk->area;
}

/* Newer versions ask before they look whether there is any. */
static sljit_sw gate_exec_offset(void *code)
{
	struct jitgate_area *area;

	if (!code || gate_backend() != JITGATE_TWO_VIEWS)
		return 0;
	area = gate_own_area(code);
	return (sljit_sw)((sljit_uw)jitgate_area_start(area) - (sljit_uw)jitgate_area_writable(area));
}

static struct gate_block *gate_next_block(struct gate_block *block)
{
	return (struct gate_block *)((sljit_u8 *)block + (block->size & ~GATE_IN_USE));
}

static int gate_is_in(struct gate_chunk *chunk, struct gate_block *block)
{
	return (sljit_u8 *)block < chunk->end;
}

/* The newest chunk, NULL without one, or if the pointer was forged. */
static struct gate_chunk *gate_chunks(void)
{
	struct gate_chunk *chunk = (struct gate_chunk *)jitgate_area_start(gate_newest);

	return chunk && chunk->area == gate_newest ? chunk : NULL;
}

/* Makes one block of all of an area, which is left open; NULL when it cannot be opened. */
static struct gate_chunk *gate_fill(struct jitgate_area *area)
{
	struct gate_chunk *chunk;
	struct gate_block *block;

	if (jitgate_open(area) < 0) {
		jitgate_area_free(area);
		return NULL;
	}
	chunk = (struct gate_chunk *)jitgate_area_writable(area);
	chunk->area = area;
	chunk->end = (sljit_u8 *)chunk + jitgate_area_size(area);
	chunk->room = (sljit_uw)(chunk->end - (sljit_u8 *)chunk) - GATE_HEADER;
	block = gate_first_block(chunk);
	block->chunk = chunk;
	block->size = chunk->room;
	return chunk;
}

/* A new area, left open; NULL without memory. */
static struct gate_chunk *gate_new_chunk(sljit_uw size)
{
	struct jitgate_request request = { 0 };
	struct jitgate_area *area;

	request.size = size;
	return jitgate_area_new(&area, &request) ? NULL : gate_fill(area);
}

/* Free blocks are put together here, and not when they are freed. */
static void gate_merge(struct gate_chunk *chunk, struct gate_block *block)
{
	struct gate_block *next = gate_next_block(block);

	while (gate_is_in(chunk, next) && !(next->size & GATE_IN_USE)) {
		block->size += next->size;
		next = gate_next_block(block);
	}
}

static struct gate_block *gate_find_in(struct gate_chunk *chunk, sljit_uw size)
{
	struct gate_block *block;
	sljit_uw room = 0;

	if (chunk->room < size)
		return NULL;
	for (block = gate_first_block(chunk); gate_is_in(chunk, block); block = gate_next_block(block)) {
		if (block->size & GATE_IN_USE)
			continue;
		gate_merge(chunk, block);
		if (block->size >= size)
			return block;
		if (block->size > room)
			room = block->size;
	}
	chunk->room = room;
	return NULL;
}

static struct gate_block *gate_find(sljit_uw size)
{
	struct gate_chunk *chunk;
	struct gate_block *block = NULL;

	for (chunk = gate_chunks(); chunk && !block; chunk = chunk->next)
		block = gate_find_in(chunk, size);
	return block;
}

/* Puts a new chunk in front of the others. */
static struct gate_block *gate_add_chunk(sljit_uw size)
{
	struct gate_chunk *chunk = gate_new_chunk(GATE_ALIGN_TO(GATE_HEADER + size, GATE_CHUNK_SIZE));

	if (!chunk)
		return NULL;
	chunk->next = gate_chunks();
	gate_newest = chunk->area;
	return gate_first_block(chunk);
}

static void gate_take(struct gate_block *block, sljit_uw size)
{
	struct gate_block *rest;

	if (block->size > size) {
		rest = (struct gate_block *)((sljit_u8 *)block + size);
		rest->chunk = block->chunk;
		rest->size = block->size - size;
	}
	block->size = size | GATE_IN_USE;
}

#if (defined SLJIT_SINGLE_THREADED && SLJIT_SINGLE_THREADED)
#define gate_watch_forks()
#else
/* The lock has to be free in a child. */
static void gate_before_fork(void)
{
	SLJIT_ALLOCATOR_LOCK();
}

static void gate_after_fork(void)
{
	SLJIT_ALLOCATOR_UNLOCK();
}

/* Under the lock. */
static void gate_watch_forks(void)
{
	static int watched;

	if (!watched)
		watched = !pthread_atfork(gate_before_fork, gate_after_fork, gate_after_fork);
}
#endif

static void *gate_malloc_keyed(sljit_uw size)
{
	struct gate_block *block;

	SLJIT_ALLOCATOR_LOCK();
	gate_watch_forks();
	jitgate_open_at(NULL);
	block = gate_find(size);
	if (!block)
		block = gate_add_chunk(size);
	if (block)
		gate_take(block, size);
	else
		jitgate_close_at(NULL, 0);
	SLJIT_ALLOCATOR_UNLOCK();
	return block ? gate_code_of(block) : NULL;
}

/* Where the smallest of the kept areas is that has room, negative for none. */
static int gate_best_kept(sljit_uw size)
{
	sljit_uw has, least = 0;
	int i, best = -1;

	for (i = 0; i < GATE_KEPT; i++) {
		has = jitgate_area_size(gate_kept[i]);
		if (has < size || (best >= 0 && has >= least))
			continue;
		least = has;
		best = i;
	}
	return best;
}

static struct jitgate_area *gate_reuse(sljit_uw size)
{
	struct jitgate_area *area = NULL;
	int best;

	SLJIT_ALLOCATOR_LOCK();
	gate_watch_forks();
	best = gate_best_kept(size);
	if (best >= 0) {
		area = gate_kept[best];
		gate_kept[best] = NULL;
	}
	SLJIT_ALLOCATOR_UNLOCK();
	return area;
}

/* Keeps an area that nobody uses any more; returns 0 when it is large, or there are enough. */
static int gate_keep(struct jitgate_area *area)
{
	int i;

	if (jitgate_area_size(area) > GATE_CHUNK_SIZE)
		return 0;
	SLJIT_ALLOCATOR_LOCK();
	for (i = 0; i < GATE_KEPT && gate_kept[i]; i++)
		;
	if (i < GATE_KEPT)
		gate_kept[i] = area;
	SLJIT_ALLOCATOR_UNLOCK();
	return i < GATE_KEPT;
}

static void gate_free_kept(void)
{
	int i;

	for (i = 0; i < GATE_KEPT; i++) {
		jitgate_area_free(gate_kept[i]);
		gate_kept[i] = NULL;
	}
}

static void *gate_malloc_alone(sljit_uw size)
{
	struct jitgate_area *area = gate_reuse(GATE_HEADER + size);
	struct gate_chunk *chunk = area ? gate_fill(area) : gate_new_chunk(GATE_HEADER + size);

	return chunk ? gate_code_of(gate_first_block(chunk)) : NULL;
}

/* What it returns is open, until sljit says that it shall be executable. */
SLJIT_API_FUNC_ATTRIBUTE void* sljit_malloc_exec(sljit_uw size)
{
	enum jitgate_backend backend = gate_backend();

	/* Not each time: it takes a lock, and with that system calls. */
	if (backend == JITGATE_NOTHING && !jitgate_init(SLJIT_GATE_USE))
		backend = gate_backend();
	size = GATE_ALIGN_TO(size + GATE_BLOCK, GATE_UNIT);
	if (backend == JITGATE_PKEY)
		return gate_malloc_keyed(size);
	/* Another engine may have asked for something that is not known here. */
	if (backend != JITGATE_MPROTECT && backend != JITGATE_TWO_VIEWS)
		return NULL;
	return gate_malloc_alone(size);
}

static int gate_is_unused(struct gate_chunk *chunk)
{
	struct gate_block *block = gate_first_block(chunk);

	if (block->size & GATE_IN_USE)
		return 0;
	gate_merge(chunk, block);
	return !gate_is_in(chunk, gate_next_block(block));
}

/* Takes out the oldest chunk that is not in use, but for the first `keep` of them. */
static struct gate_chunk *gate_unlink_unused(int keep)
{
	struct gate_chunk *chunk, *before = NULL, *last = NULL, *before_last = NULL;

	for (chunk = gate_chunks(); chunk; before = chunk, chunk = chunk->next) {
		if (!gate_is_unused(chunk) || keep-- > 0)
			continue;
		last = chunk;
		before_last = before;
	}
	if (last && before_last)
		before_last->next = last->next;
	else if (last)
		gate_newest = last->next ? last->next->area : NULL;
	return last;
}

/* Gives chunks back to the system that are not in use. Closes for that: no thread
   may have an area open that is freed. */
static void gate_trim(int keep)
{
	struct gate_chunk *chunk;
	struct jitgate_area *area;

	do {
		jitgate_open_at(NULL);
		chunk = gate_unlink_unused(keep);
		area = chunk ? chunk->area : NULL;
		jitgate_close_at(NULL, 0);
	} while (area && !jitgate_area_free(area));
}

static void gate_free_keyed(void *code)
{
	struct gate_block *block = gate_block_of(code);
	int unused;

	SLJIT_ALLOCATOR_LOCK();
	jitgate_open_at(NULL);
	block->size &= ~GATE_IN_USE;
	block->chunk->room = (sljit_uw)(block->chunk->end - (sljit_u8 *)block->chunk);
	unused = gate_is_unused(block->chunk);
	/* Not to the state before: sljit may give up a piece that it was to fill. */
	jitgate_close_at(NULL, 0);
	/* One stays, for a program that compiles and frees one pattern after the other. */
	if (unused)
		gate_trim(1);
	SLJIT_ALLOCATOR_UNLOCK();
}

SLJIT_API_FUNC_ATTRIBUTE void sljit_free_exec(void* ptr)
{
	struct jitgate_area *area;

	if (gate_has_key()) {
		gate_free_keyed(ptr);
		return;
	}
	area = gate_own_area(ptr);
	/* One that does not close is not for the next. */
	if (jitgate_close(area, 0) || !gate_keep(area))
		jitgate_area_free(area);
}

SLJIT_API_FUNC_ATTRIBUTE void sljit_free_unused_memory_exec(void)
{
	SLJIT_ALLOCATOR_LOCK();
	if (gate_has_key())
		gate_trim(0);
	else
		gate_free_kept();
	SLJIT_ALLOCATOR_UNLOCK();
}
