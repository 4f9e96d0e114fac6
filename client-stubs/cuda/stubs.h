/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that generated and handwritten stubs share above the connection (client.h),
 * grouped by the files that own them.
 */
#ifndef WORMHOLE_STUBS_H
#define WORMHOLE_STUBS_H

#include "client.h"

/* --- The process ------------------------------------------------------------- */

/* init.c: opens the transport and says hello. `init`: also does what cuInit does. */
CUresult wh_connect(bool init);

/* fork.c: the state with which a child begins. */
void wh_fork_matters(void);	/* from now on there is something that a child must not have */
bool wh_fork_may_connect(void);	/* may a fork's child connect? */
/*
 * register.c: around a fork. `patient`: it waits for a thread that registers memory. False: nothing
 * is held, and nothing is to be released.
 */
bool wh_registered_hold(bool patient);
void wh_registered_release(void);
void wh_registered_release_in_child(void);	/* if the child keeps what it has */
void wh_registered_after_fork(void);		/* if it forgets all */
void wh_managed_after_fork(void);

/* --- Calls -------------------------------------------------------------------- */

/*
 * Replaces wh_run() for a call whose result is its only answer. It sends the request and
 * returns at once if that changes no result (post.c). CUDA's answer depends on the first `key`
 * bytes of the request, whole words.
 */
CUresult wh_post(struct wh_call *c, size_t key);
CUresult wh_post_memory(struct wh_call *c, size_t key);	/* the words include addresses */
/* Posts an asynchronous copy of the program's own memory. */
CUresult wh_post_copy(struct wh_call *c, size_t key);
/* Works like wh_library_run(), but leaves what is known as it is. */
bool wh_library_answer(struct wh_call *c, size_t fixed);
/* long.c: the same for a request in the data area, and its end. */
bool wh_long_answer(struct wh_call *c, size_t fixed);
void wh_long_end(struct wh_call *c);

/* --- The log of errors: logs.c -------------------------------------------------------- */

/* Notes that a call failed. With the slot. */
void wh_logs_failed(uint32_t call, CUresult res);
/* Notes that a function is not supported, and calls back where the thread is in no call. */
void wh_logs_refused(const char *name);
/* Calls the program's callbacks. Without the slot. */
void wh_logs_deliver(void);

/* --- Streams --------------------------------------------------------------------- */

uint64_t wh_thread_default_stream(void);

/* Returns the stream's number in requests. The per-thread default stream is a real one of ours. */
static inline uint64_t wh_stream(CUstream s)
{
	return s == CU_STREAM_PER_THREAD ? wh_thread_default_stream() : (uintptr_t)s;
}

/* Waits, and does not hold the slot for long if other threads want it. */
CUresult wh_wait(uint32_t kind, uint64_t handle);
void wh_drop_thread_streams(struct wh_thread *t);

/* --- Devices: the worker has its own numbers for them (visible.c) ------------------- */

/* Does the list leave no device, whatever devices there are? */
bool wh_visible_none(const char *list);
/*
 * Selects from the n devices those that the program may see, and their numbers, by the values
 * of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; NULL: not set.
 */
CUresult wh_visible_select(const char *list, const char *order, const struct wh_device_info *info,
			   int n, int *chosen, int *count);
/* init.c: is this the program's number of a device? */
bool wh_is_device(int id);
/* Returns the worker's number for a device of the program. Special numbers (< 0) stay. */
int wh_device_real(int dev);
/* Turns a device number of the worker into the program's, or returns CUDA_ERROR_INVALID_DEVICE. */
CUresult wh_device_shown(int *dev, int real);
/* Does the same for `count` memory locations, `offset` bytes into objects of `stride` bytes. */
void wh_locations_real(void *first, size_t count, size_t stride, size_t offset);
void wh_locations_shown(void *first, size_t count, size_t stride, size_t offset);

/* --- Memory ------------------------------------------------------------------------ */

/* data.c: the data area and the far area. Blocks are page aligned. NULL: the area is full. */
bool wh_data_init(void);
void *wh_data_alloc(size_t size, unsigned int flags, bool managed);
/*
 * memory.c: pinned memory for our own use. To free it needs a call if it is outside of the data
 * area.
 */
void *wh_pinned_alloc(size_t size);
void wh_pinned_free(void *p);
/* graph_copy.c: gives back what ended copies of graphs had pinned. False: there was nothing. */
bool wh_graph_copies_reclaim(void);
void *wh_far_alloc(size_t size, unsigned int flags, bool managed);	/* not pinned yet */
bool wh_data_free(void *p);
void wh_data_free_part(void *p, size_t size);	/* whole pages of one block */
/* A block, or the registered range, that holds an address. */
struct wh_block {
	uint8_t *start;
	size_t size;		/* whole pages, but for registered memory */
	size_t asked;		/* what the program asked for */
	unsigned int flags;	/* of cuMemHostAlloc */
	uint64_t id;		/* no other block of this process has had it */
	bool managed;
	bool used;
	bool registered;	/* the program's own memory, registered by cuMemHostRegister */
	CUdeviceptr device;	/* of a registered block: the address on the device */
};
bool wh_data_block(const void *p, struct wh_block *out);
/* Returns a number for a new block. The driver's own numbers are far below. */
uint64_t wh_block_id(void);

/* hints.c: the managed block has ended. */
void wh_hints_end(const struct wh_block *b);

/* register.c: memory that the program registers. */
bool wh_registered_block(const void *p, struct wh_block *out);
/* Is all of it at the same address in the worker? */
bool wh_registered_there(const void *p, size_t n);
/*
 * Notes a block of the far area that lies at `start` in the worker and here, as if the program had
 * registered it there; cuMemHostUnregister() does not end that. False: there is no memory.
 */
bool wh_registered_add(void *start, size_t size);
void wh_registered_drop(void *start);
/* Pins a block of the far area. `at`: also at that address in the worker. */
CUresult wh_host_block(uint32_t op, void *addr, size_t size, void *at, unsigned int flags);
/* Drops the contents of a block of the far area: its pages become holes again. */
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
/* Returns the bytes from p to where its range ends at the latest; 0: it is in none. */
size_t wh_range_left(CUdeviceptr p);

/*
 * managed.c: managed variables. If the worker is another process, a mirror of each lies at its
 * address here. While wh_client.mirrors says that there are some, the hooks below run.
 */
/* The variable was looked up: from now on the program can use it. */
CUresult wh_managed_add(uint64_t owner, uint64_t addr, uint64_t size);
/* Is p in a managed variable, mirrored or not? */
bool wh_managed_has(const void *p);
/* Before a call begins: sends to the device what the host has written. */
CUresult wh_managed_before(uint32_t call);
CUresult wh_managed_give(void);
/* With the slot: a call is about to be sent. A launch also says into which stream. */
void wh_managed_sent(uint32_t call);
void wh_managed_launched(uint64_t stream);
/* With the slot: the call's result. wh_slots[].fetch says whether the device's work is done. */
void wh_managed_answered(CUresult res);
/* With the slot, before a wait is sent: returns a ticket for what it waits for; 0: nobody knows. */
uint64_t wh_managed_ticket(uint32_t kind, uint64_t handle);
void wh_managed_missed(void);	/* a call ended that nobody counted */
/* After the wait: fetches what the device has written. */
CUresult wh_managed_fetch(uint64_t ticket);
/* The same if no result can report a failure: the next call does. */
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
 * bulk.c: works like memcpy() for the staging lock's holder, on several CPUs if that helps.
 * Copies n bytes, a part of a copy of `whole` bytes.
 */
void wh_bulk_copy(void *dst, const void *src, size_t n, size_t whole);

/* launch.c: a kernel's parameters in one block, as its layout says. */
struct wh_params {
	void **array;		/* kernelParams, or NULL */
	const void *buffer;	/* from `extra` */
	size_t size;
};
CUresult wh_params_take(void **array, void **extra, struct wh_params *p);
/* With the slot held: packs the bytes to `to`, or returns SIZE_MAX while the layout is unknown. */
size_t wh_params_pack(uint64_t function, const struct wh_params *p, uint8_t *to);
CUresult wh_params_ask(uint64_t function);

/* capture.c: returns the mode to send with a call while something is captured. */
uint32_t wh_capture_mode_now(const struct wh_thread *t);

/* graph_node.c: adds nodes for what a capturing stream cannot do itself. */
CUresult wh_graph_capture_host(CUstream stream, CUhostFn fn, void *data);
CUresult wh_graph_capture_copy(const struct wh_staged *c);

/* output.c: prints what the driver printed in the worker. */
void wh_output_print(void);

/* image.c: finds the size of a module image and brings it to the worker. */
CUresult wh_upload(const void *data, size_t size);
struct wh_image_part;
CUresult wh_upload_image(const void *image, uint32_t *kind, struct wh_image_part **parts,
			 uint32_t *count);
/* Reads the whole file into memory, with a NUL behind it. The caller frees it by free(). */
CUresult wh_read_file(const char *path, void **data, size_t *size);

/* context.c: notes contexts that this process has seen, with their devices. */
void wh_context_seen(uint64_t ctx, CUdevice dev);

#endif
