// SPDX-License-Identifier: Apache-2.0
/*
 * Parameters of cuFile. What is set before a session opens counts for that session; cufile.json is
 * not read. Defaults are those of the file that comes with cuFile 1.15. Parameters that choose
 * another way than compatibility mode are refused. Those that tune such a way are kept, and do
 * nothing here.
 */
#include "cufile_stub.h"

#define SIZES	(CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS + 1)
#define BOOLS	(CUFILE_PARAM_STREAM_MEMOPS_BYPASS + 1)
#define SLABS	3

struct values {
	size_t size[SIZES];
	bool flag[BOOLS];
	size_t slab_kib[SLABS], slab_count[SLABS];
};

static const struct values defaults = {
	.size = {
		[CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH] = 128,
		[CUFILE_PARAM_EXECUTION_MAX_IO_THREADS] = 4,
		[CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB] = 8192,
		[CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM] = 4,
		[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] = 16384,
		[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB] = 131072,
		[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB] = 1024,
		[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB] = 33554432,
		[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE] = 128,
		[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB] = 4,
	},
	.flag = {
		[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] = true,
		[CUFILE_PARAM_FORCE_COMPAT_MODE] = true,
		[CUFILE_PARAM_EXECUTION_PARALLEL_IO] = true,
		[CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY] = true,
	},
	.slab_kib = { 4, 1024, 16384 },
	.slab_count = { 128, 64, 64 },
};

/* The unit of a size in KiB, and the least and the largest value. */
static const struct range {
	size_t least, most, unit;
} ranges[SIZES] = {
	[CUFILE_PARAM_PROFILE_STATS] = { 0, 0, 1 },
	[CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH] = { 1, 1 << 20, 1 },
	[CUFILE_PARAM_EXECUTION_MAX_IO_THREADS] = { 1, 64, 1 },
	[CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB] = { 4, 1 << 30, 4 },
	[CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM] = { 1, 64, 1 },
	[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] = { 4, 16384, 4 },
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB] = { 64, 1 << 30, 4 },
	[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB] = { 4, 16384, 4 },
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB] = { 4, 1UL << 40, 4 },
	[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE] = { 1, 256, 1 },
	[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB] = { 0, 1 << 20, 4 },
	/* How long a batch's operations may take is not looked at: 0 alone says so. */
	[CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS] = { 0, 0, 1 },
};

/* Of the open session; and of the next one, if something was set for it. */
static struct values current, staged;
static bool is_staged;

static struct values *of_next(void)
{
	if (!is_staged)
		staged = defaults;
	is_staged = true;
	return &staged;
}

static struct values *counting(void)
{
	return wh_cufile_is_open() ? &current : of_next();
}

size_t wh_cufile_size(CUFileSizeTConfigParameter_t param)
{
	return counting()->size[param];
}

bool wh_cufile_bool(CUFileBoolConfigParameter_t param)
{
	return counting()->flag[param];
}

void wh_cufile_apply(void)
{
	current = *of_next();
	is_staged = false;
}

static bool in_range(CUFileSizeTConfigParameter_t param, size_t value)
{
	const struct range *r = &ranges[param];

	return value >= r->least && value <= r->most && value % r->unit == 0;
}

bool wh_cufile_set_size(CUFileSizeTConfigParameter_t param, size_t value)
{
	if (!in_range(param, value))
		return false;
	current.size[param] = value;
	return true;
}

void wh_cufile_set_poll(bool poll)
{
	current.flag[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = poll;
}

/* --- Reading ----------------------------------------------------------------------- */

CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t *value)
{
	if ((unsigned int)param >= SIZES || !value)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	pthread_mutex_lock(&wh_cufile_lock);
	*value = wh_cufile_size(param);
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(CU_FILE_SUCCESS);
}

CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t param, size_t *min_value,
					    size_t *max_value)
{
	if ((unsigned int)param >= SIZES || !min_value || !max_value)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	*min_value = ranges[param].least;
	*max_value = ranges[param].most;
	return wh_cufile_error(CU_FILE_SUCCESS);
}

CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t param, bool *value)
{
	if ((unsigned int)param >= BOOLS || !value)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	pthread_mutex_lock(&wh_cufile_lock);
	*value = wh_cufile_bool(param);
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(CU_FILE_SUCCESS);
}

CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *size_values, size_t *count_values,
						   int len)
{
	if (!size_values || !count_values || len != SLABS)
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	pthread_mutex_lock(&wh_cufile_lock);
	memcpy(size_values, counting()->slab_kib, sizeof(defaults.slab_kib));
	memcpy(count_values, counting()->slab_count, sizeof(defaults.slab_count));
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(CU_FILE_SUCCESS);
}

/* --- Setting ----------------------------------------------------------------------- */

/* Runs with the lock, which the caller gives back. */
static CUfileOpError may_set(bool good)
{
	if (!good)
		return CU_FILE_INVALID_VALUE;
	return wh_cufile_is_open() ? CU_FILE_DRIVER_ALREADY_OPEN : CU_FILE_SUCCESS;
}

CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t value)
{
	CUfileOpError err;

	pthread_mutex_lock(&wh_cufile_lock);
	err = may_set((unsigned int)param < SIZES && in_range(param, value));
	if (!err)
		of_next()->size[param] = value;
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(err);
}

/* Does the value ask for what compatibility mode does not have? */
static bool is_other_way(CUFileBoolConfigParameter_t param, bool value)
{
	switch (param) {
	case CUFILE_PARAM_PROFILE_NVTX:
	case CUFILE_PARAM_USE_PCIP2PDMA:
	case CUFILE_PARAM_FORCE_ODIRECT_MODE:
	case CUFILE_PARAM_STREAM_MEMOPS_BYPASS:
		return value;
	default:
		return false;
	}
}

CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t param, bool value)
{
	CUfileOpError err;

	if (is_other_way(param, value)) {
		wh_refuse("cuFileSetParameterBool of another way than compatibility mode");
		return REFUSED;
	}
	pthread_mutex_lock(&wh_cufile_lock);
	err = may_set((unsigned int)param < BOOLS);
	if (!err)
		of_next()->flag[param] = value;
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(err);
}

static bool slabs_good(const size_t *size_values, const size_t *count_values, int len)
{
	int i;

	if (!size_values || !count_values || len != SLABS)
		return false;
	for (i = 0; i < SLABS; i++)
		if (!size_values[i] || !count_values[i])
			return false;
	return true;
}

/* Pinned buffers have one size here: CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB. */
CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *size_values,
						   const size_t *count_values, int len)
{
	CUfileOpError err;

	pthread_mutex_lock(&wh_cufile_lock);
	err = may_set(slabs_good(size_values, count_values, len));
	if (!err) {
		memcpy(of_next()->slab_kib, size_values, sizeof(defaults.slab_kib));
		memcpy(of_next()->slab_count, count_values, sizeof(defaults.slab_count));
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	return wh_cufile_error(err);
}
