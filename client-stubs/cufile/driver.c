// SPDX-License-Identifier: Apache-2.0
/*
 * The session of cuFile: opening, closing, properties. There is no kernel driver (nvidia-fs), so a
 * session is what this library keeps: registrations, parameters and bounce buffers.
 */
#include "cufile_stub.h"

/* cufile.h declares both names, and gives the older one the newer one's. */
#undef cuFileDriverClose

/* The release whose header is described (cuda-api/cufile.refused): 1.15. */
#define VERSION	1150

pthread_mutex_t wh_cufile_lock = PTHREAD_MUTEX_INITIALIZER;
static long opens;		/* 0: there is no session */
static unsigned int under_way;	/* calls, operations of streams, batches */

/* cuFile documents that a child of fork() must not use it. Its calls here find a new session. */
WH_IN_CHILD(pthread_mutex_init(&wh_cufile_lock, NULL); opens = 0; under_way = 0)

bool wh_cufile_is_open(void)
{
	return opens > 0;
}

/* The caller holds the lock. */
static CUfileOpError open_session(void)
{
	if (!wh_cufile_bool(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE))
		return CU_FILE_DRIVER_NOT_INITIALIZED;
	wh_cufile_apply();
	opens = 1;
	return CU_FILE_SUCCESS;
}

CUfileOpError wh_cufile_enter(void)
{
	CUfileOpError err = CU_FILE_SUCCESS;

	pthread_mutex_lock(&wh_cufile_lock);
	if (!opens)
		err = open_session();
	if (!err)
		under_way++;
	pthread_mutex_unlock(&wh_cufile_lock);
	return err;
}

void wh_cufile_leave(void)
{
	pthread_mutex_lock(&wh_cufile_lock);
	under_way--;
	pthread_mutex_unlock(&wh_cufile_lock);
}

/* Opens the session, or counts one more user of it. */
CUfileError_t cuFileDriverOpen(void)
{
	CUfileOpError err = CU_FILE_SUCCESS;

	pthread_mutex_lock(&wh_cufile_lock);
	if (opens)
		opens++;
	else
		err = open_session();
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(err);
}

/* The last user's close ends all registrations. CU_FILE_DRIVER_CLOSING: something is under way. */
CUfileError_t cuFileDriverClose_v2(void)
{
	CUfileOpError err = CU_FILE_SUCCESS;
	bool last = false;

	pthread_mutex_lock(&wh_cufile_lock);
	if (!opens)
		err = CU_FILE_DRIVER_NOT_INITIALIZED;
	else if (opens == 1 && under_way)
		err = CU_FILE_DRIVER_CLOSING;
	else
		last = !--opens;
	if (last) {
		wh_files_end();
		wh_buffers_end();
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	if (last)
		wh_bounces_end();
	return wh_cufile_error(err);
}

CUfileError_t cuFileDriverClose(void)
{
	return cuFileDriverClose_v2();
}

long cuFileUseCount(void)
{
	long n;

	pthread_mutex_lock(&wh_cufile_lock);
	n = opens;
	pthread_mutex_unlock(&wh_cufile_lock);
	return n;
}

CUfileError_t cuFileGetVersion(int *version)
{
	if (!version)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	*version = VERSION;
	return wh_cufile_error(CU_FILE_SUCCESS);
}

static void describe(CUfileDrvProps_t *props)
{
	*props = (CUfileDrvProps_t) {
		/* No nvidia-fs: its version is 0, and no file system is supported directly. */
		.nvfs.poll_thresh_size = wh_cufile_size(CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB),
		.nvfs.max_direct_io_size =
			wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB),
		.nvfs.dcontrolflags = 1 << CU_FILE_ALLOW_COMPAT_MODE,
		.fflags = 1 << CU_FILE_BATCH_IO_SUPPORTED | 1 << CU_FILE_STREAMS_SUPPORTED,
		.max_device_cache_size =
			wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB),
		.per_buffer_cache_size =
			wh_cufile_size(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB),
		.max_device_pinned_mem_size =
			wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB),
		.max_batch_io_size = wh_cufile_size(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE),
		.max_batch_io_timeout_msecs =
			wh_cufile_size(CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS),
	};
	if (wh_cufile_bool(CUFILE_PARAM_PROPERTIES_USE_POLL_MODE))
		props->nvfs.dcontrolflags |= 1 << CU_FILE_USE_POLL_MODE;
}

/* Sizes are in KiB. */
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
	CUfileOpError err;

	if (!props)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	pthread_mutex_lock(&wh_cufile_lock);
	describe(props);
	pthread_mutex_unlock(&wh_cufile_lock);
	wh_cufile_leave();
	return wh_cufile_error(CU_FILE_SUCCESS);
}

static CUfileError_t set(CUFileSizeTConfigParameter_t param, size_t kib, const bool *poll)
{
	CUfileOpError err = CU_FILE_SUCCESS;

	pthread_mutex_lock(&wh_cufile_lock);
	if (!opens)
		err = CU_FILE_DRIVER_NOT_INITIALIZED;
	else if (!wh_cufile_set_size(param, kib))
		err = CU_FILE_DRIVER_UNSUPPORTED_LIMIT;
	else if (poll)
		wh_cufile_set_poll(*poll);
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(err);
}

/* Polling is nvidia-fs's. The values are kept, and read back. */
CUfileError_t cuFileDriverSetPollMode(bool poll, size_t poll_threshold_size)
{
	return set(CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB, poll_threshold_size, &poll);
}

/* At most so many KiB are moved at a time. Buffers that were made before keep their size. */
CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t max_direct_io_size)
{
	return set(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, max_direct_io_size, NULL);
}

/* KiB of bounce buffers, which are in pinned host memory here. */
CUfileError_t cuFileDriverSetMaxCacheSize(size_t max_cache_size)
{
	return set(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, max_cache_size, NULL);
}

/* KiB of buffers that are registered at a time. */
CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t max_pinned_size)
{
	return set(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, max_pinned_size, NULL);
}
