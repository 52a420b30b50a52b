/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kpkeys

#if !defined(_TRACE_KPKEYS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KPKEYS_H

#include <linux/tracepoint.h>

TRACE_EVENT(kpkeys_key,

	TP_PROTO(const void *addr, unsigned int nr, int pkey, int ret),

	TP_ARGS(addr, nr, pkey, ret),

	TP_STRUCT__entry(
		__field(const void *,	addr)
		__field(unsigned int,	nr)
		__field(int,		pkey)
		__field(int,		ret)
	),

	TP_fast_assign(
		__entry->addr = addr;
		__entry->nr = nr;
		__entry->pkey = pkey;
		__entry->ret = ret;
	),

	TP_printk("addr=%p pages=%u pkey=%d ret=%d", __entry->addr,
		  __entry->nr, __entry->pkey, __entry->ret)
);

TRACE_EVENT(kpkeys_violation,

	TP_PROTO(unsigned long ip, unsigned long addr, bool write,
		 bool enforced),

	TP_ARGS(ip, addr, write, enforced),

	TP_STRUCT__entry(
		__field(unsigned long,	ip)
		__field(unsigned long,	addr)
		__field(bool,		write)
		__field(bool,		enforced)
	),

	TP_fast_assign(
		__entry->ip = ip;
		__entry->addr = addr;
		__entry->write = write;
		__entry->enforced = enforced;
	),

	TP_printk("ip=%pS addr=%p %s %s", (void *)__entry->ip,
		  (void *)__entry->addr, __entry->write ? "write" : "read",
		  __entry->enforced ? "stopped" : "let through")
);

#endif /* _TRACE_KPKEYS_H */

#include <trace/define_trace.h>
