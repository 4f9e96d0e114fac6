/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the driver half share: the objects behind the handles, the
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#pragma GCC visibility push(default)	/* as cuda.h does by itself */
#include <cudaProfiler.h>
#pragma GCC visibility pop

#include "../exec/exec.h"
#include "../ptx/ptx.h"
#include "identity.h"

#define SGPU_PTX_VERSION	90	/* that of CUDA 13.0 */
#define SGPU_TARGET		(10 * SGPU_CC_MAJOR + SGPU_CC_MINOR)
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
	bool builtin;		/* legacy or per-thread: not destroyable */
	struct sgpu_capture *capture;	/* NULL: work is done at once */
	struct sgpu_nodes front;	/* what the next captured node follows */
};

struct sgpu_event {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
	unsigned int flags;
	bool recorded;
	bool imported;		/* of another process */
	uint64_t tsc;
	uint64_t capture;	/* id of the one it was last recorded in; 0 = none */
	struct sgpu_nodes front;
};

struct sgpu_ctx {
	struct sgpu_obj obj;
	unsigned int flags;
	bool alive;		/* a primary context may be reset and come back */
	size_t limit[SGPU_NLIMITS];
	CUfunc_cache cache;
	struct sgpu_stream *legacy;
	struct sgpu_stream *per_thread;
	struct sgpu_ctx *parent;	/* of a green context: the primary one */
	uint64_t sms;		/* and the multiprocessors that it has, a bit each; 0: all */
};

struct sgpu_green {
	struct sgpu_obj obj;
	struct sgpu_ctx *ctx;
};

/* What cuDevResourceGenerateDesc() makes; it never ends. */
struct sgpu_desc {
	struct sgpu_obj obj;
	uint64_t sms;
};

/* One PTX text found in an image, malloc()ed and NUL-terminated. */
struct sgpu_image {
	char *text;
	size_t len;
	unsigned int target;	/* compute capability * 10; 0 = not known */
	unsigned int version;	/* of PTX, * 10 */
	unsigned int part;	/* of what is linked: see struct wrapper */
};

/* A list of texts, which it owns. All zero is an empty one. */
struct sgpu_images {
	struct sgpu_image *image;
	unsigned int n, room;
};

/* What a function's attributes say of its whole module. */
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

/* What cuFuncSetAttribute() and cuKernelSetAttribute() can change. */
struct sgpu_tune {
	int value[CU_FUNC_ATTRIBUTE_MAX];
	uint32_t own;		/* mask of those set on the function itself */
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
	struct sgpu_shared_var *managed;	/* one for all contexts */
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
	struct sgpu_func *last;	/* of the context that used it last */
	struct sgpu_tune tune;
};

struct sgpu_mempool {
	struct sgpu_obj obj;
	int reuse[3];		/* settings that have no effect here */
	uint64_t threshold;
	uint64_t used, used_high, reserved_high;
	size_t max_size;	/* 0 = no bound */
};

/* What cuLinkCreate() made and cuLinkAddData() filled. */
struct sgpu_link {
	struct sgpu_obj obj;
	struct sgpu_images parts;
	char *out;
	unsigned int njit;
	CUjit_option *options;
	void **values;		/* the caller's: logs are written there */
};

void *sgpu_obj_new(enum sgpu_type type);
void sgpu_obj_free(void *object);
/* The object behind a handle, or NULL: any bit pattern may be asked. */
void *sgpu_obj_get(enum sgpu_type type, const void *handle);
/* Call @visit for each live object of a type. */
void sgpu_obj_each(enum sgpu_type type, void (*visit)(void *object, void *arg),
		   void *arg);
void sgpu_obj_prefault(void);

/* ---- driver.c ---- */

/* Initialised, and not inside a host function. */
CUresult sgpu_enter_global(void);
/* That, and no kernel has faulted in this process. */
CUresult sgpu_enter_healthy(void);
/* That, and a context is current. */
CUresult sgpu_enter(struct sgpu_ctx **ctx);
CUresult sgpu_leave(CUresult rc);
/* What faults have made of the process so far. */
CUresult sgpu_health(void);
/* A kernel faulted: each later call that would use the device returns @rc. */
void sgpu_poison(CUresult rc);
/* Run @fn without the lock and with CUDA calls forbidden in this thread. */
void sgpu_call_out(void (*fn)(void *arg), void *arg);
uint64_t sgpu_new_id(void);
bool sgpu_env_flag(const char *name);
void sgpu_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void sgpu_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
__attribute__((visibility("hidden"))) int sgpu_unsupported(const char *name);

/* ---- context.c ---- */

/* The current context of this thread: INVALID_CONTEXT when there is none. */
CUresult sgpu_ctx_current(struct sgpu_ctx **ctx);
bool sgpu_device_ok(CUdevice dev);
/* A green context on these multiprocessors, which retains the primary one; and its end. */
CUresult sgpu_ctx_green(uint64_t sms, struct sgpu_ctx **out);
void sgpu_ctx_green_end(struct sgpu_ctx *ctx);

/* ---- memory.c: device memory; hostmem.c: ranges of host memory ---- */

enum sgpu_kind {
	SGPU_MEM_DEVICE,
	SGPU_MEM_MANAGED,
	SGPU_MEM_MODULE,	/* variables; not freed by cuMemFree() */
	SGPU_MEM_MODULE_MANAGED,	/* the same, of the host's, too */
	SGPU_MEM_POOL,		/* cuMemAllocAsync() */
	SGPU_MEM_GRAPH,		/* of allocation nodes: freed by galloc */
	SGPU_MEM_ARRAY,		/* no address that a program knows */
	SGPU_MEM_VMM,		/* cuMemMap(); also a block behind cuMemCreate() */
	SGPU_MEM_IMPORT,	/* of another process: no block of the arena */
	SGPU_MEM_HOST,
	SGPU_MEM_REGISTERED,
};

/* One allocation or registered range, as others see it. */
struct sgpu_range {
	uint64_t base;
	uint64_t size;		/* as asked for */
	uint64_t room;		/* with rounding: what kernels may touch */
	uint64_t id;
	struct sgpu_ctx *ctx;
	struct sgpu_mempool *pool;
	enum sgpu_kind kind;
	unsigned int flags;	/* of host memory */
	bool sync;
};

static inline bool sgpu_is_managed(enum sgpu_kind kind)
{
	return kind == SGPU_MEM_MANAGED || kind == SGPU_MEM_MODULE_MANAGED;
}

CUresult sgpu_mem_init(size_t total, bool prefault);
uint64_t sgpu_mem_total(void);
uint64_t sgpu_mem_free_bytes(void);
CUresult sgpu_mem_alloc(struct sgpu_ctx *ctx, size_t size, enum sgpu_kind kind,
			struct sgpu_mempool *pool, uint64_t *addr);
/* Free by exact base; @kinds is a mask of 1 << enum sgpu_kind. */
CUresult sgpu_mem_release(uint64_t addr, unsigned int kinds);
void sgpu_mem_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_mem_forget_pool(struct sgpu_mempool *pool);
/* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that holds @addr. */
void sgpu_mem_set_sync(uint64_t addr, bool on);
void sgpu_mem_set_ctx(uint64_t addr, struct sgpu_ctx *ctx);
/* Memory of an allocation node: absent but while a launch has allocated it. */
void sgpu_mem_set_absent(uint64_t addr, bool absent);
/*
 * What such memory takes of the device: from the first launch on, until it is trimmed while
 * it is absent. In use is what is not absent.
 */
struct sgpu_graph_bytes {
	uint64_t reserved, used, reserved_high, used_high;
};
struct sgpu_graph_bytes *sgpu_mem_graph_bytes(void);
void sgpu_mem_graph_trim(void);
/* Another name in the books for the allocation at @addr: others may have it, too. */
void sgpu_mem_count_shared(uint64_t addr, uint64_t file, uint64_t id);
bool sgpu_mem_in_arena(uint64_t addr);
/* The device allocation that holds @addr. */
bool sgpu_mem_find(uint64_t addr, struct sgpu_range *out);
/* The same of what is absent: nodes may name it, nothing may touch it. */
bool sgpu_mem_find_absent(uint64_t addr, struct sgpu_range *out);

/* The host range (allocated or registered) that holds @addr. */
bool sgpu_host_find(uint64_t addr, struct sgpu_range *out);
void sgpu_host_drop_ctx(struct sgpu_ctx *ctx);

/* Device or host: whatever CUDA knows about @addr. */
bool sgpu_range_find(uint64_t addr, struct sgpu_range *out);
bool sgpu_hmm(void);
extern const struct exec_mem sgpu_exec_mem;

/* ---- array.c, texobj.c ---- */

void sgpu_array_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_texture_drop_ctx(struct sgpu_ctx *ctx);
/* For the fetches of kernels: exec_mem.texture. */
bool sgpu_texture_exec(void *ctx, uint64_t handle, struct exec_texture *out);

/*
 * Make the arena a file that other processes can map, once: its descriptor, -1
 * if that cannot be. Memory stays where it is and keeps what it holds. A thread
 * that writes managed memory meanwhile may see that write lost.
 */
int sgpu_mem_file(void);
uint64_t sgpu_mem_offset(uint64_t addr);	/* in that file */
/*
 * Where in that file the id of the allocation at @addr stands for as long as it
 * lives, 0 for nowhere: no more than SGPU_EXPORTS can be exported at a time.
 */
#define SGPU_EXPORTS	4096u
uint64_t sgpu_mem_export(uint64_t addr);

/* ---- books.c: what all processes have of the device, for who looks from outside ---- */

/* A line of its own for this process; false, and one line says why: there is none. */
bool sgpu_books_enter(void);
/* Who made the books wants this question about memory to fail. */
bool sgpu_books_fail(void);
void sgpu_books_add(uint64_t bytes);
void sgpu_books_sub(uint64_t bytes);
/*
 * The same for what other processes may have, too: once for all of them. Own: it was
 * allocated here; else it is another's that is opened, or once more our own.
 */
void sgpu_books_share(uint64_t file, uint64_t id, uint64_t bytes, bool own);
void sgpu_books_unshare(uint64_t file, uint64_t id, bool own);

/* ---- ipc.c: memory of other processes ---- */

/* ipc_file.c: give this file to who asks from now on; *number is part of the way to it. */
bool sgpu_ipc_offer(int file, uint32_t *number);
/* That of another process, to be closed; -1: not there. */
int sgpu_ipc_fetch(pid_t pid, uint32_t number);
bool sgpu_ipc_find(uint64_t addr, struct sgpu_range *out);
void sgpu_ipc_drop_ctx(struct sgpu_ctx *ctx);

/* ---- vmm.c ---- */

bool sgpu_vmm_reserved(uint64_t addr);
/* Mapped with access; neighbours with the same access count as one. */
bool sgpu_vmm_find(uint64_t addr, struct sgpu_range *out);

/* ---- memcpy.c ---- */

/* INVALID_VALUE unless [addr, addr + n) lies in one known range. */
CUresult sgpu_check_device(uint64_t addr, size_t n);
/* The same, but memory that is absent will do. */
CUresult sgpu_check_planned(uint64_t addr, size_t n);
/* The same for an address that may also be ordinary host memory. */
CUresult sgpu_check_any(uint64_t addr, size_t n);
/* A copy of a box: only checked, or done as well. */
CUresult sgpu_copy_box(const CUDA_MEMCPY3D *c, bool run);

/* ---- memset.c ---- */

CUresult sgpu_fill_box(const CUDA_MEMSET_NODE_PARAMS *p, bool run);

/* ---- stream.c, event.c ---- */

/* As sgpu_enter(); a thread without a context is in its stream's. */
CUresult sgpu_enter_stream(CUstream stream, struct sgpu_ctx **ctx);
struct sgpu_stream *sgpu_stream_get(struct sgpu_ctx *ctx, CUstream stream);
struct sgpu_stream *sgpu_stream_new(struct sgpu_ctx *ctx, unsigned int flags,
				    int priority, bool builtin);
void sgpu_stream_drop_ctx(struct sgpu_ctx *ctx);
void sgpu_event_drop_ctx(struct sgpu_ctx *ctx);
CUresult sgpu_event_new(struct sgpu_ctx *ctx, CUevent *out, unsigned int flags);
void sgpu_clock_init(void);
void sgpu_fatbin_init(void);
/* INVALID_HANDLE unless it is a stream, of whatever context. */
CUresult sgpu_stream_check(struct sgpu_ctx *ctx, CUstream stream);

/* What a `_ptsz` twin makes of its stream argument. */
static inline CUstream sgpu_per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

/* ---- capture.c ---- */

struct sgpu_launch;

void sgpu_nodes_clear(struct sgpu_nodes *s);

/* Captures under way: with none, no path looks any further. */
extern unsigned int sgpu_captures;
/*
 * Does work for a stream become a node? *s is that stream, or NULL: do it now.
 * An error when the rules of capture forbid the call.
 */
CUresult sgpu_capture_find(struct sgpu_ctx *ctx, CUstream handle,
			   struct sgpu_stream **s);
/* A call that a capture forbids unless it is relaxed, as cudaMalloc() is. */
CUresult sgpu_capture_unsafe_call(void);
/* A call on a stream or event that cannot be captured: ends the capture. */
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
/* A stream that ends. */
void sgpu_capture_leave(struct sgpu_stream *s);

static inline CUresult sgpu_capture_stream(struct sgpu_ctx *ctx, CUstream handle,
					   struct sgpu_stream **s)
{
	*s = NULL;
	return sgpu_captures ? sgpu_capture_find(ctx, handle, s) : CUDA_SUCCESS;
}

static inline CUresult sgpu_capture_unsafe(void)
{
	return sgpu_captures ? sgpu_capture_unsafe_call() : CUDA_SUCCESS;
}

/* Memory of a graph's allocation node that is freed outside of graphs. */
bool sgpu_galloc_free(uint64_t addr, CUresult *rc);

/* ---- fatbin.c, module.c, library.c ---- */

/*
 * Find the PTX texts that this device can run in a fatbin wrapper, a fatbin or
 * PTX text, best first. @size bounds an image that came from a file; SIZE_MAX
 * when the image itself has to say how long it is.
 */
CUresult sgpu_images_find(const void *data, size_t size,
			  struct sgpu_images *out);
void sgpu_images_free(struct sgpu_images *images);
/* Takes the text over, also when it fails. */
CUresult sgpu_images_add(struct sgpu_images *images,
			 const struct sgpu_image *image);
/* join_texts.c: one text of several that refer to each other. */
CUresult sgpu_join(const struct sgpu_image *parts, unsigned int n,
		   struct sgpu_image *out);
/* Read a whole file; *data is malloc()ed, with a NUL after the last byte. */
CUresult sgpu_file_read(const char *path, char **data, size_t *size);

#define SGPU_LOG_LEN 1024

/* Load one text; @ctx is NULL for a library that no context uses yet. */
CUresult sgpu_module_load(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			  const struct sgpu_image *image,
			  struct sgpu_module **out, char *log);
/* Where a library keeps its managed variable of that name; is this address one's? */
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

/* The log buffers among the options of a load. */
struct sgpu_jit {
	unsigned int n;
	const CUjit_option *options;
	void **values;
};

CUresult sgpu_jit_check(const struct sgpu_jit *jit);
void sgpu_jit_report(const struct sgpu_jit *jit, const char *log);

/* The instance of a library in a context, loaded when it is not there yet. */
CUresult sgpu_library_module(struct sgpu_ctx *ctx, struct sgpu_library *lib,
			     struct sgpu_module **out);
/* A launchable function from a CUfunction or a CUkernel. */
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

struct sgpu_launch {
	struct sgpu_func *func;
	uint32_t grid[3], block[3];
	size_t shared;
	CUstream stream;
	bool cooperative;
	void **params, **extra;
	CUevent done;		/* recorded after the launch; NULL = none */
};

/* Check all of a launch in @ctx; *bytes: its parameters, until the next one. */
CUresult sgpu_launch_check(struct sgpu_ctx *ctx, const void *handle,
			   struct sgpu_launch *l, const char **bytes);
/* Run what was checked. */
CUresult sgpu_launch_run(struct sgpu_ctx *ctx, const struct sgpu_launch *l,
			 const void *bytes);
/* One attribute of a launch: obeyed, a mere hint, or refused. */
CUresult sgpu_launch_attribute(struct sgpu_launch *l, const CUlaunchAttribute *a);

/* Write what kernels printed to the standard output. */
void sgpu_print_flush(void);
/* False, and one line says why: what the environment has is no number of threads. */
bool sgpu_threads_wanted(uint32_t *threads);
CUresult sgpu_launch_init(uint32_t threads);

/* ---- occupancy.c ---- */

/* Blocks of @threads threads that one multiprocessor holds at once. */
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
