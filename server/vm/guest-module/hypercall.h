/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUID hypercalls as the kernel makes them. The register convention of wormhole_abi.h is in this
 * one place; status codes become errno.
 */
#ifndef WORMHOLE_HYPERCALL_H
#define WORMHOLE_HYPERCALL_H

#include <linux/errno.h>
#include <linux/types.h>

#include "wormhole_abi.h"

struct wh_result {
	u64 rbx;
	u64 rcx;
	u64 rdx;
};

/* Returns the status as KVM returned it. */
static inline s64 wh_cpuid(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8, u64 r9,
			   struct wh_result *res)
{
	register u64 arg_r8 asm("r8") = r8;
	register u64 arg_r9 asm("r9") = r9;
	s64 status = leaf;
	u64 rbx, rcx = 0;

	asm volatile("cpuid"
		     : "+a" (status), "=b" (rbx), "+c" (rcx), "+d" (rdx)
		     : "D" (rdi), "S" (rsi), "r" (arg_r8), "r" (arg_r9)
		     : "memory");
	if (res)
		*res = (struct wh_result){ .rbx = rbx, .rcx = rcx, .rdx = rdx };
	return status;
}

static inline int wh_errno(s64 status)
{
	switch (status) {
	case WH_OK:
		return 0;
	case WH_EINVAL:
		return -EINVAL;
	case WH_EVERSION:
		return -EPROTO;
	case WH_EPERM:
		return -EPERM;
	case WH_ENOENT:
		return -ENOENT;
	case WH_EBUSY:
		return -EBUSY;
	case WH_EEXIST:
		return -EEXIST;
	case WH_ENOMEM:
		return -ENOMEM;
	case WH_EGONE:
		return -ESHUTDOWN;
	case WH_EFAULT:
		return -EFAULT;
	case WH_ENOSYS:
		return -EOPNOTSUPP;
	case WH_EINVIEW:
		return -EDEADLK;
	default:
		return -EIO;
	}
}

static inline int wh_leaf5(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8, u64 r9,
			   struct wh_result *res)
{
	return wh_errno(wh_cpuid(leaf, rdi, rsi, rdx, r8, r9, res));
}

/* For a leaf that does not use R9. */
static inline int wh_leaf(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8,
			  struct wh_result *res)
{
	return wh_errno(wh_cpuid(leaf, rdi, rsi, rdx, r8, 0, res));
}

#endif /* WORMHOLE_HYPERCALL_H */
