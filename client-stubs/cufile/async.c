// SPDX-License-Identifier: Apache-2.0
/*
 * Operations of streams. When a stream reaches one, a host function hands it to a thread of the
 * library's and waits for it. That thread may call CUDA, which a host function may not. Its copies
 * go by a stream of their own, which waits for no other. All that the driver has to be asked about
 * is asked before. Sizes and offsets are read when the stream is there, or at the call where the
 * stream was registered so.
 *
 * In a program with managed variables, and while something is captured, the call itself does the
 * work, since no thread's call may be sent while a host function runs.
 */
#include "cufile_stub.h"

#include <errno.h>

#define ALL_FLAGS	(CU_FILE_STREAM_FIXED_BUF_OFFSET | CU_FILE_STREAM_FIXED_FILE_OFFSET | \
			 CU_FILE_STREAM_FIXED_FILE_SIZE | CU_FILE_STREAM_PAGE_ALIGNED_INPUTS)

struct registered {
	struct registered *next;
	CUstream stream;
	unsigned int flags;
};

struct operation {
	struct wh_job job;
	struct operation *next;
	uintptr_t number;
	CUstream stream;
	unsigned int fixed;
	struct wh_transfer t;	/* what is fixed at the call, and the rest at the time */
	const size_t *size;
	const off_t *file_offset, *buf_offset;
	ssize_t *moved;
	bool begun, done;
};

/* wh_cufile_lock guards them. */
static struct registered *streams;
static struct operation *operations;
static uintptr_t last_number;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;

WH_IN_CHILD(streams = NULL; operations = NULL; pthread_cond_init(&is_done, NULL))

/* --- Registration of streams ------------------------------------------------------- */

static struct registered **place_of(CUstream stream)
{
	struct registered **at;

	for (at = &streams; *at; at = &(*at)->next)
		if ((*at)->stream == stream)
			return at;
	return NULL;
}

/* A second registration gives the stream other flags. */
static CUfileOpError register_stream(CUstream stream, unsigned int flags)
{
	struct registered *r = malloc(sizeof(*r)), **at;

	if (!r)
		return CU_FILE_NOMEM_ERROR;
	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of(stream);
	if (at) {
		(*at)->flags = flags;
		free(r);
	} else {
		*r = (struct registered) { streams, stream, flags };
		streams = r;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return CU_FILE_SUCCESS;
}

static bool is_stream(CUstream stream)
{
	unsigned int flags;

	return cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS;
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned flags)
{
	CUfileOpError err;

	if (flags & ~ALL_FLAGS || !is_stream(stream))
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	err = register_stream(stream, flags);
	wh_cufile_leave();
	return wh_cufile_error(err);
}

/* --- An operation ------------------------------------------------------------------ */

static unsigned int flags_of(CUstream stream)
{
	struct registered **at;
	unsigned int flags;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of(stream);
	flags = at ? (*at)->flags : 0;
	pthread_mutex_unlock(&wh_cufile_lock);
	return flags;
}

static struct operation **find(uintptr_t number)
{
	struct operation **at;

	for (at = &operations; *at; at = &(*at)->next)
		if ((*at)->number == number)
			return at;
	return NULL;
}

static void free_operation(struct operation *o)
{
	wh_file_put(o->t.file);
	free(o);
	wh_cufile_leave();
}

/* In a thread of the library's: -1 has no errno that the program could read. */
static void run(struct wh_job *job)
{
	struct operation *o = (struct operation *)job;

	if (!(o->fixed & CU_FILE_STREAM_FIXED_FILE_SIZE))
		o->t.size = *o->size;
	if (!(o->fixed & CU_FILE_STREAM_FIXED_FILE_OFFSET))
		o->t.file_offset = *o->file_offset;
	if (!(o->fixed & CU_FILE_STREAM_FIXED_BUF_OFFSET))
		o->t.buf_offset = *o->buf_offset;
	*o->moved = wh_transfer_run(&o->t, WH_FOR_STREAM);
	pthread_mutex_lock(&wh_cufile_lock);
	o->done = true;
	pthread_cond_broadcast(&is_done);
	pthread_mutex_unlock(&wh_cufile_lock);
}

/* Takes the operation off the list, or finds that cuFileStreamDeregister() has. */
static struct operation *take(uintptr_t number)
{
	struct operation **at, *o = NULL;

	pthread_mutex_lock(&wh_cufile_lock);
	at = find(number);
	if (at) {
		o = *at;
		*at = o->next;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return o;
}

/* The stream is there. This is a host function, so that it calls nothing of CUDA. */
static void reached(void *number)
{
	struct operation *o = take((uintptr_t)number);

	if (!o)
		return;
	if (wh_job_add(WH_FOR_STREAM, &o->job, 1)) {
		pthread_mutex_lock(&wh_cufile_lock);
		while (!o->done)
			pthread_cond_wait(&is_done, &wh_cufile_lock);
		pthread_mutex_unlock(&wh_cufile_lock);
	} else {
		*o->moved = -CU_FILE_NOMEM_ERROR;
	}
	free_operation(o);
}

/* No buffers can be made while the stream waits: a pair that is idle then is made now. */
static CUresult prepare(const struct wh_transfer *t)
{
	struct wh_bounce *b;
	CUcontext popped;
	CUresult res;

	/* One that is idle stays where it is: an operation before this one may want it now. */
	if (!t->on_device || wh_bounce_idle(t->ctx_id, WH_FOR_STREAM))
		return CUDA_SUCCESS;
	res = cuCtxPushCurrent(t->ctx);
	if (res)
		return res;
	res = wh_bounce_get(t->ctx, t->ctx_id, WH_FOR_STREAM, &b);
	if (!res)
		wh_bounce_put(b);
	cuCtxPopCurrent(&popped);
	return res;
}

/* As a host function would, the call waits for what is before it in the stream. */
static CUfileError_t run_now(struct operation *o)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult res;

	/* To wait for this stream, or to copy, ends no capture of another one. */
	cuThreadExchangeStreamCaptureMode(&mode);
	res = cuStreamSynchronize(o->stream);
	if (!res) {
		run(&o->job);
		free_operation(o);
	}
	cuThreadExchangeStreamCaptureMode(&mode);
	return wh_cufile_cuda(res);
}

static CUfileError_t launch(struct operation *o)
{
	uintptr_t number;
	CUresult res = prepare(&o->t);

	if (res)
		return wh_cufile_cuda(res);
	pthread_mutex_lock(&wh_cufile_lock);
	number = o->number = ++last_number;
	o->next = operations;
	operations = o;
	pthread_mutex_unlock(&wh_cufile_lock);
	res = cuLaunchHostFunc(o->stream, reached, (void *)number);
	/* Once it is launched it may be over, and its memory gone. */
	return res && take(number) ? wh_cufile_cuda(res) : wh_cufile_error(CU_FILE_SUCCESS);
}

/* A graph would run the operation again each time that it is launched. */
static CUfileError_t can_launch(CUstream stream)
{
	CUstreamCaptureStatus status;
	CUresult res = cuStreamIsCapturing(stream, &status);

	if (res)
		return wh_cufile_cuda(res);
	return wh_cufile_error(status == CU_STREAM_CAPTURE_STATUS_NONE ? CU_FILE_SUCCESS :
			       CU_FILE_ASYNC_NOT_SUPPORTED);
}

/* The session is entered, and `o` has the file, which a failure gives back. */
static CUfileError_t submit(struct operation *o)
{
	CUfileError_t err = can_launch(o->stream);

	if (!err.err)
		err = wh_cufile_error(wh_transfer_ask(&o->t, false));
	if (!err.err)
		err = wh_library_waits() ? run_now(o) : launch(o);
	if (err.err)
		free_operation(o);
	return err;
}

static CUfileError_t call(const struct operation *as, CUfileHandle_t fh)
{
	struct operation *o;
	CUfileOpError err;

	if (!as->t.base || !as->size || !as->file_offset || !as->buf_offset || !as->moved)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	o = malloc(sizeof(*o));
	if (o) {
		*o = *as;
		o->job.run = run;
		o->t.file = wh_file_get(fh);
		if (o->t.file)
			return submit(o);
		free(o);
	}
	wh_cufile_leave();
	return wh_cufile_error(o ? CU_FILE_HANDLE_NOT_REGISTERED : CU_FILE_NOMEM_ERROR);
}

static struct operation operation_of(void *base, size_t *size, off_t *file_offset,
				     off_t *buf_offset, ssize_t *moved, CUstream stream, bool write)
{
	return (struct operation) {
		.t = {
			.base = base,
			.size = size ? *size : 0,
			.file_offset = file_offset ? *file_offset : 0,
			.buf_offset = buf_offset ? *buf_offset : 0,
			.write = write,
		},
		.size = size,
		.file_offset = file_offset,
		.buf_offset = buf_offset,
		.moved = moved,
		.stream = stream,
		.fixed = flags_of(stream),
	};
}

/*
 * What the pointers name stays where it is until the stream has been there. *bytes_read_p is as
 * cuFileRead() would return it. CU_FILE_ASYNC_NOT_SUPPORTED: the stream is being captured.
 */
CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p,
			      off_t *file_offset_p, off_t *bufPtr_offset_p, ssize_t *bytes_read_p,
			      CUstream stream)
{
	struct operation o = operation_of(bufPtr_base, size_p, file_offset_p, bufPtr_offset_p,
					  bytes_read_p, stream, false);

	return call(&o, fh);
}

CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p,
			       off_t *file_offset_p, off_t *bufPtr_offset_p,
			       ssize_t *bytes_written_p, CUstream stream)
{
	struct operation o = operation_of(bufPtr_base, size_p, file_offset_p, bufPtr_offset_p,
					  bytes_written_p, stream, true);

	return call(&o, fh);
}

/* --- The end of a stream's registration -------------------------------------------- */

/* A stream in error never comes to what is left of its operations. */
static struct operation *take_left(CUstream stream)
{
	struct operation **at = &operations, *left = NULL, *o;

	while (*at) {
		o = *at;
		if (o->stream != stream) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		o->next = left;
		left = o;
	}
	return left;
}

/* Waits for the stream's operations. Those that an error of the stream left are given up. */
CUfileError_t cuFileStreamDeregister(CUstream stream)
{
	struct registered **at, *gone = NULL;
	struct operation *left, *o;
	CUfileOpError err;

	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	cuStreamSynchronize(stream);
	pthread_mutex_lock(&wh_cufile_lock);
	left = take_left(stream);
	at = place_of(stream);
	if (at) {
		gone = *at;
		*at = gone->next;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	while (left) {
		o = left;
		left = o->next;
		free_operation(o);
	}
	free(gone);
	wh_cufile_leave();
	return wh_cufile_error(gone ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}
