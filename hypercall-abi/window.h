/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The parts of a window that both sides share and that KVM does not read: the world page,
 * the part with its control page and slots, and the numbers of handlers. Also the device of
 * the guest module, through which a worker gets its side. User space, the guest module,
 * tests and (through asm_offsets.c) NASM include this file. A change that an old reader
 * would misread needs a new WH_ABI_VERSION here, too.
 */
#ifndef WORMHOLE_WINDOW_H
#define WORMHOLE_WINDOW_H

#include "wormhole_abi.h"

/*
 * A status that only user space uses, besides those of wormhole_abi.h: the transport is not
 * usable.
 */
#define WH_ETRANSPORT		(-13)

/* --- World page: says which world this is, and what the worker provides ---- */

/* The world page is the page after the trampoline's code. */
#define WH_WORLD_VA		(WH_TRAMPOLINE_VA + 0x1000)
#define WH_WORLD_CLIENT		0x544e45494c435457ULL	/* "WTCLIENT" */
#define WH_WORLD_SERVER		0x5245565245535457ULL	/* "WTSERVER" */
#define WH_MAX_HANDLERS		64

/* Values that the landing loads for a slot. This is worker memory: the client never sees it. */
struct wh_world_slot {
	__u64 stack_top;	/* call stack, 16-byte aligned */
	__u64 fs_base;
	__u64 gs_base;
	__u32 mxcsr;
	__u16 fcw;
	__u16 pad;
};

/*
 * Answers of the trampoline's service in place of the kernel, as long as they do not
 * change. 0 means that the kernel must answer.
 */
struct wh_world_self {
	__u32 pid;
	__u32 ppid;
	__u32 tid;		/* of the slot's thread, if there is only one slot */
	__u32 uid;
	__u32 euid;
	__u32 gid;
	__u32 egid;
	__u32 pad;
};

/*
 * The clocks of the worker's kernel: the addresses of the kernel's own code in user space
 * that reads them. The service answers with this code. All 0 means that the kernel must
 * answer.
 */
struct wh_world_vdso {
	__u64 clock_gettime;
	__u64 gettimeofday;
	__u64 time;
	__u64 start;		/* start of that code, and its size */
	__u64 size;
};

/* The range where the service may use the caller's stack, which certainly exists. */
struct wh_world_stack {
	__u64 low;		/* there is enough stack below it */
	__u64 high;
};

/*
 * A request of a call to its slot's companion. The companion is a thread of the worker in
 * the server, which makes system calls for calls while these stay in the view. This is
 * memory of the worker.
 *
 * `call`: the service fills it in, sets WH_RING_ASKED, and looks until it is WH_RING_FREE
 * again. WH_RING_TAKEN: the companion has begun, so the call must wait. WH_RING_AWAITED: it
 * waits in the server, by a futex. Before it is taken, the request may be withdrawn.
 *
 * `post`: a FUTEX_WAKE of private memory that nobody waits for.
 */
#define WH_RING_FREE		0
#define WH_RING_ASKED		1
#define WH_RING_TAKEN		2
#define WH_RING_AWAITED		3
#define WH_RING_SELF		(-4096)	/* as a result: the thread must make the call itself */
struct wh_ring {
	__u32 call;		/* WH_RING_* */
	__u32 post;		/* WH_RING_FREE, WH_RING_ASKED */
	__u32 sleeps;		/* the companion sleeps and must be woken */
	__u16 flags;		/* flags that the service saved */
	__u16 pad;
	__u64 nr;
	__u64 arg[6];
	__s64 result;
	__u64 back;		/* return address that the service saved */
	__u64 post_address;
	__u64 post_count;
	__u64 woken;		/* the service's: TSC when a call woke the companion, or 0 */
	__u64 wake_ticks;	/* TSC ticks that the last wake-up took until its answer */
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
	struct wh_world_stack stack;	/* the stack of calls */
	__u64 rings;		/* struct wh_ring of each slot, or 0 */
	__u64 patience;		/* TSC ticks for which a call waits for its companion's answer */
};

/* --- Window part: shared by one client process and its worker ------------- */

/*
 * A part consists of control page, slot pages, message areas and data area. All offsets are
 * in bytes from the part's start, and all areas are page aligned. The worker writes the
 * control page before it registers. The client copies and checks it once.
 */
#define WH_CTL_MAGIC		0x4c54434548485757ULL	/* "WWHHECTL" */
#define WH_CTL_FREE		0	/* these are only hints: KVM decides at attach */
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
	__u64 api_hash;		/* hash of the table of CUDA calls that each end was built from */
	__u32 last;		/* WH_CTL_LAST_*: why the worker ended, if it could say so */
	__u32 resv0;
	__u64 resv[5];
};
/* A launch held the device for longer than the administrator allows. */
#define WH_CTL_LAST_TIMEOUT	1

/*
 * One slot. The words up to `calls` belong to the trampoline: the client writes them before
 * it switches.
 */
struct wh_slot {
	struct wh_slot_client client;	/* KVM reads it */
	__u32 client_mxcsr;
	__u16 client_fcw;
	__u16 pad0;
	__u32 index;		/* EPTP index */
	__u32 slot;		/* its own number, for the return of a call that was handed off */
	__u64 calls;		/* delegated calls that have begun; the worker's side counts them */
	__u64 pad1[2];
	/* shm transport: futex words. Each direction has a cache line of its own. */
	__u32 request;
	__u32 request_handler;
	__u64 request_arg[2];
	__u32 request_waiters;
	__u32 client_cpu;	/* CPU where the client last began to wait, from 1; shm_wait.h */
	__u32 deep;		/* posted calls lie in the deep ring; shm.h */
	__u32 pad3[7];
	__u32 response;
	__u32 response_waiters;
	__s64 response_status;
	__u64 deferred;		/* first result of a posted call that is no success */
	__u64 no_post;		/* asks the client to post nothing */
	__u32 worker_cpu;	/* the same for the worker */
	__u32 wants_deep;	/* asks the client to use the deep ring */
	__u32 held;		/* the worker waits with a posted call for its turn or time */
	__u32 pad4[5];
};

/* --- Handlers: indices of wh_world.handlers[] ------------------------------ */

#define WH_HANDLER_NULL		0	/* does nothing: for benches */
#define WH_HANDLER_CUDA		1	/* arg0 = size of the request in the message area */
#define WH_HANDLER_LIBRARY	2	/* the same for a library: WH_LIBRARY_SHIFT of wire.h */
#define WH_HANDLER_LONG		3	/* the same; the message area says where the request is */
#define WH_HANDLERS		4

/* --- Server guest device: /dev/wormhole-server (the guest module) ----------- */

/* Drivers pin a device's memory through struct pages, which Linux makes for 2 MiB at once. */
#define WH_MIN_WINDOW_SIZE	0x200000ULL

/*
 * WH_SRV_BIND: chooses window and part. Afterwards mmap offset 0 is the part (map it at
 * WH_WINDOW_VA), and mmap offset WH_SRV_MMAP_TRAMPOLINE is the trampoline's code page (map
 * it at WH_TRAMPOLINE_VA, read and execute).
 */
struct wh_srv_bind {
	__u32 window;
	__u32 part;
	__u64 part_size;
};

/* WH_SRV_INFO: describes the windows. */
struct wh_srv_info {
	__u32 abi_version;
	__u32 windows;
	__u64 window_size[16];
};

#define WH_SRV_MMAP_TRAMPOLINE	0x10000000000ULL
/* This driver is only in the kernel of a server VM, and in no other kernel. */
#define WH_IOC_MAGIC		0xb7
#define WH_SRV_INFO		_IOR(WH_IOC_MAGIC, 32, struct wh_srv_info)
#define WH_SRV_BIND		_IOW(WH_IOC_MAGIC, 33, struct wh_srv_bind)
/*
 * WH_SRV_REGISTER (argument: number of slots): registers the calling process as the worker
 * of its part. All mappings that calls need must exist and have been touched before. It
 * starts the MMU notifier. WH_SRV_SLOT (argument: slot): calls may come for the slot from
 * now on. Closing the file releases the part.
 */
#define WH_SRV_REGISTER		_IO(WH_IOC_MAGIC, 34)
#define WH_SRV_SLOT		_IO(WH_IOC_MAGIC, 35)
/*
 * WH_SRV_DEVICES: a driver has mapped something since WH_SRV_REGISTER, which looks for such
 * mappings itself. Views get the mapping at once, so no later call has to leave the view
 * for it.
 */
#define WH_SRV_DEVICES		_IO(WH_IOC_MAGIC, 36)
/*
 * WH_SRV_WAIT (argument: slot): the calling thread of the worker sleeps until a call or the
 * end of the pair has come for the slot since the last return. Then the thread executes
 * TAKE. An event that came before is not lost. With the argument slot + WH_SRV_COMPANION it
 * sleeps until a call has executed WAKE; after that the thread executes LISTEN before it
 * sleeps again.
 */
#define WH_SRV_COMPANION	WH_MAX_SLOTS
#define WH_SRV_WAIT		_IO(WH_IOC_MAGIC, 37)

#endif /* WORMHOLE_WINDOW_H */
