// SPDX-License-Identifier: Apache-2.0
/*
 * Finds libcuda.so.1 and initialises it, once and when first needed. A fork's child does it
 * again, and its driver decides whether it may. Owns `drv`, the table of driver functions.
 *
 * The library is opened, not linked. So a program without a driver gets
 * cudaErrorInsufficientDriver, as from any CUDA runtime, and not a loader error.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "cudart.h"

struct rt_driver drv;
_Atomic unsigned int rt_epoch = 1;

enum start_state { START_NONE, START_LOADED, START_READY };

static _Atomic enum start_state state;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* Replaces a function that an older driver lacks. */
static CUresult missing_function(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static bool load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		rt_log("error: libcudart: %s", dlerror());
		return false;
	}
#define RESOLVE(f)						\
	drv.f = (__typeof__(drv.f))dlsym(lib, #f);		\
	if (!drv.f) {						\
		rt_log("warn: libcudart: libcuda.so.1 has no " #f); \
		drv.f = (__typeof__(drv.f))(void *)missing_function; \
	}
	RT_DRIVER_CALLS(RESOLVE)
#undef RESOLVE
	rt_profile_start(lib);
	return true;
}

/* Locks are held across fork, so that the child's copies are consistent. */
static void before_fork(void)
{
	rt_module_lock();
	pthread_mutex_lock(&start_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&start_lock);
	rt_module_unlock();
}

/*
 * Nothing of an initialised driver survives in the child, which begins like a new process.
 * NVIDIA's driver refuses it at cuInit(); a forwarding driver gives it another worker.
 */
static void after_fork_child(void)
{
	if (atomic_load(&state) == START_READY) {
		atomic_store(&state, START_LOADED);
		rt_modules_forked();
		atomic_fetch_add(&rt_epoch, 1);
	}
	rt_devices_forked();
	rt_properties_forked();
	pthread_mutex_unlock(&start_lock);
	rt_module_unlock();
}

__attribute__((constructor))
static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Kernels are loaded by functions that came with 12.0, whatever the program is of. */
#define DRIVER_MAJOR	(RT_MAJOR > 12 ? RT_MAJOR : 12)

/*
 * Any driver of this major version is sufficient, whatever its minor version. Calls that need
 * what it lacks report that. If the version cannot be read, the driver is not refused.
 */
static bool is_sufficient(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char program[64] = "";
	int version = 0;

	if (drv.cuDriverGetVersion(&version) != CUDA_SUCCESS || version / 1000 >= DRIVER_MAJOR)
		return true;
	if (version / 1000 >= 12)
		snprintf(program, sizeof(program), ", or a program for CUDA %d", version / 1000);
	if (!atomic_flag_test_and_set(&said))
		rt_complain("error: libcudart: the driver is of CUDA %d.%d, the program's runtime of "
			    "CUDA %d.%d: it takes a driver of CUDA %d.0 or newer%s", version / 1000,
			    version % 1000 / 10, RT_MAJOR, RT_MINOR, DRIVER_MAJOR, program);
	return false;
}

static cudaError_t start_slow(void)
{
	cudaError_t err = cudaSuccess;

	if (atomic_load(&state) == START_NONE) {
		if (!load_driver())
			return cudaErrorInsufficientDriver;
		atomic_store(&state, START_LOADED);
	}
	if (atomic_load(&state) == START_LOADED) {
		err = rt_error(drv.cuInit(0));
		if (!err && !is_sufficient())
			err = cudaErrorInsufficientDriver;
		if (!err)
			atomic_store(&state, START_READY);
	}
	return err;
}

/* Is the driver there and initialised? If not, each call tries again. */
cudaError_t rt_start(void)
{
	cudaError_t err;

	if (WH_LIKELY(atomic_load_explicit(&state, memory_order_acquire) == START_READY))
		return cudaSuccess;
	pthread_mutex_lock(&start_lock);
	err = start_slow();
	pthread_mutex_unlock(&start_lock);
	return err;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return rt_ret(cudaErrorInvalidValue);
	*runtimeVersion = rt_version;
	return cudaSuccess;
}

/* Returns 0 without a driver. It needs no device. */
cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return rt_ret(cudaErrorInvalidValue);
	*driverVersion = 0;
	rt_start();
	if (atomic_load(&state) == START_NONE)
		return cudaSuccess;
	return rt_ret(rt_error(drv.cuDriverGetVersion(driverVersion)));
}

static cudaError_t entry_point(const char *symbol, void **func, unsigned int version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	cudaError_t err;

	if (!symbol || !func || flags > cudaEnablePerThreadDefaultStream)
		return cudaErrorInvalidValue;
	err = rt_start();
	if (!err)
		err = rt_error(drv.cuGetProcAddress(symbol, func, (int)version, flags, &found));
	if (err)
		return err;
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	if (found == CU_GET_PROC_ADDRESS_SUCCESS)
		return cudaSuccess;
	/* The status and the null pointer say that it was not found; that is no error. */
	*func = NULL;
	return cudaSuccess;
}

/* In a program with per-thread default streams, "default" means those streams. */
static unsigned long long ptsz_flags(unsigned long long flags)
{
	return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return rt_ret(entry_point(symbol, funcPtr, rt_version, flags, driverStatus));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
					     unsigned int cudaVersion, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return rt_ret(entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus));
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
					 unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return cudaGetDriverEntryPoint(symbol, funcPtr, ptsz_flags(flags), driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **funcPtr,
		unsigned int cudaVersion, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return cudaGetDriverEntryPointByVersion(symbol, funcPtr, cudaVersion, ptsz_flags(flags),
						driverStatus);
}
