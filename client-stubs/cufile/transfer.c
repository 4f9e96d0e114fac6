// SPDX-License-Identifier: Apache-2.0
/*
 * Transfers between a file and a buffer. Bytes of host memory are moved in place. Those of device
 * memory go through two bounce buffers in turn: while the driver copies one, the file's bytes go
 * to or come from the other.
 */
#include "cufile_stub.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

/* The compiler takes the enumeration for unsigned. */
static ssize_t failed(CUfileOpError err)
{
	return -(ssize_t)err;
}

/* --- Device memory ----------------------------------------------------------------- */

/* A transfer under way: chunks have a number, and chunk i has the buffer i % 2. */
struct way {
	const struct wh_transfer *t;
	struct wh_bounce *b;
	CUdeviceptr mem;
	size_t done;		/* bytes that have been moved to or from the file */
	bool busy[2];		/* a copy of this buffer may be under way */
};

/* Bytes of the chunk that begins there. Later chunks of a file begin at an aligned offset. */
static size_t chunk_at(const struct way *w, size_t pos)
{
	size_t most = w->b->chunk - (size_t)(w->t->file_offset + pos) % WH_FILE_ALIGN;
	size_t left = w->t->size - pos;

	return left < most ? left : most;
}

/* A chunk lies in its buffer as in its block of the file, so that direct I/O can move it. */
static uint8_t *buffer_at(const struct way *w, size_t pos, unsigned int i)
{
	return w->b->buf[i % 2] + (size_t)(w->t->file_offset + pos) % WH_FILE_ALIGN;
}

/*
 * While a stream waits for a transfer, the worker may refuse to begin a wait for the device: a call
 * that frees memory waits for those of the program that are under way, and lets no further one
 * begin. A question is answered meanwhile.
 */
static CUresult ask_often(CUevent event)
{
	static const struct timespec nap = { .tv_nsec = 20000 };
	CUresult res;

	while ((res = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
		nanosleep(&nap, NULL);
	return res;
}

static CUresult wait_for(struct way *w, unsigned int i)
{
	CUevent event = w->b->event[i % 2];

	if (!w->busy[i % 2])
		return CUDA_SUCCESS;
	w->busy[i % 2] = false;
	return w->b->use == WH_FOR_STREAM ? ask_often(event) : cuEventSynchronize(event);
}

static CUresult copy(struct way *w, size_t pos, size_t n, unsigned int i)
{
	CUresult res;

	res = w->t->write ?
	      cuMemcpyDtoHAsync(buffer_at(w, pos, i), w->mem + pos, n, w->b->stream) :
	      cuMemcpyHtoDAsync(w->mem + pos, buffer_at(w, pos, i), n, w->b->stream);
	if (!res)
		res = cuEventRecord(w->b->event[i % 2], w->b->stream);
	w->busy[i % 2] = !res;
	return res;
}

/* Moves a chunk to or from the file. Returns its bytes: fewer at the file's end or an error. */
static ssize_t move(struct way *w, size_t n, unsigned int i)
{
	return wh_file_move(w->t->file, w->t->write, buffer_at(w, w->done, i), n,
			    w->t->file_offset + w->done);
}

static CUresult read_chunks(struct way *w, ssize_t *last)
{
	CUresult res = CUDA_SUCCESS;
	unsigned int i;
	size_t want;

	for (i = 0; w->done < w->t->size && !res; i++) {
		res = wait_for(w, i);
		if (res)
			break;
		want = chunk_at(w, w->done);
		*last = move(w, want, i);
		if (*last <= 0)
			break;
		res = copy(w, w->done, *last, i);
		w->done += *last;
		if ((size_t)*last < want)
			break;
	}
	return res;
}

/* The next chunk's copy is under way while this one is written. */
static CUresult write_chunks(struct way *w, ssize_t *last)
{
	size_t n = chunk_at(w, 0), next;
	CUresult res = copy(w, 0, n, 0);
	unsigned int i;

	for (i = 0; n && !res; i++) {
		next = w->done + n < w->t->size ? chunk_at(w, w->done + n) : 0;
		if (next)
			res = copy(w, w->done + n, next, i + 1);
		if (!res)
			res = wait_for(w, i);
		if (res)
			break;
		*last = move(w, n, i);
		if (*last > 0)
			w->done += *last;
		if (*last < 0 || (size_t)*last < n)
			break;
		n = next;
	}
	return res;
}

static ssize_t through_bounce(const struct wh_transfer *t, uint8_t *mem, struct wh_bounce *b)
{
	struct way w = { .t = t, .b = b, .mem = (CUdeviceptr)mem };
	CUresult res, waited[2];
	ssize_t last = 0;
	int error;

	res = t->write ? write_chunks(&w, &last) : read_chunks(&w, &last);
	error = errno;
	/* No copy may be under way when the buffers go to somebody else. */
	waited[0] = wait_for(&w, 0);
	waited[1] = wait_for(&w, 1);
	errno = error;
	if (res || waited[0] || waited[1])
		return failed(CU_FILE_CUDA_DRIVER_ERROR);
	return w.done || last >= 0 ? (ssize_t)w.done : -1;
}

static ssize_t with_device(const struct wh_transfer *t, uint8_t *mem, enum wh_bounce_for use)
{
	struct wh_bounce *b;
	CUcontext popped;
	CUresult res;
	ssize_t n;
	int error;

	if (cuCtxPushCurrent(t->ctx))
		return failed(CU_FILE_INVALID_CONTEXT_ERROR);
	res = wh_bounce_get(t->ctx, t->ctx_id, use, &b);
	if (res) {
		n = failed(res == CUDA_ERROR_OUT_OF_MEMORY ? CU_FILE_NOMEM_ERROR :
			   CU_FILE_CUDA_DRIVER_ERROR);
	} else {
		n = through_bounce(t, mem, b);
		error = errno;
		wh_bounce_put(b);
		errno = error;
	}
	error = errno;
	cuCtxPopCurrent(&popped);
	errno = error;
	return n;
}

/* --- Any memory -------------------------------------------------------------------- */

static CUfileOpError check(const struct wh_transfer *t)
{
	if (!t->base || t->buf_offset < 0 || t->size > SSIZE_MAX ||
	    t->size > SIZE_MAX - (uintptr_t)t->base - t->buf_offset)
		return CU_FILE_INVALID_VALUE;
	if (wh_buffer_exceeded(t->base, t->buf_offset, t->size))
		return CU_FILE_INVALID_MAPPING_RANGE;
	return CU_FILE_SUCCESS;
}

static bool host_allowed(void)
{
	bool allowed;

	pthread_mutex_lock(&wh_cufile_lock);
	allowed = wh_cufile_bool(CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY);
	pthread_mutex_unlock(&wh_cufile_lock);
	return allowed;
}

/* Finds the current context, or that of the memory if there is none. */
static CUfileOpError find_context(struct wh_transfer *t)
{
	if ((cuCtxGetCurrent(&t->ctx) != CUDA_SUCCESS || !t->ctx) &&
	    (cuPointerGetAttribute(&t->ctx, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)t->base) !=
	     CUDA_SUCCESS || !t->ctx))
		return CU_FILE_INVALID_CONTEXT_ERROR;
	return cuCtxGetId(t->ctx, &t->ctx_id) == CUDA_SUCCESS ? CU_FILE_SUCCESS :
	       CU_FILE_INVALID_CONTEXT_ERROR;
}

CUfileOpError wh_transfer_ask(struct wh_transfer *t, bool fixed)
{
	CUfileOpError err = fixed ? check(t) : CU_FILE_SUCCESS;

	if (!err)
		err = wh_buffer_kind(fixed ? t->base + t->buf_offset : t->base, fixed ? t->size : 0,
				     &t->on_device);
	if (!err && !t->on_device && !host_allowed())
		err = CU_FILE_CUDA_MEMORY_TYPE_INVALID;
	return err || !t->on_device ? err : find_context(t);
}

ssize_t wh_transfer_run(const struct wh_transfer *t, enum wh_bounce_for use)
{
	uint8_t *mem = t->base + t->buf_offset;
	CUfileOpError err = check(t);

	if (err)
		return failed(err);
	if (t->file_offset < 0 || t->file_offset > (off_t)(INT64_MAX - t->size)) {
		errno = EINVAL;
		return -1;
	}
	if (!t->size)
		return 0;
	return t->on_device ? with_device(t, mem, use) :
	       wh_file_move(t->file, t->write, mem, t->size, t->file_offset);
}

static ssize_t call(struct wh_transfer t, CUfileHandle_t fh)
{
	CUfileOpError err = wh_cufile_enter();
	ssize_t n;
	int error;

	if (err)
		return failed(err);
	t.file = wh_file_get(fh);
	if (!t.file) {
		wh_cufile_leave();
		return failed(CU_FILE_HANDLE_NOT_REGISTERED);
	}
	err = wh_transfer_ask(&t, true);
	n = err ? failed(err) : wh_transfer_run(&t, WH_FOR_CALL);
	error = errno;
	wh_file_put(t.file);
	wh_cufile_leave();
	errno = error;
	return n;
}

/*
 * Reads until `size` bytes or the end of the file. Returns bytes; -1 with errno for an error of the
 * file; or the negative CUfileOpError. The program's own streams are not waited for, but the
 * NULL stream and what is ordered with it are.
 */
ssize_t cuFileRead(CUfileHandle_t fh, void *bufPtr_base, size_t size, off_t file_offset,
		   off_t bufPtr_offset)
{
	return call((struct wh_transfer) {
		.base = bufPtr_base,
		.size = size,
		.file_offset = file_offset,
		.buf_offset = bufPtr_offset,
	}, fh);
}

/* Writes as cuFileRead reads. Returns fewer bytes than `size` if an error came after them. */
ssize_t cuFileWrite(CUfileHandle_t fh, const void *bufPtr_base, size_t size, off_t file_offset,
		    off_t bufPtr_offset)
{
	return call((struct wh_transfer) {
		.base = (uint8_t *)bufPtr_base,
		.size = size,
		.file_offset = file_offset,
		.buf_offset = bufPtr_offset,
		.write = true,
	}, fh);
}
