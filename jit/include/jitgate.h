/* SPDX-License-Identifier: MIT */
/*
 * jitgate: machine code that is writable only for the thread that is writing it.
 *
 * A code area gets a protection key once, when it is mapped. Opening it for
 * writing and closing it are then one register write each, of this thread
 * alone, without a system call: other threads go on running the code and cannot
 * write it. Where there are no keys the library uses mprotect() and says so.
 *
 * Functions that return int return a negative errno when they fail, unless they
 * say otherwise. No function ends the process, prints, or sets errno.
 */
#ifndef JITGATE_H
#define JITGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define JITGATE_API __attribute__((visibility("default")))
#else
#define JITGATE_API
#endif

#define JITGATE_VERSION	0x000200	/* 0.2.0 */

/** enum jitgate_use - whether to use protection keys. */
enum jitgate_use {
	/** @JITGATE_AUTO: keys if there are any, else mprotect(). */
	JITGATE_AUTO,
	/** @JITGATE_ALWAYS: keys or an error. */
	JITGATE_ALWAYS,
	/** @JITGATE_NEVER: mprotect(). */
	JITGATE_NEVER,
	/**
	 * @JITGATE_TWICE: two views of each area, one that runs and one that is
	 * written. For systems that forbid memory that was ever writable to run, and
	 * never chosen otherwise: the caller has to write at jitgate_writable().
	 */
	JITGATE_TWICE,
};

/** enum jitgate_backend - what keeps the areas of this process shut. */
enum jitgate_backend {
	/** @JITGATE_NOTHING: jitgate_init() did not succeed yet. */
	JITGATE_NOTHING,
	/** @JITGATE_PKEY: a protection key; rights are of each thread. */
	JITGATE_PKEY,
	/** @JITGATE_MPROTECT: page permissions; rights are of the process. */
	JITGATE_MPROTECT,
	/** @JITGATE_TWO_VIEWS: mprotect() of a view that is not executable. */
	JITGATE_TWO_VIEWS,
};

/** struct jitgate_info - what jitgate_init() decided. */
struct jitgate_info {
	/** @backend: what is in use. */
	enum jitgate_backend backend;
	/** @key: the protection key, -1 without one. */
	int key;
	/**
	 * @reason: why there is no key, 0 with one. EOPNOTSUPP: this CPU or this
	 * architecture has none, or the kernel did not enable them. ENOSYS: the
	 * kernel has no such system call. ENOSPC: all keys are taken. EPERM,
	 * EACCES: a seccomp filter or a security module forbids the key, or
	 * memory that is writable and executable. ECANCELED: nobody wanted one.
	 */
	int reason;
};

/**
 * jitgate_init() - choose how areas are protected, once for the process.
 * @use: what this caller wants.
 *
 * The first call decides, for all engines in the process; later ones only ask
 * whether the decision suits them. With JITGATE_AUTO the environment variable
 * JITGATE (auto, always or never) decides instead, unless the program runs with
 * privileges of its file. Call it before other threads are started: those that
 * are older than the key need jitgate_attach(), or to call this themselves.
 *
 * A seccomp filter that kills instead of failing pkey_alloc() ends the process
 * here; under such a filter use JITGATE_NEVER.
 *
 * Return: 0, or
 * -EINVAL for an unknown @use;
 * -EBUSY when @use is JITGATE_NEVER and a key is in use, or JITGATE_ALWAYS and
 * another caller forbade keys, or when only one of the two asked for
 * JITGATE_TWICE;
 * with JITGATE_TWICE an error of memfd_create() or mmap();
 * with JITGATE_ALWAYS what jitgate_info.reason says, negative.
 */
JITGATE_API int jitgate_init(enum jitgate_use use);

/**
 * jitgate_query() - tell what jitgate_init() decided.
 * @info: is filled in.
 */
JITGATE_API void jitgate_query(struct jitgate_info *info);

/**
 * jitgate_attach() - let this thread read and run machine code.
 *
 * For threads that are older than the key, threads that were created inside a
 * scope, and signal handlers that read or run machine code: to all of these the
 * kernel gives no rights, or too many. Afterwards all areas are closed for this
 * thread. One register write; nothing at all with mprotect(). May be called in
 * signal handlers. Not to be called inside a scope.
 */
JITGATE_API void jitgate_attach(void);

/** JITGATE_NO_ENTRY - no thread needs jitgate_attach(). */
#define JITGATE_NO_ENTRY	1u

/**
 * jitgate_entry_mask() - what jitgate_enter() looks at; not for other callers.
 *
 * Return: a bit of the rights register, JITGATE_NO_ENTRY without a key, 0 when
 * nobody called jitgate_init() yet.
 */
JITGATE_API uint64_t jitgate_entry_mask(void);

/** Reach of a direct jump or call: x86-64 rel32, arm64 B and BL. */
#if defined(__aarch64__)
#define JITGATE_REACH_JUMP	((size_t)(127u << 20))
#else
#define JITGATE_REACH_JUMP	((size_t)(2047u << 20))
#endif

/**
 * JITGATE_SHARED_RUN - other threads run code of this area while it is open.
 *
 * It changes nothing with keys. With mprotect() the area is writable and
 * executable for all threads while any thread has it open; without the flag it
 * is not executable then, and a thread that runs code of it dies.
 */
#define JITGATE_SHARED_RUN	1u

/**
 * JITGATE_PERMANENT - the area stays until the process ends.
 *
 * The kernel refuses to unmap it, to map over it, to give it another key and to
 * throw its content away while it is closed (mseal(), Linux 6.10). Opening,
 * closing and growing go on. With keys only: -EOPNOTSUPP without, for mprotect()
 * could not open it any more; -ENOSYS where the kernel has no mseal().
 */
#define JITGATE_PERMANENT	2u

/**
 * JITGATE_HUGE - ask for huge pages: the start is a multiple of 2 MiB, or of
 * jitgate_request.align if that is more, and the kernel is told with
 * MADV_HUGEPAGE. Whether it has any is its choice.
 */
#define JITGATE_HUGE		4u

/** JITGATE_PIECES - the area is given out in pieces, by jitgate_piece_new(). */
#define JITGATE_PIECES		8u

/**
 * JITGATE_NO_HANDLERS - no signal handler has to do with this area.
 *
 * None opens or closes it, be it by jitgate_open_all(), none calls fork(), and none
 * is left by siglongjmp() while a thread opens or closes it. Then signals need not be
 * blocked for that, which with mprotect() and two views are 4 of 6 system calls.
 * It changes nothing with keys.
 */
#define JITGATE_NO_HANDLERS	16u

/** struct jitgate_request - what area to make; zero what does not matter. */
struct jitgate_request {
	/** @size: bytes to have from the start, rounded up to pages. */
	size_t size;
	/** @reserve: bytes it may grow to without moving; 0 means @size. */
	size_t reserve;
	/** @near_to: an address that its code jumps to, NULL for none. */
	const void *near_to;
	/** @reach: every byte of @reserve is that close to @near_to. */
	size_t reach;
	/** @flags: JITGATE_SHARED_RUN, JITGATE_PERMANENT, JITGATE_HUGE, JITGATE_PIECES, JITGATE_NO_HANDLERS. */
	unsigned int flags;
	/** @align: the start is a multiple of it; a power of two up to 1 GiB, or 0. */
	size_t align;
	/**
	 * @name: what /proc/self/maps calls it, up to 79 letters, where the kernel was
	 * built to know names; NULL for none. It may be freed after the call.
	 */
	const char *name;
};

/*
 * An area. Any number of threads may open, close and run the same one; two that
 * grow it, or one that grows it and another that asks for its size, have to agree
 * among themselves. It lies in memory that is read-only. A pointer to anything else,
 * or to an area that was freed, is refused wherever memory would be changed by it.
 */
struct jitgate_area;

/**
 * jitgate_area_new() - map an area for machine code, closed.
 * @area: where to put it.
 * @request: what is wanted.
 *
 * Calls jitgate_init(JITGATE_AUTO) when nobody called it.
 *
 * Return: 0, or
 * -EINVAL for a size of 0, unknown flags, a reserve smaller than the size, a
 * @near_to without a @reach, or an @align that is no power of two;
 * -ENOSPC when nothing that large is free within reach;
 * -ENOMEM without memory, or with 65536 areas;
 * -EACCES, -EPERM when the system forbids to make memory executable;
 * -EOPNOTSUPP, -ENOSYS for JITGATE_PERMANENT without keys or mseal().
 */
JITGATE_API int jitgate_area_new(struct jitgate_area **area,
				 const struct jitgate_request *request);

/**
 * jitgate_area_grow() - make an area larger where it is.
 * @area: the area.
 * @size: bytes to have afterwards; less than it has is no change.
 *
 * Return: 0, -ENOSPC beyond the reserve, -EINVAL when it is no area, -ENOMEM,
 * -EACCES or -EPERM.
 */
JITGATE_API int jitgate_area_grow(struct jitgate_area *area, size_t size);

/**
 * jitgate_area_free() - unmap an area.
 * @area: the area, or NULL.
 *
 * No thread may run its code or have it open. Return: 0; -EBUSY, with mprotect()
 * only, when a thread has it open; -EINVAL when it is no area; -ENOMEM when the
 * kernel has no memory to forget it with: it is still there then; -EPERM when it
 * is permanent.
 */
JITGATE_API int jitgate_area_free(struct jitgate_area *area);

/**
 * jitgate_area_at() - find the area that an address lies in.
 * @address: an address, also of its reserve; with JITGATE_TWICE in either view.
 *
 * Looks at all areas. Return: the area; NULL for none.
 */
JITGATE_API struct jitgate_area *jitgate_area_at(const void *address);

/** jitgate_area_start() - first byte of @area; NULL when it is none. */
JITGATE_API void *jitgate_area_start(const struct jitgate_area *area);
/**
 * jitgate_area_writable() - where @area is written; NULL when it is none.
 *
 * jitgate_area_start(), but with JITGATE_TWICE. Addresses in code are those where
 * it runs.
 */
JITGATE_API void *jitgate_area_writable(const struct jitgate_area *area);

/**
 * jitgate_writable() - where the code at an address is written.
 * @address: where it runs, or where it is written.
 *
 * Return: @address; with JITGATE_TWICE the address in the writable view, which is
 * searched for, and NULL when no area is there. Signal-safe.
 */
JITGATE_API void *jitgate_writable(const void *address);

/** jitgate_area_size() - bytes of @area that may be used. */
JITGATE_API size_t jitgate_area_size(const struct jitgate_area *area);
/** jitgate_area_reserve() - bytes that @area may grow to. */
JITGATE_API size_t jitgate_area_reserve(const struct jitgate_area *area);

/**
 * jitgate_piece_new() - take a piece of an area.
 * @area: the area, made with JITGATE_PIECES.
 * @size: bytes, rounded up to 16.
 * @align: the piece begins at a multiple of it, a power of two; 16 if less.
 * @piece: where to put it.
 *
 * The lowest place that fits; the area grows up to its reserve. Opens nothing for
 * the caller, and the content is not cleared. What is taken is remembered outside
 * of the area, and shut as its code is. With keys no system call, unless the
 * area grows; with mprotect() two. Not for signal handlers, and
 * a handler must not leave it by siglongjmp().
 *
 * Return: 0, -ENOSPC when nothing of the reserve is large enough, -EINVAL for no
 * such area, a @size of 0 or an @align that is no power of two, or an error as of
 * jitgate_area_grow().
 */
JITGATE_API int jitgate_piece_new(struct jitgate_area *area, size_t size, size_t align,
				  void **piece);

/**
 * jitgate_piece_free() - give a piece back.
 * @area: the area.
 * @piece: what jitgate_piece_new() gave, or NULL.
 *
 * No thread may run it. The code stays in there until the place is used again.
 *
 * Return: 0, -EINVAL when no piece begins there, also when it was given back
 * before.
 */
JITGATE_API int jitgate_piece_free(struct jitgate_area *area, void *piece);

/** jitgate_piece_size() - bytes of @piece in @area; 0 when none begins there. */
JITGATE_API size_t jitgate_piece_size(const struct jitgate_area *area, const void *piece);

/**
 * jitgate_open() - begin to write machine code, this thread.
 * @area: what is written.
 *
 * With keys, all areas are opened. Scopes nest. While an area is open this
 * thread must not run code of it: arm64 and mprotect() refuse, x86-64 cannot.
 * Signal-safe. A signal handler that interrupts a scope finds the area closed
 * (keys) and may open it for itself.
 *
 * Return: the state before, which jitgate_close() takes: 0 was closed, more was
 * open. With mprotect() also
 * -EINVAL when it is no area;
 * -EMFILE when this thread has 8 areas open, or 8 with JITGATE_NO_HANDLERS;
 * -EOVERFLOW 2^30 deep;
 * -ENOMEM or another error of mprotect(). With keys it cannot fail.
 */
JITGATE_API int jitgate_open(struct jitgate_area *area);

/**
 * jitgate_close() - go back to a state that this thread had before.
 * @area: what was opened.
 * @state: what jitgate_open() or jitgate_state() returned.
 *
 * Closes all scopes inside, so it also is what to call when longjmp() or an
 * exception jumped out of them. Never opens. Signal-safe.
 *
 * Return: 0; -EINVAL for a negative @state; with mprotect() an error of it,
 * after which the area may be writable: there is no good answer to that but to
 * end the process.
 */
JITGATE_API int jitgate_close(struct jitgate_area *area, int state);

/**
 * jitgate_state() - the state of this thread.
 * @area: an area.
 *
 * For setjmp(): remember it before, jitgate_close() to it after a jump.
 *
 * Return: 0 closed, more is open.
 */
JITGATE_API int jitgate_state(const struct jitgate_area *area);

/**
 * jitgate_open_all() - begin to write machine code of any area, this thread.
 *
 * For code that has no area at hand. With keys the same register write as
 * jitgate_open(). With mprotect() two system calls for each area, when no other
 * thread has all open; areas that are made meanwhile, by any thread, are open as
 * well. Does not count towards the 8 areas. Nests with itself and with
 * jitgate_open(). Signal-safe after jitgate_init(), which it calls with
 * JITGATE_AUTO when nobody did.
 *
 * Return: the state before, which jitgate_close_all() takes: 0, this thread had
 * nothing open; more, it had an area open or all. An error of jitgate_init(), or
 * of mprotect(): then nothing was opened.
 */
JITGATE_API int jitgate_open_all(void);

/**
 * jitgate_close_all() - go back to a state that this thread had before.
 * @state: what jitgate_open_all() or jitgate_state_all() returned.
 *
 * With 0 it closes whatever this thread has open, also scopes of single areas:
 * code that cannot remember a state passes 0. Never opens. Signal-safe.
 *
 * Return: as of jitgate_close().
 */
JITGATE_API int jitgate_close_all(int state);

/**
 * jitgate_state_all() - what jitgate_close_all() takes to come back here.
 *
 * Return: 0, this thread has nothing open; more, it has.
 */
JITGATE_API int jitgate_state_all(void);

/**
 * jitgate_open_at() - begin to write at an address, this thread.
 * @address: in an area, or NULL for all areas.
 *
 * With keys jitgate_open_all(), whatever the address. With mprotect()
 * jitgate_open() of the area that holds it, which is searched for.
 *
 * Return: as of jitgate_open() or jitgate_open_all(); with mprotect() -EINVAL
 * where no area is.
 */
JITGATE_API int jitgate_open_at(const void *address);

/**
 * jitgate_close_at() - go back to a state that this thread had before.
 * @address: in an area, or NULL for all areas.
 * @state: what jitgate_open_at() returned for this address, or 0.
 *
 * With 0 it closes the area, and all areas if this thread opened all; with NULL
 * and 0 whatever this thread has open.
 *
 * Return: as of jitgate_close().
 */
JITGATE_API int jitgate_close_at(const void *address, int state);

/**
 * jitgate_suspend() - close, before switching to another coroutine.
 * @area: an area.
 *
 * Return: what jitgate_resume() takes, or an error as of jitgate_close().
 */
JITGATE_API int jitgate_suspend(struct jitgate_area *area);

/**
 * jitgate_resume() - have again what was suspended, on any thread.
 * @area: the area.
 * @state: what jitgate_suspend() returned.
 *
 * Return: 0, or an error as of jitgate_open(), -EINVAL for a negative @state.
 */
JITGATE_API int jitgate_resume(struct jitgate_area *area, int state);

/** JITGATE_ALL_THREADS - make other threads drop what they fetched ahead. */
#define JITGATE_ALL_THREADS	1u

/**
 * jitgate_publish() - make written code fit to be run.
 * @start: first byte.
 * @size: bytes.
 * @flags: 0 or JITGATE_ALL_THREADS.
 *
 * Cleans and invalidates caches where the CPU does not do so by itself (arm64).
 * Call it after the writes, open or closed, before anything runs the code.
 * JITGATE_ALL_THREADS is for code that replaces code another thread may have
 * run: it costs a system call, membarrier().
 *
 * Return: 0, -EINVAL for unknown flags; with JITGATE_ALL_THREADS an error of
 * membarrier(), as -ENOSYS.
 */
JITGATE_API int jitgate_publish(const void *start, size_t size, unsigned int flags);

/** struct jitgate_counts - what it took. */
struct jitgate_counts {
	/** @opens: calls of jitgate_open() by this thread. */
	uint64_t opens;
	/** @register_writes: writes of the rights register by this thread. */
	uint64_t register_writes;
	/** @system_calls: system calls of the library, whole process. */
	uint64_t system_calls;
	/** @areas: areas that exist. */
	uint64_t areas;
};

/**
 * jitgate_stats() - read the counters.
 * @stats: is filled in.
 *
 * This call makes two system calls itself, and counts them. A signal handler that
 * opens may make the interrupted thread lose one count.
 */
JITGATE_API void jitgate_stats(struct jitgate_counts *stats);

/**
 * jitgate_check() - compare all areas with what the kernel has mapped.
 * @report: called once for each part of an area that is wrong, or NULL.
 * @data: handed to @report.
 *
 * Reads /proc/self/smaps: it is slow, and nothing but a test or a rare check.
 * The permissions of an area that a thread has open by mprotect() are not looked
 * at. @report must not call the library.
 *
 * Return: how many parts are wrong, or an error as of opening that file;
 * -ENODATA when the kernel does not tell keys there.
 */
JITGATE_API int jitgate_check(void (*report)(const void *start, size_t size,
					     const char *what, void *data),
			      void *data);

#if defined(__GNUC__)
/* Whether this thread has no rights at all, as when it is older than the key. */
static inline int jitgate_is_stranger(uint64_t mask)
{
#if defined(__x86_64__)
	uint32_t rights, high;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee # rdpkru"
			 : "=a" (rights), "=d" (high) : "c" (0));
	return (rights & mask) != 0;
#elif defined(__aarch64__)
	uint64_t rights;

	__asm__ volatile("mrs %0, S3_3_C10_C2_4" : "=r" (rights));
	return !(rights & mask);
#else
	(void)mask;
	return 0;
#endif
}

/**
 * jitgate_enter() - let this thread read and run code if it could not, cheaply.
 *
 * For each entry of a library that came by dlopen() and is called by threads it
 * does not know. One read of the rights register; jitgate_attach() for a thread
 * that has no rights, as one that is older than the key. Changes nothing inside
 * a scope. A thread that was born inside a scope keeps its rights: that needs
 * jitgate_attach(). Signal-safe.
 */
static inline void jitgate_enter(void)
{
	static uint64_t entry;	/* who forges it can only have no rights */
	uint64_t mask = __atomic_load_n(&entry, __ATOMIC_RELAXED);

	if (!mask) {
		mask = jitgate_entry_mask();
		__atomic_store_n(&entry, mask, __ATOMIC_RELAXED);
	}
	if (mask > JITGATE_NO_ENTRY && jitgate_is_stranger(mask))
		jitgate_attach();
}
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
/** struct jitgate_scope - what JITGATE_SCOPE() declares. */
struct jitgate_scope {
	/** @area: the area. */
	struct jitgate_area *area;
	/** @state: what jitgate_open() returned; negative, it is not open. */
	int state;
};

static inline void jitgate_scope_end(struct jitgate_scope *scope)
{
	if (scope->state >= 0)
		jitgate_close(scope->area, scope->state);
}

static inline struct jitgate_scope jitgate_scope_begin(struct jitgate_area *area)
{
	struct jitgate_scope scope = { area, jitgate_open(area) };

	return scope;
}

/**
 * JITGATE_SCOPE() - open until the end of the block.
 * @name: variable that holds the scope; look at its state.
 * @area: the area.
 */
#define JITGATE_SCOPE(name, area)						\
	struct jitgate_scope name __attribute__((cleanup(jitgate_scope_end))) =	\
		jitgate_scope_begin(area)
#endif

#ifdef __cplusplus
} /* extern "C" */

namespace jitgate {
/** class scope - open until the end of the block, also when it is thrown out of. */
class scope {
public:
	explicit scope(jitgate_area *area) : area_(area), state_(jitgate_open(area)) {}
	~scope()
	{
		if (state_ >= 0)
			jitgate_close(area_, state_);
	}
	/** state() - what jitgate_open() returned; negative, it is not open. */
	int state() const { return state_; }
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

private:
	jitgate_area *area_;
	int state_;
};
}
#endif

#endif
