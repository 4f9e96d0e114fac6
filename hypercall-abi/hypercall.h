/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Executes a leaf of wormhole_abi.h, in user space and in guest kernels. The code uses no
 * stack, no thread-local storage and no library, so a parked worker may call it while
 * another vCPU runs on the same worker's memory.
 */
#ifndef WORMHOLE_HYPERCALL_H
#define WORMHOLE_HYPERCALL_H

#include "window.h"

struct wh_leaf {
	__u64 arg[5];		/* in: RDI, RSI, RDX, R8, R9 */
	__u64 rbx, rcx, rdx;	/* out */
};

/* Returns the whole of RAX, which is a status for our leaves. */
static __always_inline __s64 wh_hypercall(__u32 leaf, struct wh_leaf *l)
{
	register __u64 r8 __asm__("r8") = l->arg[3];
	register __u64 r9 __asm__("r9") = l->arg[4];
	__u64 rdx = l->arg[2], rcx = 0, rax = leaf;

	__asm__ volatile("cpuid"
			 : "+a" (rax), "=b" (l->rbx), "+c" (rcx), "+d" (rdx)
			 : "D" (l->arg[0]), "S" (l->arg[1]), "r" (r8), "r" (r9)
			 : "memory");
	l->rcx = rcx;
	l->rdx = rdx;
	return (__s64)rax;
}

/*
 * Returns the WH_ROLE_* of this machine. If it is WH_ROLE_NONE, *version has the reason: 0
 * = no Wormhole here, else the host's ABI version.
 */
static __always_inline __u32 wh_detect(__u32 *version)
{
	struct wh_leaf l = { { 0 }, 0, 0, 0 };
	__s64 max = wh_hypercall(WH_LEAF_SIGNATURE, &l);

	*version = 0;
	if ((__u32)l.rbx != WH_SIG_EBX || (__u32)l.rcx != WH_SIG_ECX ||
	    (__u32)l.rdx != WH_SIG_EDX || (__u32)max < WH_LEAF_VERSION)
		return WH_ROLE_NONE;
	if (wh_hypercall(WH_LEAF_VERSION, &l) != WH_OK)
		return WH_ROLE_NONE;
	*version = (__u32)l.rbx;
	if (*version != WH_ABI_VERSION || (__u32)max < WH_LEAF_MAX)
		return WH_ROLE_NONE;
	return (__u32)l.rcx;
}

static inline const char *wh_strerror(__s64 status)
{
	switch (status) {
	case WH_OK:		return "no error";
	case WH_EINVAL:		return "bad argument";
	case WH_EVERSION:	return "ABI or trampoline versions differ";
	case WH_EPERM:		return "not allowed by the host";
	case WH_ENOENT:		return "no worker there";
	case WH_EBUSY:		return "taken, or a call is in progress";
	case WH_EEXIST:		return "registered already";
	case WH_ENOMEM:		return "the host is out of memory or over quota";
	case WH_EGONE:		return "the other side is dead or detached";
	case WH_EFAULT:		return "window or trampoline not mapped as required";
	case WH_ENOSYS:		return "unknown leaf or handler";
	case WH_EINVIEW:	return "not while a view is active";
	case WH_EFATAL:		return "the call did what no call may do";
	case WH_ETRANSPORT:	return "transport not usable";
	}
	return "unknown status";
}

#endif
