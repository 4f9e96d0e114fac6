/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What generated and handwritten stubs share above the connection (client.h), by the files that
 * own it.
 */
#ifndef WORMHOLE_STUBS_H
#define WORMHOLE_STUBS_H

#include "client.h"

/* --- The process ------------------------------------------------------------- */

/* init.c: open the transport and say hello; with init, what cuInit does. */
CUresult wh_connect(bool init);

/* fork.c: what a child begins with. */
void wh_fork_matters(void);	/* from now on there is something that a child must not have */
bool wh_fork_may_connect(void);	/* in a child */
bool wh_registered_hold(void);	/* register.c: around a fork */
void wh_registered_release(void);
void wh_registered_after_fork(void);	/* in the child */
void wh_managed_after_fork(void);

/* --- Calls -------------------------------------------------------------------- */

/*
 * In place of wh_run(), for a call whose result is its only answer: send it and
 * return at once where that changes no result (post.c). The first `key` bytes
 * of the request, whole words, decide about what CUDA answers to it.
 */
CUresult wh_post(struct wh_call *c, size_t key);
CUresult wh_post_memory(struct wh_call *c, size_t key);	/* with addresses among them */
/* An asynchronous copy of the program's own memory. */
CUresult wh_post_copy(struct wh_call *c, size_t key);
/* wh_library_run() but for what it changes. */
bool wh_library_answer(struct wh_call *c, size_t fixed);
/* long.c: the same of a request in the data area, and its end. */
bool wh_long_answer(struct wh_call *c, size_t fixed);
void wh_long_end(struct wh_call *c);

/* --- Streams --------------------------------------------------------------------- */

uint64_t wh_thread_default_stream(void);

/* What a stream is called on the wire. The per-thread default one is a real one of ours. */
static inline uint64_t wh_stream(CUstream s)
{
	return s == CU_STREAM_PER_THREAD ? wh_thread_default_stream() : (uintptr_t)s;
}

/* Wait without holding the slot for long when other threads want it. */
CUresult wh_wait(uint32_t kind, uint64_t handle);
void wh_drop_thread_streams(struct wh_thread *t);

/* --- Devices: the worker has its own numbers for them (visible.c) ------------------- */

/* Does the list leave no device, whatever there is? */
bool wh_visible_none(const char *list);
/*
 * The numbers of the n devices that the program shall see, by the values of
 * CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; NULL = not set.
 */
CUresult wh_visible_select(const char *list, const char *order, const struct wh_device_info *info,
			   int n, int *chosen, int *count);
/* The worker's number for a device of the program's; special ones (< 0) stay. */
int wh_device_real(int dev);
/* The program's number for a device of the worker's, or CUDA_ERROR_INVALID_DEVICE. */
CUresult wh_device_shown(int *dev, int real);
/* The same for `count` memory locations, `offset` bytes into objects of `stride` bytes. */
void wh_locations_real(void *first, size_t count, size_t stride, size_t offset);
void wh_locations_shown(void *first, size_t count, size_t stride, size_t offset);

/* --- Memory ------------------------------------------------------------------------ */

/* data.c: the data area and the far area. Blocks are page aligned; NULL when full. */
bool wh_data_init(void);
void *wh_data_alloc(size_t size, unsigned int flags, bool managed);
/*
 * memory.c: pinned memory of our own. Freeing it is a call where it is outside of the data area.
 */
void *wh_pinned_alloc(size_t size);
void wh_pinned_free(void *p);
/* graph_copy.c: gives back what ended copies of graphs had pinned. False: nothing. */
bool wh_graph_copies_reclaim(void);
void *wh_far_alloc(size_t size, unsigned int flags, bool managed);	/* not pinned yet */
bool wh_data_free(void *p);
/* The block or registered range that holds p. */
struct wh_block {
	uint8_t *start;
	size_t size;
	unsigned int flags;	/* of cuMemHostAlloc */
	bool managed;
	bool used;
	bool registered;	/* the program's own memory, by cuMemHostRegister */
	CUdeviceptr device;	/* of a registered block: where the device sees it */
};
bool wh_data_block(const void *p, struct wh_block *out);

/* register.c: memory that the program registers. */
bool wh_registered_block(const void *p, struct wh_block *out);
/* Is all of it at the same address in the worker? */
bool wh_registered_there(const void *p, size_t n);
/* A block of the far area becomes pinned memory; `at`: at that address in the worker, too. */
CUresult wh_host_block(uint32_t op, void *addr, size_t size, void *at, unsigned int flags);
/* Drop what a block of the far area holds: its pages become holes again. */
void wh_far_empty(void *p, size_t size);

static inline bool wh_in_near(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p, base = (uintptr_t)wh_client.link.data;

	return a >= base && a - base <= wh_client.link.data_size &&
	       n <= wh_client.link.data_size - (a - base);
}

static inline bool wh_in_far(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p, base = (uintptr_t)wh_client.link.far;

	return a >= base && a - base < wh_client.link.far_size &&
	       n <= wh_client.link.far_size - (a - base);
}

/* Is [p, p + n) the same memory at the same address in the worker? */
static inline bool wh_in_data(const void *p, size_t n)
{
	return wh_in_near(p, n) || wh_in_far(p, n) ||
	       (wh_client.registered && wh_registered_there(p, n));
}

/* ranges.c: which addresses are the device's. */
void wh_range_add(CUdeviceptr start, size_t size);
void wh_range_remove(CUdeviceptr start);

/*
 * managed.c: managed variables. Where the worker is another process, a mirror of
 * each lies at its address here. While wh_client.mirrors says that there are
 * some, the hooks below run.
 */
/* It was looked up: from now on the program can use it. */
CUresult wh_managed_add(uint64_t owner, uint64_t addr, uint64_t size);
/* Is p in one, mirrored or not? */
bool wh_managed_has(const void *p);
/* Before a call begins: what the host has written goes to the device. */
CUresult wh_managed_before(uint32_t call);
CUresult wh_managed_give(void);
/* With the slot: a call is about to be sent; a launch also says into which stream. */
void wh_managed_sent(uint32_t call);
void wh_managed_launched(uint64_t stream);
/* With the slot: its result. wh_slots[].fetch says whether the device's work is done. */
void wh_managed_answered(CUresult res);
/* With the slot, before a wait is sent: what it waits for; 0: nobody knows. */
uint64_t wh_managed_ticket(uint32_t kind, uint64_t handle);
void wh_managed_missed(void);	/* a call ended that nobody counted */
/* After it: what the device has written comes back. */
CUresult wh_managed_fetch(uint64_t ticket);
/* The same where no result can say that it failed: the next call does. */
void wh_managed_after(void);

/* staging.c: copies between pageable memory and the device, in pieces. */
struct wh_staged {
	uint32_t kind;		/* WH_COPY_* */
	uint64_t device;	/* address or array handle */
	uint64_t offset;	/* in an array */
	void *host;
	size_t size;
	uint64_t stream;	/* on the wire */
	bool wait;		/* return only when a copy to the device has arrived, too */
};
bool wh_staging_init(void);
CUresult wh_staged_copy(const struct wh_staged *c);

/*
 * bulk.c: memcpy() for the staging lock's holder, on several CPUs if that helps. n bytes, a part
 * of a copy of `whole`.
 */
void wh_bulk_copy(void *dst, const void *src, size_t n, size_t whole);

/* launch.c: a kernel's parameters in one block, as its layout says. */
struct wh_params {
	void **array;		/* kernelParams, or NULL */
	const void *buffer;	/* from `extra` */
	size_t size;
};
CUresult wh_params_take(void **array, void **extra, struct wh_params *p);
/* With the slot held: bytes packed to `to`, or SIZE_MAX while the layout is unknown. */
size_t wh_params_pack(uint64_t function, const struct wh_params *p, uint8_t *to);
CUresult wh_params_ask(uint64_t function);

/* capture.c: the mode that a call has to travel with while something is captured. */
uint32_t wh_capture_mode_now(const struct wh_thread *t);

/* graph_node.c: what a capturing stream cannot do itself. */
CUresult wh_graph_capture_host(CUstream stream, CUhostFn fn, void *data);
CUresult wh_graph_capture_copy(const struct wh_staged *c);

/* output.c: print what the driver printed in the worker. */
void wh_output_print(void);

/* image.c: size a module image and bring it to the worker. */
CUresult wh_upload(const void *data, size_t size);
struct wh_image_part;
CUresult wh_upload_image(const void *image, uint32_t *kind, struct wh_image_part **parts,
			 uint32_t *count);
/* The whole file in memory, with a NUL behind it; free() it. */
CUresult wh_read_file(const char *path, void **data, size_t *size);

/* context.c: contexts that this process has seen, with their devices. */
void wh_context_seen(uint64_t ctx, CUdevice dev);

#endif
