/* SPDX-License-Identifier: MIT */
/*
** Machine code areas made, opened and closed by jitgate.
**
** One more layer under lj_mcode.c, beside those for mmap() and for Windows. With a
** protection key a state gets its areas from one reservation, which is keyed once;
** afterwards neither new areas nor opening and closing take a system call. Without
** a key every area is a reservation of its own, since mprotect() works on pages.
*/

#ifndef _LJ_MCODE_GATE_H
#define _LJ_MCODE_GATE_H

#include <jitgate.h>

#define MCPROT_RX	0
#define MCPROT_RW	1

/* Behind each area, out of its sight, and as well protected as the code. */
typedef struct MCGate {
  struct MCGate *home;		/* The one at the end of the reservation. */
  struct jitgate_area *area;	/* This and the next are valid there only. */
  size_t areas;			/* Areas in use. */
} MCGate;

#define MCGATE_SLOT	64	/* Keeps the ends of areas aligned. */
/* Several states have to fit in the range of a jump: 128 MB on arm64. */
#define MCGATE_RESERVE	((size_t)1 << 20)

#define mcgate_slot(p, sz)	((MCGate *)((char *)(p) + (sz)))

/* Threads that are older than the key have no access: take it before there are any. */
static void __attribute__((constructor)) mcgate_init(void)
{
  jitgate_init(JITGATE_AUTO);
}

/* The next area is right below the last one. Open afterwards. */
static void *mcgate_below(void *last, size_t szlast, size_t sz)
{
  MCGate *home = mcgate_slot(last, szlast)->home;
  char *p;
  if ((size_t)((char *)last - (char *)jitgate_area_start(home->area)) < sz + MCGATE_SLOT)
    return NULL;
  if (jitgate_open(home->area) < 0)
    return NULL;
  home->areas++;
  p = (char *)last - MCGATE_SLOT - sz;
  mcgate_slot(p, sz)->home = home;
  return p;
}

/* The first area of a new reservation, at its upper end. Open afterwards. */
static void *mcgate_reserve(uintptr_t hint, size_t sz, size_t size)
{
  struct jitgate_request request = { 0 };
  struct jitgate_area *area;
  MCGate *home;
  request.size = size;
  request.near_to = (void *)hint;
  request.reach = JITGATE_REACH_JUMP;
  /* Those of LuaJIT set flags: none generates code, or jumps out of the assembler. */
  request.flags = JITGATE_NO_HANDLERS;
  if (jitgate_area_new(&area, &request))
    return NULL;
  if (jitgate_open(area) < 0) {
    jitgate_area_free(area);
    return NULL;
  }
  home = (MCGate *)((char *)jitgate_area_start(area) + jitgate_area_size(area) - MCGATE_SLOT);
  home->home = home;
  home->area = area;
  home->areas = 1;
  return (char *)home - sz;
}

static void *mcgate_alloc(jit_State *J, uintptr_t hint, size_t sz)
{
  struct jitgate_info info;
  void *p = NULL;
  if (J->mcarea && hint == (uintptr_t)J->mcarea - sz)
    p = mcgate_below(J->mcarea, J->szmcarea, sz);
  jitgate_query(&info);
  if (!p && info.backend == JITGATE_PKEY && sz + MCGATE_SLOT < MCGATE_RESERVE)
    p = mcgate_reserve(hint, sz, MCGATE_RESERVE);
  if (!p)
    p = mcgate_reserve(hint, sz, sz + MCGATE_SLOT);
  if (!p && !hint)
    lj_trace_err(J, LJ_TRERR_MCODEAL);
  return p;
}

/* The reservation goes with its last area. */
static void mcgate_free(void *p, size_t sz)
{
  MCGate *home = mcgate_slot(p, sz)->home;
  struct jitgate_area *area = home->area;
  int last = home->areas == 1;
  if (!last && jitgate_open(area) >= 0)
    home->areas--;
  jitgate_close(area, 0);
  if (last)
    jitgate_area_free(area);
}

/*
** With a key this opens and closes all areas, for this thread: an older area that
** is patched while the newest is open closes that one as well. Nothing is written
** to it between that and its own close. Returns nonzero on failure, which only
** mprotect() knows.
*/
static int mcgate_setprot(void *p, size_t sz, int prot)
{
  if (prot == MCPROT_RX)
    return jitgate_close(mcgate_slot(p, sz)->home->area, 0);
  /* Another thread may have made the code of this state. */
  jitgate_attach();
  return jitgate_open(mcgate_slot(p, sz)->home->area) < 0;
}

#endif
