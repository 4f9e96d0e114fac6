// SPDX-License-Identifier: Apache-2.0
/*
 * Start and end of NVML in this process, counted as NVML counts them. The worker's NVML starts
 * with the first start and stays. Also calls that need no worker: texts, and the table that
 * nvidia-smi asks for.
 */
#include "nvml_stub.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static bool forked;		/* since the start, so that it counts for another worker */
static __thread bool starting;

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	forked = users > 0;
	starting = false;
}
WH_IN_CHILD(in_child())

static nvmlReturn_t start_worker(void)
{
	nvmlReturn_t rc;

	starting = true;
	rc = wh_raw_nvmlInit_v2();
	starting = false;
	__atomic_store_n(&forked, false, __ATOMIC_RELEASE);
	return rc;
}

/* A child inherits its parent's start, as with NVIDIA's library, but has a worker of its own. */
static void start_in_child(void)
{
	pthread_mutex_lock(&lock);
	if (forked && start_worker() != NVML_SUCCESS)
		users = 0;
	pthread_mutex_unlock(&lock);
}

/* gen_nvml_client.h declares this. May calls be made? */
bool wh_nvml_open(void)
{
	if (starting)
		return true;
	if (__atomic_load_n(&forked, __ATOMIC_ACQUIRE))
		start_in_child();
	return __atomic_load_n(&users, __ATOMIC_RELAXED) > 0;
}

nvmlReturn_t nvmlInit_v2(void)
{
	nvmlReturn_t rc = NVML_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!users)
		rc = start_worker();
	if (rc == NVML_SUCCESS)
		users++;
	pthread_mutex_unlock(&lock);
	return rc;
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInit_v2();
}

/*
 * The flags say what to do if there are no GPUs, or whether to attach them. The worker's GPU is
 * attached.
 */
nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t rc = NVML_ERROR_UNINITIALIZED;

	pthread_mutex_lock(&lock);
	if (users) {
		users--;
		rc = NVML_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* --- Texts -------------------------------------------------------------------- */

const char *nvmlErrorString(nvmlReturn_t result)
{
	static const char *const text[] = {
		[NVML_SUCCESS] = "Success",
		[NVML_ERROR_UNINITIALIZED] = "Uninitialized",
		[NVML_ERROR_INVALID_ARGUMENT] = "Invalid Argument",
		[NVML_ERROR_NOT_SUPPORTED] = "Not Supported",
		[NVML_ERROR_NO_PERMISSION] = "Insufficient Permissions",
		[NVML_ERROR_ALREADY_INITIALIZED] = "Already Initialized",
		[NVML_ERROR_NOT_FOUND] = "Not Found",
		[NVML_ERROR_INSUFFICIENT_SIZE] = "Insufficient Size",
		[NVML_ERROR_INSUFFICIENT_POWER] = "Insufficient External Power",
		[NVML_ERROR_DRIVER_NOT_LOADED] = "Driver Not Loaded",
		[NVML_ERROR_TIMEOUT] = "Timeout",
		[NVML_ERROR_IRQ_ISSUE] = "Interrupt Request Issue",
		[NVML_ERROR_LIBRARY_NOT_FOUND] = "NVML Shared Library Not Found",
		[NVML_ERROR_FUNCTION_NOT_FOUND] = "Function Not Found",
		[NVML_ERROR_CORRUPTED_INFOROM] = "Corrupted infoROM",
		[NVML_ERROR_GPU_IS_LOST] = "GPU is lost",
		[NVML_ERROR_RESET_REQUIRED] = "GPU requires reset",
		[NVML_ERROR_OPERATING_SYSTEM] = "GPU access blocked by the operating system",
		[NVML_ERROR_LIB_RM_VERSION_MISMATCH] = "Driver/library version mismatch",
		[NVML_ERROR_IN_USE] = "In use by another client",
		[NVML_ERROR_MEMORY] = "Insufficient Memory",
		[NVML_ERROR_NO_DATA] = "No data",
		[NVML_ERROR_VGPU_ECC_NOT_SUPPORTED] =
			"The requested vgpu operation is not available on target device, because ECC is enabled",
		[NVML_ERROR_INSUFFICIENT_RESOURCES] = "Insufficient Resources",
		[NVML_ERROR_FREQ_NOT_SUPPORTED] = "Frequency Not Supported",
		[NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "Argument Version Mismatch",
		[NVML_ERROR_DEPRECATED] = "Deprecated",
		[NVML_ERROR_NOT_READY] = "Not Ready",
		[NVML_ERROR_GPU_NOT_FOUND] = "GPU Not Found",
		[NVML_ERROR_INVALID_STATE] = "Invalid State",
		[NVML_ERROR_RESET_TYPE_NOT_SUPPORTED] = "Reset Type Not Supported",
	};

	if (result < sizeof(text) / sizeof(text[0]) && text[result])
		return text[result];
	return "Unknown Error";
}

/*
 * A process's name is looked up in this machine, since a pid that NVML shows belongs to this
 * machine. Only here is its name known.
 */
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	char path[64], line[4096];
	size_t n;
	FILE *f;

	if (!wh_nvml_open())
		return NVML_ERROR_UNINITIALIZED;
	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return NVML_ERROR_NOT_FOUND;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';	/* the first argument ends with a NUL */
	if (!n)
		return NVML_ERROR_NOT_FOUND;
	if (strlen(line) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(name, line);
	return NVML_SUCCESS;
}

/* --- nvidia-smi --------------------------------------------------------------- */

/*
 * nvidia-smi does not start without a table here, and accepts an empty one. No header has it.
 * Nothing of NVIDIA's private tables is emulated: every entry is NULL, which nvidia-smi takes
 * for a function that this NVML lacks.
 */
__attribute__((visibility("default")))
nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *id)
{
	static const void *const nothing[1024];

	(void)id;
	if (!table)
		return NVML_ERROR_INVALID_ARGUMENT;
	*table = nothing;
	return NVML_SUCCESS;
}
