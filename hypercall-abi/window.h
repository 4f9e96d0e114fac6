/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What both sides of a window share and KVM does not read: the world page, the
 * part with its control page and slots, the numbers of handlers; and how a
 * worker gets its side, by the device of the guest module. User space, the
 * guest module, tests and (through asm_offsets.c) NASM include this file. What
 * an old reader would misread needs a new WH_ABI_VERSION here, too.
 */
#ifndef WORMHOLE_WINDOW_H
#define WORMHOLE_WINDOW_H

#include "wormhole_abi.h"

/* A status of user space alone, besides those of wormhole_abi.h: transport not usable. */
#define WH_ETRANSPORT		(-13)

/* --- World page: says where we are, and what the worker provides ---------- */

/* The page after the trampoline's code. */
#define WH_WORLD_VA		(WH_TRAMPOLINE_VA + 0x1000)
#define WH_WORLD_CLIENT		0x544e45494c435457ULL	/* "WTCLIENT" */
#define WH_WORLD_SERVER		0x5245565245535457ULL	/* "WTSERVER" */
#define WH_MAX_HANDLERS		64

/* What the landing loads for a slot. Worker memory: the client never sees it. */
struct wh_world_slot {
	__u64 stack_top;	/* call stack, 16-byte aligned */
	__u64 fs_base;
	__u64 gs_base;
	__u32 mxcsr;
	__u16 fcw;
	__u16 pad;
};

/*
 * What the trampoline's service answers in place of the kernel, as long as it does
 * not change; 0: the kernel says.
 */
struct wh_world_self {
	__u32 pid;
	__u32 ppid;
	__u32 tid;		/* of the slot's thread, where there is one slot */
	__u32 uid;
	__u32 euid;
	__u32 gid;
	__u32 egid;
	__u32 pad;
};

/*
 * The clocks of the worker's kernel as its processes read them, by the kernel's own
 * code in user space, with which the service answers; all 0: the kernel says.
 */
struct wh_world_vdso {
	__u64 clock_gettime;
	__u64 gettimeofday;
	__u64 time;
	__u64 start;		/* of that code, and its size */
	__u64 size;
};

/* Where the service may use the caller's stack, and need not doubt that it is there. */
struct wh_world_stack {
	__u64 low;		/* enough is below it */
	__u64 high;
};

/*
 * What calls ask of their slot's companion, a thread of the worker in the server, which
 * makes system calls for them while they stay in the view. Memory of the worker.
 *
 * `call`: the service fills it in, sets WH_RING_ASKED, and looks until it is WH_RING_FREE
 * again. WH_RING_TAKEN: the companion has begun, so the call must wait; WH_RING_AWAITED: it
 * does so in the server, by a futex. Before it is taken it may be withdrawn.
 * `post`: a FUTEX_WAKE of private memory that nobody waits for.
 */
#define WH_RING_FREE		0
#define WH_RING_ASKED		1
#define WH_RING_TAKEN		2
#define WH_RING_AWAITED		3
#define WH_RING_SELF		(-4096)	/* result: the thread is to make the call itself */
struct wh_ring {
	__u32 call;		/* WH_RING_* */
	__u32 post;		/* WH_RING_FREE, WH_RING_ASKED */
	__u32 sleeps;		/* the companion has to be woken */
	__u16 flags;		/* the service's */
	__u16 pad;
	__u64 nr;
	__u64 arg[6];
	__s64 result;
	__u64 back;		/* the service's */
	__u64 post_address;
	__u64 post_count;
	__u64 woken;		/* the service's: TSC at which a call woke the companion, or 0 */
	__u64 wake_ticks;	/* of the TSC, until the last call that did had its answer */
	__u64 resv[1];
};

struct wh_world {
	__u64 world;		/* WH_WORLD_* */
	__u32 nslots;
	__u32 nhandlers;
	/* s64 handler(void *session, u64 slot, u64 arg0, u64 arg1) */
	__u64 session;
	__u64 handlers[WH_MAX_HANDLERS];
	struct wh_world_slot slots[WH_MAX_SLOTS];
	struct wh_world_self self;
	struct wh_world_vdso vdso;
	struct wh_world_stack stack;	/* of calls */
	__u64 rings;		/* struct wh_ring of each slot, or 0 */
	__u64 patience;		/* TSC ticks that a call looks for its companion's answer */
};

/* --- Window part: shared by one client process and its worker ------------- */

/*
 * Part = control page, slot pages, message areas, data area; all offsets in
 * bytes from the part's start, all areas page aligned. The worker writes the
 * control page before it registers; the client copies and checks it once.
 */
#define WH_CTL_MAGIC		0x4c54434548485757ULL	/* "WWHHECTL" */
#define WH_CTL_FREE		0	/* hints only: KVM decides at attach */
#define WH_CTL_READY		1
#define WH_CTL_TAKEN		2
#define WH_CTL_DEAD		3
struct wh_ctl {
	__u64 magic;
	__u32 abi_version;
	__u32 state;		/* WH_CTL_*, a hint */
	__u64 part_size;
	__u32 window;
	__u32 part;
	__u32 nslots;
	__u32 slot_offset;	/* WH_PAGE_SIZE; slot i at slot_offset + i * WH_PAGE_SIZE */
	__u64 msg_offset;	/* area i at msg_offset + i * msg_size */
	__u64 msg_size;
	__u64 data_offset;
	__u64 data_size;
	__u64 api_hash;		/* of the table of CUDA calls both ends were built from */
	__u32 last;		/* why the worker ended, if it could say so: WH_CTL_LAST_* */
	__u32 resv0;
	__u64 resv[5];
};
/* A launch held the device for longer than the administrator allows. */
#define WH_CTL_LAST_TIMEOUT	1

/*
 * One slot. Words up to `calls` belong to the trampoline: the client writes
 * them before it switches.
 */
struct wh_slot {
	struct wh_slot_client client;	/* KVM's */
	__u32 client_mxcsr;
	__u16 client_fcw;
	__u16 pad0;
	__u32 index;		/* EPTP index */
	__u32 slot;		/* own number, for the way home of a call that was handed off */
	__u64 calls;		/* delegated calls begun, counted by the worker side */
	__u64 pad1[2];
	/* shm transport: futex words, one cache line each way. */
	__u32 request;
	__u32 request_handler;
	__u64 request_arg[2];
	__u32 request_waiters;
	__u32 client_cpu;	/* where the client last began to wait, from 1; shm_wait.h */
	__u64 pad3[4];
	__u32 response;
	__u32 response_waiters;
	__s64 response_status;
	__u64 deferred;		/* first result of a posted call that is no success */
	__u64 no_post;		/* the client is asked to post nothing */
	__u32 worker_cpu;	/* as client_cpu */
	__u32 pad4[7];
};

/* --- Handlers: indices of wh_world.handlers[] ------------------------------ */

#define WH_HANDLER_NULL		0	/* does nothing: for benches */
#define WH_HANDLER_CUDA		1	/* arg0 = size of the request in the message area */
#define WH_HANDLER_LIBRARY	2	/* the same, to a library: WH_LIBRARY_SHIFT of wire.h */
#define WH_HANDLER_LONG		3	/* the same; what lies there says where the request does */
#define WH_HANDLERS		4

/* --- Server guest device: /dev/wormhole-server (the guest module) ----------- */

/* Linux makes struct pages of a device's memory, which drivers pin, for 2 MiB at once. */
#define WH_MIN_WINDOW_SIZE	0x200000ULL

/*
 * WH_SRV_BIND: choose window and part; afterwards mmap offset 0 is the part
 * (map it at WH_WINDOW_VA) and mmap offset WH_SRV_MMAP_TRAMPOLINE the
 * trampoline code page (map it at WH_TRAMPOLINE_VA, read and execute).
 */
struct wh_srv_bind {
	__u32 window;
	__u32 part;
	__u64 part_size;
};

/* WH_SRV_INFO: what the windows are. */
struct wh_srv_info {
	__u32 abi_version;
	__u32 windows;
	__u64 window_size[16];
};

#define WH_SRV_MMAP_TRAMPOLINE	0x10000000000ULL
/* Of the driver in a server VM, which is in no kernel of others. */
#define WH_IOC_MAGIC		0xb7
#define WH_SRV_INFO		_IOR(WH_IOC_MAGIC, 32, struct wh_srv_info)
#define WH_SRV_BIND		_IOW(WH_IOC_MAGIC, 33, struct wh_srv_bind)
/*
 * WH_SRV_REGISTER (argument: number of slots): registers the calling process as the
 * worker of its part.
 * All mappings that calls need exist and are touched before. Starts the mmu
 * notifier. WH_SRV_SLOT (argument: slot): calls may come for the slot. Closing
 * the file releases.
 */
#define WH_SRV_REGISTER		_IO(WH_IOC_MAGIC, 34)
#define WH_SRV_SLOT		_IO(WH_IOC_MAGIC, 35)
/*
 * WH_SRV_DEVICES: a driver has mapped something since WH_SRV_REGISTER, which looks
 * itself: views get it at once, so that no later call has to leave for it.
 */
#define WH_SRV_DEVICES		_IO(WH_IOC_MAGIC, 36)
/*
 * WH_SRV_WAIT (argument: slot): the calling thread of the worker sleeps until a
 * call, or the end of the pair, came for the slot since it last returned; then
 * the thread executes TAKE. One that came before is not lost. Argument slot +
 * WH_SRV_COMPANION: until a call made WAKE, after which the thread executes LISTEN
 * before it sleeps again.
 */
#define WH_SRV_COMPANION	WH_MAX_SLOTS
#define WH_SRV_WAIT		_IO(WH_IOC_MAGIC, 37)

#endif /* WORMHOLE_WINDOW_H */
