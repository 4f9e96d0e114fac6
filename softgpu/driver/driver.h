/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the driver half share: the objects behind the handles, the
 * one lock, and the way in and out of every exported call.
 *
 * An exported call reads:
 *
 *	rc = sgpu_enter(&ctx);		checks, then takes the lock
 *	if (rc)
 *		return rc;
 *	...
 *	return sgpu_leave(rc);		gives the lock back
 *
 * Functions without a `cu` prefix expect the lock to be held.
 */
#ifndef WORMHOLE_SOFTGPU_DRIVER_H
#define WORMHOLE_SOFTGPU_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#pragma GCC visibility push(default)	/* cuda.h does the same by itself */
#include <cudaProfiler.h>
#pragma GCC visibility pop

#include "../exec/exec.h"
#include "../ptx/ptx.h"
#include "identity.h"

#define SGPU_PTX_VERSION	90	/* PTX version of CUDA 13.0 */
#define SGPU_NSM		16
#define SGPU_GRANULE		512u	/* alignment of device memory */
#define SGPU_MAX_BLOCK_THREADS	1024u
#define SGPU_MAX_BLOCK_Z	64u
#define SGPU_MAX_GRID_X		0x7fffffffu
#define SGPU_MAX_GRID_YZ	65535u
#define SGPU_SM_THREADS		2048u
#define SGPU_SM_BLOCKS		32u
#define SGPU_SM_REGS		65536u
#define SGPU_SM_SHARED		(228u * 1024)
#define SGPU_SHARED_RESERVED	1024u
#define SGPU_SHARED_PLAIN	(48u * 1024)
#define SGPU_SHARED_OPTIN	EXEC_MAX_SHARED
#define SGPU_MAX_PARAM_BYTES	32764u
#define SGPU_NLIMITS		CU_LIMIT_MAX
#define SGPU_DECOMPRESS_MOST	(1u << 30)	/* bytes of one operation */
/* Pools are exported as descriptors. */
#define SGPU_POOL_HANDLES	((unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)

/* ---- objects.c: typed slabs; a handle is the address of a live slot ---- */

enum sgpu_type {
	SGPU_FREE,		/* a slot that is not in use */
	SGPU_CTX,
	SGPU_STREAM,
	SGPU_EVENT,
	SGPU_MODULE,
	SGPU_FUNC,
	SGPU_LIBRARY,
	SGPU_KERNEL,
	SGPU_MEMPOOL,
	SGPU_LINK,
	SGPU_GRAPH,
	SGPU_NODE,
	SGPU_EXEC,
	SGPU_USEROBJ,
	SGPU_ARRAY,
	SGPU_MIPMAP,
	SGPU_TEXTURE,
	SGPU_SURFACE,
	SGPU_PHYS,
	SGPU_GREEN,
	SGPU_DESC,
	SGPU_NTYPES,
};

struct sgpu_obj {
	enum sgpu_type type;
	struct sgpu_obj *next_free;
	uint64_t id;		/* never used twice */
};

struct sgpu_nodes {
	struct sgpu_node **v;
	unsigned int n, room;
};

struct sgpu_stream {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	unsigned int flags;
	int priority;
	bool builtin;		/* the legacy or per-thread stream, which cannot be destroyed */
	uint64_t last;		/* ticket of the last work that it has to follow (queue.h) */
	struct sgpu_capture *capture;	/* NULL: work goes to the device */
	struct sgpu_nodes front;	/* what the next captured node follows */
};

struct sgpu_event {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	unsigned int flags;
	bool recorded;
	bool imported;		/* the event belongs to another process */
	uint64_t ticket;	/* of the work that records it (queue.h); 0: recorded at once */
	uint64_t tsc;
	uint64_t capture;	/* id of the capture that recorded it last; 0 = none */
	struct sgpu_nodes front;
};

struct sgpu_ctx {
	struct sgpu_obj obj;
	unsigned int flags;
	bool alive;		/* false after a reset; a retain revives a primary context */
	size_t limit[SGPU_NLIMITS];
	CUfunc_cache cache;
	struct sgpu_stream *legacy;
	struct sgpu_stream *per_thread;
	uint64_t last, last_blocking;	/* tickets: of all streams, of those that legacy follows */
	struct sgpu_ctx *parent;	/* the primary context, if this is a green context */
	int device;
	uint64_t sms;		/* its multiprocessors, one bit each; 0: all */
};

struct sgpu_green {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
};

/* Result of cuDevResourceGenerateDesc(). It is never freed. */
struct sgpu_desc {
	struct sgpu_obj obj;
	uint64_t sms;
};

/* One PTX text found in an image. It is malloc()ed and NUL-terminated. */
struct sgpu_image {
	char *text;
	size_t len;
	unsigned int target;	/* compute capability * 10; 0 = not known */
	unsigned int version;	/* PTX version * 10 */
	unsigned int part;	/* index of the linked part: see struct wrapper */
};

/* A list of texts, which it owns. All zero bytes are an empty list. */
struct sgpu_images {
	struct sgpu_image *image;
	unsigned int n, room;
	unsigned int passed;	/* target of PTX for newer devices, which was passed over */
};

/* Attributes of a function that hold for its whole module. */
struct sgpu_code_info {
	int ptx_target;
	int const_bytes;
};

/* One loaded image in one context. */
struct sgpu_module {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;	/* NULL: loaded for a library, not yet adopted */
	struct sgpu_library *lib;
	struct ptx_module *ptx;
	struct sgpu_code_info info;
	struct sgpu_func **funcs;	/* one per entry of the image */
	unsigned int nfuncs;
};

/* Attributes that cuFuncSetAttribute() and cuKernelSetAttribute() can change. */
struct sgpu_tune {
	int value[CU_FUNC_ATTRIBUTE_MAX];
	uint32_t own;		/* mask of the attributes set on the function itself */
	CUfunc_cache cache;
};

struct sgpu_func {
	struct sgpu_obj obj;
	struct sgpu_module *mod;
	const struct ptx_func *ptx;
	struct sgpu_kernel *kernel;	/* NULL when not of a library */
	struct sgpu_tune tune;
};

/* A library outlives contexts: it keeps its PTX text and loads on demand. */
struct sgpu_library {
	struct sgpu_obj obj;
	struct sgpu_image image;
	struct sgpu_kernel **kernels;
	unsigned int nkernels;
	struct sgpu_shared_var *managed;	/* one instance for all contexts */
	unsigned int nmanaged;
};

/* A managed variable of a library: no context owns it. */
struct sgpu_shared_var {
	char *name;
	void *addr;
	uint64_t size;
};

struct sgpu_kernel {
	struct sgpu_obj obj;
	struct sgpu_library *lib;
	char *name;
	struct ptx_func info;	/* a copy, without what belongs to a module */
	struct sgpu_code_info code;
	struct sgpu_func *last;	/* the function in the context that launched it last */
	struct sgpu_tune tune;
};

struct sgpu_mempool {
	struct sgpu_obj obj;
	int reuse[3];		/* settings that have no effect here */
	uint64_t threshold;
	uint64_t used, used_high, reserved_high;
	size_t max_size;	/* 0 = no bound */
	int device;
	bool shareable;		/* made to be exported */
	/* A pool of another process: its maker and its id there. It gives no memory. */
	int32_t from_pid;	/* 0: the pool is this process's */
	uint64_t from_id;
};

/* State that cuLinkCreate() makes and cuLinkAddData() fills. */
struct sgpu_link {
	struct sgpu_obj obj;
	struct sgpu_images parts;
	char *out;
	unsigned int njit;
	CUjit_option *options;
	void **values;		/* the caller's array: logs are written there */
};

void *sgpu_obj_new(enum sgpu_type type);
void sgpu_obj_free(void *object);
/* Returns the object behind a handle, or NULL. @handle may be any bit pattern. */
void *sgpu_obj_get(enum sgpu_type type, const void *handle);
/* Call @visit for each live object of a type. */
void sgpu_obj_each(enum sgpu_type type, void (*visit)(void *object, void *arg),
		   void *arg);
void sgpu_obj_prefault(void);

/* ---- driver.c ---- */

/*
 * Fails unless the driver is initialized and the caller is not inside a host function.
 * Takes the lock.
 */
CUresult sgpu_beside_global(void);
/* Does the same, and fails if a kernel has faulted in this process. */
CUresult sgpu_beside_healthy(void);
/* Does the same, and fails if no context is current. */
CUresult sgpu_beside(struct sgpu_ctx **ctx);
/*
 * The same for calls that must not go in beside work of the device, since they end or change what
 * it may use: they wait first until all work has ended (queue.h). A call is one of these unless
 * there is a reason that it need not be.
 */
CUresult sgpu_enter_global(void);
CUresult sgpu_enter_healthy(void);
CUresult sgpu_enter(struct sgpu_ctx **ctx);
/* The same for calls that submit work: they wait until there is room for it. */
CUresult sgpu_submit(struct sgpu_ctx **ctx);
CUresult sgpu_submit_healthy(void);
CUresult sgpu_leave(CUresult rc);
/* For who does queued work, and for kernels that run. */
void sgpu_lock(void);
void sgpu_unlock(void);
/* Wait without the lock: for a condition, and until sgpu_changed(), or so long at most. */
void sgpu_sleep(pthread_cond_t *condition);
void sgpu_await_change(void);
void sgpu_await_change_for(unsigned int us);
/* Something has ended that other threads may wait for. */
void sgpu_changed(void);
/* Returns the error that faults have left in the process so far, or success. */
CUresult sgpu_health(void);
/* A kernel faulted: each later call that would use the device returns @rc. */
void sgpu_poison(CUresult rc);
/* Run @fn without the lock and with CUDA calls forbidden in this thread. */
void sgpu_call_out(void (*fn)(void *arg), void *arg);
/*
 * Waits until no call is inside, and keeps the lock: further calls block until the same
 * thread calls sgpu_go_on(). NOT_READY: that was not so in time; 0 ms: it waits for ever.
 */
CUresult sgpu_stop(uint32_t timeout_ms);
void sgpu_go_on(void);
bool sgpu_is_ready(void);	/* cuInit() has succeeded in this process */
uint64_t sgpu_new_id(void);
bool sgpu_env_flag(const char *name);
void sgpu_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void sgpu_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
__attribute__((visibility("hidden"))) int sgpu_unsupported(const char *name);

/* ---- context.c ---- */

/* Finds the current context of this thread, or returns INVALID_CONTEXT. */
CUresult sgpu_ctx_current(struct sgpu_ctx **ctx);
/* Make and end a green context with these multiprocessors. It retains the primary context. */
CUresult sgpu_ctx_green(int device, uint64_t sms, struct sgpu_ctx **out);
void sgpu_ctx_green_end(struct sgpu_ctx *ctx);

/* ---- device.c ---- */

/* Which devices the process has, by the variables of README.md and CUDA_VISIBLE_DEVICES. */
CUresult sgpu_devices_init(void);
bool sgpu_device_ok(CUdevice dev);
/* The highest .target that the devices take: ten times the compute capability. */
unsigned int sgpu_target(void);
uint64_t sgpu_device_total(int device);	/* bytes of memory */
uint64_t sgpu_devices_total(void);	/* of all devices of the process */
/* The number on the machine of one of the process's devices. A restore may change it. */
unsigned int sgpu_device_place(int device);
unsigned int sgpu_device_sms(int device);	/* multiprocessors of one of them */
/*
 * Which number each of the process's devices would have if device i of the machine became
 * to[i]. False: two would become one, one is not named, or is of another kind.
 */
bool sgpu_devices_mapped(const uint8_t to[SGPU_DEVICES], uint8_t place[SGPU_DEVICES]);
void sgpu_devices_set(const uint8_t place[SGPU_DEVICES]);
/* Returns the number on the machine, or -1. */
int sgpu_device_by_uuid(const CUuuid *uuid);

/* ---- memory.c: device memory; hostmem.c: ranges of host memory ---- */

enum sgpu_kind {
	SGPU_MEM_DEVICE,
	SGPU_MEM_MANAGED,
	SGPU_MEM_MODULE,	/* variables; not freed by cuMemFree() */
	SGPU_MEM_MODULE_MANAGED,	/* the same, but the host may use them, too */
	SGPU_MEM_POOL,		/* cuMemAllocAsync() */
	SGPU_MEM_GRAPH,		/* memory of allocation nodes, freed by galloc */
	SGPU_MEM_ARRAY,		/* no program knows its address */
	SGPU_MEM_VMM,		/* mapped by cuMemMap(), or the block behind cuMemCreate() */
	SGPU_MEM_IMPORT,	/* another process's memory: no block of the arena */
	SGPU_MEM_HOST,
	SGPU_MEM_REGISTERED,
};

/* One allocation or registered range, as other files see it. */
struct sgpu_range {
	uint64_t base;
	uint64_t size;		/* as asked for */
	uint64_t room;		/* bytes with rounding, which kernels may touch */
	uint64_t id;
	struct sgpu_ctx *ctx;
	struct sgpu_mempool *pool;
	enum sgpu_kind kind;
	int device;		/* of device memory */
	unsigned int flags;	/* flags of host memory */
	bool sync;
	bool absent, counted;	/* of device memory */
};

static inline bool sgpu_is_managed(enum sgpu_kind kind)
{
	return kind == SGPU_MEM_MANAGED || kind == SGPU_MEM_MODULE_MANAGED;
}

/* hints.c: managed memory has ended. */
void sgpu_hints_end(uint64_t base, uint64_t size);

CUresult sgpu_mem_init(bool prefault);
uint64_t sgpu_mem_free_bytes(int device);
/* Of the pool's device, or else of the context's. */
CUresult sgpu_mem_alloc(struct sgpu_ctx *ctx, size_t size, enum sgpu_kind kind,
			struct sgpu_mempool *pool, uint64_t *addr);
CUresult sgpu_mem_alloc_on(int device, struct sgpu_ctx *ctx, size_t size, enum sgpu_kind kind,
			   struct sgpu_mempool *pool, uint64_t *addr);
/* Frees the allocation that starts at @addr. @kinds is a mask of 1 << enum sgpu_kind. */
CUresult sgpu_mem_release(uint64_t addr, unsigned int kinds);
void sgpu_mem_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_mem_forget_pool(struct sgpu_mempool *pool);
/* Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that holds @addr. */
void sgpu_mem_set_sync(uint64_t addr, bool on);
void sgpu_mem_set_ctx(uint64_t addr, struct sgpu_ctx *ctx);
/* Marks memory of an allocation node: it is absent unless a launch has allocated it. */
void sgpu_mem_set_absent(uint64_t addr, bool absent);
/*
 * Device memory that graphs take. It is reserved from the first launch on until it is
 * trimmed while it is absent. It is used while it is not absent.
 */
struct sgpu_graph_bytes {
	uint64_t reserved, used, reserved_high, used_high;
};
struct sgpu_graph_bytes *sgpu_mem_graph_bytes(int device);
void sgpu_mem_graph_trim(int device);
/* Names the allocation at @addr in the books as one that other processes may have, too. */
void sgpu_mem_count_shared(uint64_t addr, uint64_t file, uint64_t id);
bool sgpu_mem_in_arena(uint64_t addr);
/* Finds the device allocation that holds @addr. */
bool sgpu_mem_find(uint64_t addr, struct sgpu_range *out);
/* Finds an absent allocation. Nodes may name its memory, but nothing may touch it. */
bool sgpu_mem_find_absent(uint64_t addr, struct sgpu_range *out);

/* Finds the host range (allocated or registered) that holds @addr. */
bool sgpu_host_find(uint64_t addr, struct sgpu_range *out);
void sgpu_host_drop_ctx(struct sgpu_ctx *ctx);

/* Finds whatever CUDA knows about @addr, device or host memory. */
bool sgpu_range_find(uint64_t addr, struct sgpu_range *out);
bool sgpu_hmm(void);
/* For kernels that run under the lock, and for those that run beside calls. */
extern const struct exec_mem sgpu_exec_mem, sgpu_exec_mem_beside;

/* ---- array.c, texobj.c ---- */

void sgpu_array_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_texref_drop_module(struct sgpu_module *mod);
void sgpu_texture_drop_ctx(struct sgpu_ctx *ctx);
/* Finds a texture for the fetches of kernels: exec_mem.texture. */
bool sgpu_texture_exec(void *ctx, uint64_t handle, struct exec_texture *out);
/* Finds a surface for the loads and stores of kernels: exec_mem.surface. */
bool sgpu_surface_exec(void *ctx, uint64_t handle, struct exec_surface *out);
/* The same for a kernel that runs without the lock, on the device's thread. */
bool sgpu_texture_beside(void *ctx, uint64_t handle, struct exec_texture *out);
bool sgpu_surface_beside(void *ctx, uint64_t handle, struct exec_surface *out);

/*
 * Makes the arena a file that other processes can map. Returns its descriptor, or -1 if
 * that fails; later calls return the same descriptor. Memory keeps its addresses and
 * contents. If a thread writes managed memory meanwhile, that write may be lost.
 */
int sgpu_mem_file(void);
uint64_t sgpu_mem_offset(uint64_t addr);	/* in that file */
/*
 * Returns where in that file the id of the allocation at @addr stands as long as the
 * allocation lives. Returns 0 if there is no place: at most SGPU_EXPORTS allocations can be
 * exported at a time.
 */
#define SGPU_EXPORTS	4096u
uint64_t sgpu_mem_export(uint64_t addr);

bool sgpu_mem_is_file(void);
/* Visits all allocations of device memory, absent ones as well, by their addresses. */
void sgpu_mem_each(void (*visit)(const struct sgpu_range *range, void *arg), void *arg);

/*
 * memory_save.c, for checkpoints: takes the contents of the devices' memory away from them, and
 * puts them back at the same addresses. NOT_SUPPORTED: other processes may have some of it.
 * Before it comes back, it is claimed of the devices at these places, which can fail.
 */
CUresult sgpu_mem_save(void);
CUresult sgpu_mem_claim(const uint8_t place[SGPU_DEVICES]);
void sgpu_mem_unclaim(const uint8_t place[SGPU_DEVICES]);
void sgpu_mem_restore(void);

/* ---- books.c: the use of the device by all processes, for observers outside ---- */

/* Takes a line for this process. Prints one line and returns false if there is none. */
bool sgpu_books_enter(void);
/* Returns true if the books' maker wants this question about memory to fail. */
bool sgpu_books_fail(void);
/*
 * Counts memory of the device at this place. False, where the books bind: the device has not
 * so much left.
 */
bool sgpu_books_add(unsigned int place, uint64_t bytes);
/* What a device has free for this process, to which alone `own' is free. */
uint64_t sgpu_books_free(unsigned int place, uint64_t own);
void sgpu_books_sub(unsigned int place, uint64_t bytes);
/*
 * Count memory that other processes may have, too; it is counted once for all of them. @own
 * is true where it was allocated here, false where another process's memory, or our own
 * once more, is opened.
 */
void sgpu_books_share(unsigned int place, uint64_t file, uint64_t id, uint64_t bytes, bool own);
void sgpu_books_unshare(uint64_t file, uint64_t id, bool own);

/* ---- ipc.c: memory of other processes ---- */

/* ipc_file.c: offers this file to processes of the same user. *number helps them find it. */
bool sgpu_ipc_offer(int file, uint32_t *number);
/* Fetches the file of another process. The caller closes it. Returns -1 if there is none. */
int sgpu_ipc_fetch(pid_t pid, uint32_t number);
bool sgpu_ipc_any(void);	/* memory of other processes is open */
bool sgpu_ipc_find(uint64_t addr, struct sgpu_range *out);
void sgpu_ipc_drop_ctx(struct sgpu_ctx *ctx);
/*
 * Memory of a pool that another process imports: it is freed as a pool's, and not closed. @pool is
 * the pool's id in the process that made it. `data` has 64 bytes.
 */
CUresult sgpu_ipc_export_pooled(void *data, uint64_t addr, uint64_t pool);
CUresult sgpu_ipc_import_pooled(struct sgpu_ctx *ctx, const void *data, int32_t pid, uint64_t pool,
				uint64_t *addr);
/* Frees imported memory of a pool. Returns false if it is none. */
bool sgpu_ipc_free_pooled(uint64_t addr);

/* ---- checkpoint.c ---- */

/* From now on processes that may look into this one can checkpoint it. */
CUresult sgpu_checkpoint_init(void);

/* ---- vmm.c ---- */

bool sgpu_vmm_reserved(uint64_t addr);
/* The same as sgpu_mem_save() for what cuMemCreate() has made. */
CUresult sgpu_vmm_save(void);
CUresult sgpu_vmm_restore(void);
/* Finds mapped memory with access. Neighbours with the same access count as one range. */
bool sgpu_vmm_find(uint64_t addr, struct sgpu_range *out);

/* ---- memcpy.c ---- */

/* Returns INVALID_VALUE unless [addr, addr + n) lies in one known range. */
CUresult sgpu_check_device(uint64_t addr, size_t n);
/* Does the same, but accepts memory that is absent, too. */
CUresult sgpu_check_planned(uint64_t addr, size_t n);
/* Does the same for an address that may also be ordinary host memory. */
CUresult sgpu_check_any(uint64_t addr, size_t n);
/* Checks a copy of a box, and does it if @run is true. */
CUresult sgpu_copy_box(const CUDA_MEMCPY3D *c, bool run);

/* ---- memset.c ---- */

CUresult sgpu_fill_box(const CUDA_MEMSET_NODE_PARAMS *p, bool run);

/* ---- stream.c, event.c ---- */

/* The same as without a stream, but a thread without a context uses that of its stream. */
CUresult sgpu_enter_stream(CUstream stream, struct sgpu_ctx **ctx);
CUresult sgpu_beside_stream(CUstream stream, struct sgpu_ctx **ctx);
CUresult sgpu_submit_stream(CUstream stream, struct sgpu_ctx **ctx);
struct sgpu_stream *sgpu_stream_get(struct sgpu_ctx *ctx, CUstream stream);
struct sgpu_stream *sgpu_stream_new(struct sgpu_ctx *ctx, unsigned int flags,
				    int priority, bool builtin);
void sgpu_stream_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_event_drop_ctx(struct sgpu_ctx *ctx);
CUresult sgpu_event_new(struct sgpu_ctx *ctx, CUevent *out, unsigned int flags);
void sgpu_event_now(struct sgpu_event *e);	/* it is recorded now */
void sgpu_clock_init(void);
void sgpu_fatbin_init(void);
/* Returns INVALID_HANDLE unless it is a stream of any context. */
CUresult sgpu_stream_check(struct sgpu_ctx *ctx, CUstream stream);

/* Translates the stream argument of a `_ptsz` twin. */
static inline CUstream sgpu_per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

/* ---- capture.c ---- */

struct sgpu_launch;

void sgpu_nodes_clear(struct sgpu_nodes *s);

/* Number of captures under way. If it is 0, no path looks any further. */
extern unsigned int sgpu_captures;
/*
 * Decides whether work for a stream becomes a node. *s is the capturing stream, or NULL if
 * the work is to be done now. Returns an error if the rules of capture forbid the call.
 */
CUresult sgpu_capture_find(struct sgpu_ctx *ctx, CUstream handle,
			   struct sgpu_stream **s);
/* Checks a call that a capture forbids unless its mode is relaxed. cuMemAlloc() is such a call. */
CUresult sgpu_capture_unsafe_call(void);
/* Ends the capture for a call on a stream or event that cannot be captured. */
CUresult sgpu_capture_break(struct sgpu_stream *s);
CUresult sgpu_capture_copy(struct sgpu_stream *s, const CUDA_MEMCPY3D *c);
CUresult sgpu_capture_fill(struct sgpu_stream *s,
			   const CUDA_MEMSET_NODE_PARAMS *p);
CUresult sgpu_capture_kernel(struct sgpu_stream *s, const void *handle,
			     const struct sgpu_launch *l);
CUresult sgpu_capture_host(struct sgpu_stream *s, CUhostFn fn, void *arg);
CUresult sgpu_capture_alloc(struct sgpu_stream *s,
			    const CUDA_MEM_ALLOC_NODE_PARAMS *p,
			    CUdeviceptr *addr);
CUresult sgpu_capture_free(struct sgpu_stream *s, CUdeviceptr addr);
CUresult sgpu_capture_record(struct sgpu_stream *s, struct sgpu_event *e,
			     bool external);
CUresult sgpu_capture_wait(struct sgpu_stream *s, struct sgpu_event *e,
			   bool external);
/* A stream is destroyed. */
void sgpu_capture_leave(struct sgpu_stream *s);

static inline CUresult sgpu_capture_stream(struct sgpu_ctx *ctx, CUstream handle,
					   struct sgpu_stream **s)
{
	*s = NULL;
	return sgpu_captures ? sgpu_capture_find(ctx, handle, s) : CUDA_SUCCESS;
}

/*
 * For work to a stream of any context: INVALID_HANDLE unless it is one; in *s the stream if it is
 * being captured, else NULL.
 */
static inline CUresult sgpu_work_stream(struct sgpu_ctx *ctx, CUstream handle,
					struct sgpu_stream **s)
{
	CUresult rc = sgpu_stream_check(ctx, handle);

	return rc ? rc : sgpu_capture_stream(ctx, handle, s);
}

static inline CUresult sgpu_capture_unsafe(void)
{
	return sgpu_captures ? sgpu_capture_unsafe_call() : CUDA_SUCCESS;
}

/*
 * Frees memory of a graph's allocation node outside of graphs. Returns false if it is no
 * such memory.
 */
bool sgpu_galloc_free(uint64_t addr, CUresult *rc);
/* Sets a condition for cudaGraphSetConditional(). Returns false if there is none of that handle. */
bool sgpu_cond_set(uint64_t handle, uint32_t value);
/* The same for a kernel that runs without the lock. */
bool sgpu_cond_set_beside(uint64_t handle, uint32_t value);

/* ---- fatbin.c, module.c, library.c ---- */

/*
 * Finds the PTX texts that this device can run, best first. The image is a fatbin wrapper,
 * a fatbin or a PTX text. @size bounds an image that came from a file; it is SIZE_MAX if
 * the image itself has to say how long it is.
 */
CUresult sgpu_images_find(const void *data, size_t size,
			  struct sgpu_images *out);
void sgpu_images_free(struct sgpu_images *images);
/* Adds a text and owns it from then on, even if the call fails. */
CUresult sgpu_images_add(struct sgpu_images *images,
			 const struct sgpu_image *image);
/* join_texts.c: makes one text of several that refer to each other. */
CUresult sgpu_join(const struct sgpu_image *parts, unsigned int n,
		   struct sgpu_image *out);
/* Read a whole file; *data is malloc()ed, with a NUL after the last byte. */
CUresult sgpu_file_read(const char *path, char **data, size_t *size);

#define SGPU_LOG_LEN 1024

/* Load one text; @ctx is NULL for a library that no context uses yet. */
CUresult sgpu_module_load(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			  const struct sgpu_image *image,
			  struct sgpu_module **out, char *log);
/*
 * Return where a library keeps its managed variable of that name, and whether an address is
 * such a variable.
 */
void *sgpu_library_managed(const struct sgpu_library *lib, const char *name);
bool sgpu_library_keeps(const struct sgpu_library *lib, const void *addr);
/* Load the best text that loads; *@used is its index. */
CUresult sgpu_module_load_best(struct sgpu_ctx *ctx,
			       const struct sgpu_images *images,
			       struct sgpu_module **out, unsigned int *used,
			       char *log);
void sgpu_module_free(struct sgpu_module *mod);
void sgpu_module_drop_ctx(struct sgpu_ctx *ctx);
struct sgpu_func *sgpu_module_func(struct sgpu_module *mod, const char *name);
CUresult sgpu_module_global(struct sgpu_module *mod, const char *name,
			    CUdeviceptr *addr, size_t *size);

/* The log buffers that the options of a load name. */
struct sgpu_jit {
	unsigned int n;
	const CUjit_option *options;
	void **values;
};

CUresult sgpu_jit_check(const struct sgpu_jit *jit);
void sgpu_jit_report(const struct sgpu_jit *jit, const char *log);

/* Returns a library's module in a context; loads it if it is not there yet. */
CUresult sgpu_library_module(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			     struct sgpu_module **out);
/* Finds a launchable function by a CUfunction or a CUkernel. */
CUresult sgpu_func_get(struct sgpu_ctx *ctx, const void *handle,
		       struct sgpu_func **out);
CUresult sgpu_kernel_func(struct sgpu_ctx *ctx, struct sgpu_kernel *kernel,
			  struct sgpu_func **out);

/* ---- func.c ---- */

void sgpu_tune_init(struct sgpu_tune *tune, const struct ptx_func *info);
CUresult sgpu_tune_get(const struct sgpu_tune *tune,
		       const struct ptx_func *info,
		       const struct sgpu_code_info *code,
		       CUfunction_attribute which, int *value);
CUresult sgpu_tune_check(const struct ptx_func *info,
			 CUfunction_attribute which, int value);
static inline size_t sgpu_max_dyn_shared(const struct sgpu_func *f)
{
	return f->tune.value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
}

CUresult sgpu_param_info(const struct ptx_func *info, size_t index,
			 size_t *offset, size_t *size);

/* ---- launch.c ---- */

struct sgpu_seen;

struct sgpu_launch {
	struct sgpu_func *func;
	uint32_t grid[3], block[3];
	uint32_t cluster[3];	/* as the launch gives it; zeros: not at all */
	size_t shared;
	CUstream stream;
	bool cooperative;
	uint32_t shape[3];	/* of its clusters, from sgpu_launch_check() on */
	void **params, **extra;
	CUevent done;		/* recorded after the launch; NULL = none */
	struct sgpu_seen *seen;	/* where to describe what was done; NULL: tell the watcher */
};

/* Checks a launch completely. *bytes are its packed parameters, valid until the next check. */
CUresult sgpu_launch_check(struct sgpu_ctx *ctx, const void *handle,
			   struct sgpu_launch *l, const char **bytes);
/*
 * Runs a launch that sgpu_launch_check() has accepted. Where there is a queue (queue.h) it gives
 * the lock back meanwhile.
 */
CUresult sgpu_launch_run(struct sgpu_ctx *ctx, const struct sgpu_launch *l,
			 const void *bytes);
/* Handles one attribute of a launch: obeys it, ignores it as a hint, or refuses it. */
CUresult sgpu_launch_attribute(struct sgpu_launch *l, const CUlaunchAttribute *a);

/* Takes shape, stream and attributes from a configuration. */
CUresult sgpu_launch_config(struct sgpu_launch *l, const CUlaunchConfig *config);

/* Write what kernels printed to the standard output. */
void sgpu_print_flush(void);
/*
 * Reads the number of threads from the environment. If it is invalid, prints one line and
 * returns false.
 */
bool sgpu_threads_wanted(uint32_t *threads);
CUresult sgpu_launch_init(uint32_t threads);

/* ---- cluster.c ---- */

/* The shape of a launch's clusters: its own, or the function's. Zeros: it has none. */
void sgpu_cluster_shape(const struct sgpu_launch *l, uint32_t shape[3]);
/* Checks that shape as NVIDIA's driver does: what does not fit is INVALID_CLUSTER_SIZE. */
CUresult sgpu_cluster_check(const struct sgpu_launch *l);

/* ---- occupancy.c ---- */

/* Returns how many blocks of @threads threads one multiprocessor holds at once. */
unsigned int sgpu_occupancy(const struct sgpu_func *f, unsigned int threads,
			    size_t dyn_shared);

/* ---- gen_softgpu_procs.c ---- */

enum { SGPU_PROC_PLAIN, SGPU_PROC_TWIN };

struct sgpu_proc {
	const char *base;
	int version;
	int variant;
	void *addr;
};

extern const struct sgpu_proc sgpu_procs[];
extern const unsigned int sgpu_nprocs;

#endif
