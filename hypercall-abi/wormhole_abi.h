/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The ABI of KVM: CPUID hypercall leaves, status codes, what KVM reads of the
 * pages that two worlds share, and the host's control device. Kernel, user
 * space, tests and (through asm_offsets.c) NASM include this file; the kernel
 * series carries a byte-identical copy.
 *
 * Register convention of a leaf, with CPUID's own clobbers kept in mind:
 *
 *	in	EAX = leaf, ECX = 0, arguments RDI, RSI, RDX, R8, R9
 *	out	RAX = status (WH_OK or negative WH_E*), results RBX, RCX, RDX
 *
 * Leaves answer like this only in a VM that has a Wormhole role; elsewhere
 * CPUID answers as the processor does, so WH_LEAF_SIGNATURE detects the
 * feature on any machine. A refused leaf changes nothing but RAX..RDX.
 */
#ifndef WORMHOLE_ABI_H
#define WORMHOLE_ABI_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* Bumped on every change of this file that an old reader would misread. */
#define WH_ABI_VERSION		7

/* --- Hypercall leaves --------------------------------------------------- */

#define WH_LEAF_BASE		0x57480000
#define WH_LEAF_MASK		0xffff0000

/* Any CPL, any role. EAX = highest leaf, EBX:ECX:EDX = WH_SIG_*. */
#define WH_LEAF_SIGNATURE	0x57480000
#define WH_SIG_EBX		0x6d726f57	/* "Worm" */
#define WH_SIG_ECX		0x656c6f68	/* "hole" */
#define WH_SIG_EDX		0x4e464d56	/* "VMFN" */
/*
 * Any CPL. RBX = WH_ABI_VERSION, RCX = the VM's WH_ROLE_*, RDX = most slots that
 * a pair can have on this host, 1..WH_MAX_SLOTS.
 */
#define WH_LEAF_VERSION		0x57480001

/*
 * Server, CPL 0 only (the guest module).
 *
 * SERVER_REGISTER: RDI = WH_ABI_VERSION, RSI = GPA of the trampoline page
 *	(4 KiB, KVM copies it). A kernel asks once: again says that another one
 *	runs (kexec). That ends all pairs and forgets the page before, as a reset of
 *	the VM does. EEXIST: another vCPU was faster.
 * WORKER_REGISTER: on any vCPU, in the worker's context (CR3 is the worker's).
 *	RDI = window, RSI = part, RDX = part size in bytes, R8 = GPA of a u64 of
 *	the kernel's, 8-byte aligned, its page never unmapped before RELEASE. The
 *	kernel increments it after each flush of the worker's translations and
 *	before it frees page tables that the flush was for: KVM, which walks them
 *	without telling, then takes back what it read. R9 = number of slots. The
 *	part, which has a page for each of them, must be mapped at WH_WINDOW_VA, the
 *	trampoline at WH_TRAMPOLINE_VA; nothing that calls need in the gigabyte of
 *	WH_SLOT_VA. XCR0 is within WH_XCR0_SERVER (EINVAL). RBX = pair handle.
 * SLOT_REGISTER: RDI = pair handle, RSI = slot: a thread of the worker serves it
 *	from here on, on whatever vCPU it runs.
 * NOTIFY: RDI = pair handle, RSI = first address, RDX = address after the
 *	last, R8 = WH_NOTIFY_*. Begin before the kernel changes the worker's
 *	mappings of the range, end after; every begin has one end.
 * NEXT: whom something waits for: RBX = pair handle, RCX = slot, RDX = WH_NEWS_*:
 *	a call, or the end of the pair, for the slot's thread; a WAKE for its
 *	companion. Each is told once. ENOENT: nobody. KVM sends an NMI, to the vCPU
 *	where the slot's thread executed TAKE last, whenever there is somebody to tell.
 * RELEASE: RDI = pair handle: the worker is gone. Its pages may be reused
 *	as soon as the leaf returns.
 * DEVICE: RDI = pair handle, RSI = first address, RDX = address after the last,
 *	whole pages: a driver's mapping, whose pages nobody writes back. There a
 *	view may write where the worker's entry is writable, dirty or not, and
 *	after the first park what is present comes into the view at once. What
 *	NOTIFY begins on has no name any more. Again changes nothing: OK.
 */
#define WH_LEAF_SERVER_REGISTER	0x57480010
#define WH_LEAF_WORKER_REGISTER	0x57480011
#define WH_LEAF_SLOT_REGISTER	0x57480012
#define WH_LEAF_NOTIFY		0x57480013
#define WH_LEAF_RELEASE		0x57480014
#define WH_LEAF_DEVICE		0x57480015
#define WH_LEAF_NEXT		0x57480016
#define WH_NOTIFY_BEGIN		0
#define WH_NOTIFY_END		1
#define WH_NEWS_CALL		0
#define WH_NEWS_WAKE		1

/*
 * TAKE: server, CPL 3, in a thread of the worker. RDI = slot. A call that waits
 *	there runs in this thread, to its end; the leaf returns behind that, or at
 *	once if there is none. The first one makes the worker known to clients.
 *	EGONE: the client has detached, so the worker ends. A call comes back by
 *	VMFUNC with EAX = ECX = 0 and ESI = slot.
 */
#define WH_LEAF_TAKE		0x57480020

/*
 * SYSCALL: the worker's system call service, 64-bit CPL 3. In a view the call is
 *	handed off to the slot's thread, where it goes on behind this instruction:
 *	at a SYSCALL, which is then the server's kernel's. In the server it does
 *	nothing. Changes no register, RAX included.
 */
#define WH_LEAF_SYSCALL		0x57480021

/*
 * A slot's companion is another thread of the worker, which does for a call what
 * takes a kernel, but not the slot's own thread: the call stays in the view.
 *
 * WAKE: the worker's system call service, 64-bit CPL 3. In a view tells the server
 *	of the slot's companion, if that has executed LISTEN since it was told last;
 *	the call goes on behind the instruction. In the server it does nothing.
 *	Changes no register, RAX included.
 * LISTEN: server, CPL 3, in a thread of the worker. RDI = slot: the companion is
 *	about to sleep, and the next WAKE is to be told. EGONE: the pair is dead.
 */
#define WH_LEAF_WAKE		0x57480022
#define WH_LEAF_LISTEN		0x57480023

/*
 * Client, 64-bit CPL 3 only.
 *
 * ATTACH: RDI = WH_ABI_VERSION, RSI = checksum of the caller's trampoline
 *	page (wh_tramp_hdr.checksum). The caller has mapped a window part at
 *	WH_WINDOW_VA; KVM finds the pair by the page that it finds there.
 *	RBX = EPTP index of slot 0, the next ones follow; RCX = number of slots.
 *	EBUSY: another process has this part. ENOENT: no worker there (yet).
 * DETACH: RDI = EPTP index of any slot. Ends the pair.
 * CONTINUE: RDI = EPTP index of a slot. Only the trampoline's `pending`
 *	uses it: resumes the suspended call; does not return while one runs.
 * CANCEL: RDI = EPTP index of a slot. Drops a suspended call whose stack
 *	is gone (siglongjmp out of a signal handler); the slot is lost.
 */
#define WH_LEAF_ATTACH		0x57480030
#define WH_LEAF_DETACH		0x57480031
#define WH_LEAF_CONTINUE	0x57480032
#define WH_LEAF_CANCEL		0x57480033
#define WH_LEAF_MAX		0x57480033

/* --- Status codes: RAX of a leaf, of VMFUNC when refused, of a call ------ */

#define WH_OK			0
#define WH_EINVAL		(-1)	/* bad argument */
#define WH_EVERSION		(-2)	/* ABI or trampoline differ */
#define WH_EPERM		(-3)	/* wrong role, CPL, or not allowed by the host */
#define WH_ENOENT		(-4)	/* no such pair, slot or worker */
#define WH_EBUSY		(-5)	/* taken by another, or a call is in progress */
#define WH_EEXIST		(-6)	/* registered already */
#define WH_ENOMEM		(-7)	/* host is out of memory, or over quota */
#define WH_EGONE		(-8)	/* the other side is dead or detached */
#define WH_EFAULT		(-9)	/* window or trampoline not mapped as required */
#define WH_ENOSYS		(-10)	/* unknown leaf, handler out of range */
#define WH_EINVIEW		(-11)	/* not while a view is active */
#define WH_EFATAL		(-12)	/* the call did what no call may do */

/* --- Fixed addresses, the same in client and worker ---------------------- */

/*
 * Each lies alone in its 512 GiB, so that one top-level page-table entry
 * tells whether a process still has its window.
 */
#define WH_WINDOW_VA		0x600000000000ULL
#define WH_TRAMPOLINE_VA	0x5f8000000000ULL
#define WH_SLOT_VA		0x5f8040000000ULL
#define WH_PAGE_SIZE		0x1000
#define WH_MAX_PART_SIZE	0x40000000ULL	/* 1 GiB: one region of a view */

/*
 * Components of extended state that a server may have in XCR0: those that a call
 * takes along (x87, SSE, AVX, MPX, AVX-512), and PKRU, which is each vCPU's own.
 * Not AMX (17, 18), nor what is newer.
 */
#define WH_XCR0_SERVER		0x2ff

/* --- Trampoline page ------------------------------------------------------ */

/*
 * Opens the trampoline code page, the same bytes in every world. Entry
 * points are offsets in the page. The checksum (FNV-1a, 64 bit, of the page
 * with this field zero) makes version skew visible at attach.
 *
 * `service`, a multiple of 16 or 0 for none, is where a SYSCALL in a view leads,
 * without an exit: at CPL 3, with all registers and flags as a system call finds
 * them, but for RCX, and for the GS base, which is the return address.
 */
#define WH_TRAMP_MAGIC		0x4d41525445484857ULL	/* "WHHETRAM" */
struct wh_tramp_hdr {
	__u64 magic;
	__u32 abi_version;
	__u32 delegate;		/* delegate_to_server() */
	__u32 pending;		/* where KVM parks a suspended client */
	__u32 landing;		/* first instruction after VMFUNC into the view */
	__u32 leave;		/* VMFUNC back, ESI = slot; in the server it exits */
	__u32 code_end;
	__u64 checksum;
	__u32 service;
	__u32 pad;
	__u64 resv[2];
};

/* --- Slots ------------------------------------------------------------------ */

#define WH_MAX_SLOTS		16	/* of a pair */

/*
 * In a view KVM has a page at WH_SLOT_VA, which nobody can write. It names the
 * slot, by the EPT that is active, so that no register has to be believed. In a
 * client and in the worker `view` is something else there.
 */
#define WH_SLOT_VIEW		0x5457454956535457ULL	/* "WTSVIEWT" */
struct wh_slot_view {
	__u64 view;		/* WH_SLOT_VIEW */
	__u32 slot;
	__u32 pad;
};

/*
 * Where the slot's page of the part begins, the part's second page for slot 0,
 * the next ones follow. The client's trampoline writes this before it switches, and
 * KVM reads it when it suspends a call (it is the client's own, so a lie hurts
 * only the liar).
 */
struct wh_slot_client {
	__u64 rsp;
	__u64 fs;
	__u64 gs;
};

/* --- Host control device: /dev/kvm-wormhole -------------------------------- */

/*
 * Each call needs CAP_SYS_ADMIN, of who makes it (EPERM): who has inherited a
 * descriptor of the device, or has got it sent, controls nothing.
 */

#define WH_ROLE_NONE		0
#define WH_ROLE_SERVER		1
#define WH_ROLE_CLIENT		2

/*
 * CREATE_ROLE: returns a role descriptor, close-on-exec, that gives this role and
 * identity to one VM, by KVM_CAP_X86_WORMHOLE. It has no ioctl. With NEXT_VM the
 * next VM that the calling process creates, also after exec, has it unasked
 * (EBUSY: one waits already). Unused, it ends when its last copy is closed. vm_id
 * is the administrator's choice, not zero, unique among living VMs and unused
 * roles (EEXIST).
 */
#define WH_ROLE_NEXT_VM		1
struct wh_host_role {
	__u64 vm_id;
	__u32 role;
	__u32 flags;		/* 0, or WH_ROLE_NEXT_VM */
};

/*
 * ALLOW: client VM may attach to workers of the server VM that serve this
 * window, at most max_pairs at a time (1..511). Replaces an earlier ALLOW of
 * the same client; pairs that are attached keep their barrier. Either VM may
 * come later. EOPNOTSUPP: the processor has no such barrier. DENY: takes it
 * back, detaches.
 */
#define WH_ALLOW_IBPB		1	/* before a pair runs where another ran last */
#define WH_ALLOW_STRICT		2	/* IBPB and L1D flush around each call, which exits twice */
#define WH_ALLOW_BARRIERS	3
struct wh_host_allow {
	__u64 client_id;
	__u64 server_id;
	__u32 window;
	__u32 max_pairs;
	__u32 flags;		/* 0, or one of WH_ALLOW_BARRIERS */
	__u32 pad;
};

/* Indices of wh_host_stat.handoffs. */
#define WH_HANDOFF_SYSCALL	0
#define WH_HANDOFF_FAULT	1	/* page the view cannot map */
#define WH_HANDOFF_UD		2
#define WH_HANDOFF_EXCEPTION	3	/* any other exception */
#define WH_HANDOFF_INSN		4	/* instruction that exits: PAUSE loops, RDPMC, ... */
#define WH_HANDOFF_REASONS	8

/*
 * STAT: counters of one VM. For a client VM: of its own calls. For a server:
 * sums over the calls it served. exits[] is indexed by the basic exit reason
 * and counts exits taken while a view was active. Ever growing.
 */
#define WH_STAT_EXIT_REASONS	80
struct wh_host_stat {
	__u64 vm_id;		/* in */
	__u32 role;
	__u32 pairs;		/* attached now (client), registered now (server) */
	__u64 attaches;
	__u64 detaches;
	__u64 rearms;		/* VMFUNC exits that armed an entry again */
	__u64 refusals;		/* VMFUNC exits and leaves refused */
	__u64 suspends;
	__u64 fills;		/* view misses filled without leaving the view */
	__u64 filled_pages;
	__u64 zapped_pages;
	__u64 fatal;		/* calls ended by KVM with WH_EFATAL */
	__u64 parked;		/* server: slots whose thread waits for a call now */
	__u64 deferred_timers;	/* server: timer expiries coalesced */
	__u64 busy;		/* server: calls handed off now, companions that work */
	__u64 view_tables;	/* host pages that are tables of views now */
	__u64 view_pages;	/* pages that views map, and pin, now */
	__u64 barriers;		/* IBPBs between pairs and around strict calls */
	__u64 gates;		/* pairs attached now, system calls without an exit */
	__u64 handoffs[WH_HANDOFF_REASONS];
	__u64 exits[WH_STAT_EXIT_REASONS];
};

/* KILL: detach every pair of a client VM (or server VM), as if it had died. */
struct wh_host_vm {
	__u64 vm_id;
	__u64 flags;		/* 0 */
};

/* In KVM's range of ioctls, see <linux/kvm.h>. */
#define WH_HOST_VERSION		_IO(KVMIO, 0xf0)	/* returns WH_ABI_VERSION */
#define WH_HOST_CREATE_ROLE	_IOW(KVMIO, 0xf1, struct wh_host_role)
#define WH_HOST_ALLOW		_IOW(KVMIO, 0xf2, struct wh_host_allow)
#define WH_HOST_DENY		_IOW(KVMIO, 0xf3, struct wh_host_vm)
#define WH_HOST_STAT		_IOWR(KVMIO, 0xf4, struct wh_host_stat)
#define WH_HOST_KILL		_IOW(KVMIO, 0xf5, struct wh_host_vm)

#endif /* WORMHOLE_ABI_H */
