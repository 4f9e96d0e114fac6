/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the client's libcufile.so.0: cuFile in its compatibility mode. Files are the
 * program's own, so that pread() and pwrite() move their bytes here, and the driver's copies move
 * those of device memory. Nothing about files goes to the worker.
 */
#ifndef WORMHOLE_CUFILE_STUB_H
#define WORMHOLE_CUFILE_STUB_H

#include <cufile.h>
#include <sys/types.h>

#include "library.h"

/* --- Errors ------------------------------------------------------------------------ */

static inline CUfileError_t wh_cufile_error(CUfileOpError code)
{
	return (CUfileError_t) { .err = code, .cu_err = CUDA_SUCCESS };
}

static inline CUfileError_t wh_cufile_cuda(CUresult res)
{
	return (CUfileError_t) {
		.err = res == CUDA_SUCCESS ? CU_FILE_SUCCESS : CU_FILE_CUDA_DRIVER_ERROR,
		.cu_err = res,
	};
}

#define REFUSED	wh_cufile_error(CU_FILE_PLATFORM_NOT_SUPPORTED)

/* --- The driver's session (driver.c) ----------------------------------------------- */

/* Guards the session, files, buffers, bounce buffers and jobs. No call of CUDA is made under it. */
extern pthread_mutex_t wh_cufile_lock;

/*
 * Begins a call that needs the session, which the first one opens. Such calls keep the session from
 * being closed until wh_cufile_leave(). Returns CU_FILE_DRIVER_NOT_INITIALIZED if compatibility
 * mode is not allowed.
 */
CUfileOpError wh_cufile_enter(void);
void wh_cufile_leave(void);
/* Is the session open? The caller holds the lock. */
bool wh_cufile_is_open(void);

/* --- Parameters (parameter.c) ------------------------------------------------------ */

/* Returns the value that counts for the session, or for the next one. The caller holds the lock. */
size_t wh_cufile_size(CUFileSizeTConfigParameter_t param);
bool wh_cufile_bool(CUFileBoolConfigParameter_t param);
/* The session opens: what was set counts for it, and later ones begin with the defaults. */
void wh_cufile_apply(void);
/* Sets a value of the open session. False: it is out of range. The caller holds the lock. */
bool wh_cufile_set_size(CUFileSizeTConfigParameter_t param, size_t value);
void wh_cufile_set_poll(bool poll);

/* --- Files (file.c) ---------------------------------------------------------------- */

/* Direct I/O takes offsets, sizes and addresses that are multiples of this. */
#define WH_FILE_ALIGN	4096

struct wh_file {
	struct wh_file *next;
	uintptr_t handle;	/* the program's name of it */
	int fd;			/* the program's */
	int buffered;		/* the same file without O_DIRECT; -1: there is none */
	bool direct;		/* fd has O_DIRECT */
	dev_t dev;
	ino_t ino;
	unsigned int users;	/* operations, and its registration */
};

/* Returns the file of a handle, or NULL. wh_file_put() ends its use. */
struct wh_file *wh_file_get(CUfileHandle_t handle);
void wh_file_put(struct wh_file *f);
/* The same for a caller that holds the lock. */
void wh_file_drop(struct wh_file *f);
/* The session ends: so do all registrations. The caller holds the lock. */
void wh_files_end(void);
/*
 * Moves bytes between a file and memory of this process, until `size` or the end of the file.
 * Returns how many, or -1 with errno if none.
 */
ssize_t wh_file_move(const struct wh_file *f, bool write, uint8_t *mem, size_t size, off_t at);

/* --- Registered buffers (buffer.c) ------------------------------------------------- */

/* Does [offset, offset + size) leave the buffer that is registered with that base, if one is? */
bool wh_buffer_exceeded(const void *base, off_t offset, size_t size);
/* The session ends: so do all registrations. The caller holds the lock. */
void wh_buffers_end(void);
/*
 * Says whether [mem, mem + size) is memory of the device, which no instruction of this process
 * reaches. Returns CU_FILE_CUDA_POINTER_RANGE_ERROR if it leaves the device's memory.
 */
CUfileOpError wh_buffer_kind(const uint8_t *mem, size_t size, bool *on_device);

/* --- Bounce buffers (bounce.c) ----------------------------------------------------- */

/* Who uses a bounce buffer: its copies must not wait for what the program's streams wait for. */
enum wh_bounce_for {
	WH_FOR_CALL,	/* cuFileRead, cuFileWrite: after what the NULL stream has */
	WH_FOR_STREAM,	/* operations of streams, which may be the NULL stream */
	WH_FOR_BATCH,
	WH_FORS
};

struct wh_bounce {
	struct wh_bounce *next;
	CUcontext ctx;
	unsigned long long ctx_id;
	uint8_t *pinned;
	uint8_t *buf[2];	/* aligned for direct I/O; WH_FILE_ALIGN more than a chunk */
	size_t chunk;
	CUstream stream;
	CUevent event[2];
	enum wh_bounce_for use;
};

/*
 * Returns buffers of the context, which is the current one. The caller gives them back by
 * wh_bounce_put(). It waits while others have as many as
 * CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB allows.
 */
CUresult wh_bounce_get(CUcontext ctx, unsigned long long ctx_id, enum wh_bounce_for use,
		       struct wh_bounce **out);
void wh_bounce_put(struct wh_bounce *b);
/* Is a pair of this use idle, so that wh_bounce_get() of a stream has one? */
bool wh_bounce_idle(unsigned long long ctx_id, enum wh_bounce_for use);
/* Frees all that nobody uses. The caller does not hold the lock. */
void wh_bounces_end(void);

/* --- Transfers (transfer.c) -------------------------------------------------------- */

struct wh_transfer {
	struct wh_file *file;
	uint8_t *base;
	size_t size;
	off_t file_offset, buf_offset;
	bool write;
	/* wh_transfer_ask() fills in the rest. */
	bool on_device;
	CUcontext ctx;
	unsigned long long ctx_id;
};

/*
 * Asks the driver what the transfer needs to know: whether its buffer is the device's, and in which
 * context to copy. `fixed`: size and offset in the buffer are already those of the transfer.
 */
CUfileOpError wh_transfer_ask(struct wh_transfer *t, bool fixed);

/*
 * Runs one transfer to its end. Returns bytes, -1 with errno for an error of the file, or the
 * negative CUfileOpError. The session is entered. For a stream it makes only calls of CUDA that are
 * answered while the stream waits for it: copies, and questions about events.
 */
ssize_t wh_transfer_run(const struct wh_transfer *t, enum wh_bounce_for use);

/* --- Threads (jobs.c) -------------------------------------------------------------- */

/* Work for a thread of the library's. Who adds it keeps its memory until it has run. */
struct wh_job {
	struct wh_job *next;
	void (*run)(struct wh_job *job);
};

/* Adds a job, for at most `threads` threads of that use. False: there is no thread. */
bool wh_job_add(enum wh_bounce_for use, struct wh_job *job, unsigned int threads);
/* Takes back a job that no thread has begun. The caller holds the lock. */
bool wh_job_take_back(enum wh_bounce_for use, struct wh_job *job);

#endif
