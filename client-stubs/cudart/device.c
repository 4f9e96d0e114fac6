// SPDX-License-Identifier: Apache-2.0
/*
 * Devices and the binding of threads to primary contexts. A device's primary
 * context is retained once per process, when a thread first needs it; a thread
 * whose current context was made by the program with the driver API keeps it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart.h"

#define MAX_DEVICES 64

static struct {
	pthread_mutex_t lock;
	_Atomic bool ready;
	int count;
	CUdevice dev[MAX_DEVICES];
	CUcontext primary[MAX_DEVICES];		/* NULL: not retained */
	int valid[MAX_DEVICES];			/* cudaSetValidDevices() */
	int valid_count;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

static cudaError_t read_devices(void)
{
	cudaError_t err;
	int i, count;

	err = rt_error(drv.cuDeviceGetCount(&count));
	if (err)
		return err;
	if (count > MAX_DEVICES)
		count = MAX_DEVICES;
	for (i = 0; i < count && !err; i++)
		err = rt_error(drv.cuDeviceGet(&devices.dev[i], i));
	if (err)
		return err;
	devices.count = count;
	atomic_store_explicit(&devices.ready, true, memory_order_release);
	return cudaSuccess;
}

/* Starts the driver and reads the list of devices. */
static cudaError_t need_devices(void)
{
	cudaError_t err = rt_start();

	if (err || atomic_load_explicit(&devices.ready, memory_order_acquire))
		return err;
	pthread_mutex_lock(&devices.lock);
	if (!devices.ready)
		err = read_devices();
	pthread_mutex_unlock(&devices.lock);
	return err;
}

cudaError_t rt_device(int ordinal, CUdevice *dev)
{
	cudaError_t err = need_devices();

	if (err)
		return err;
	if (ordinal < 0 || ordinal >= devices.count)
		return cudaErrorInvalidDevice;
	*dev = devices.dev[ordinal];
	return cudaSuccess;
}

cudaError_t rt_ordinal(CUdevice dev, int *ordinal)
{
	cudaError_t err = need_devices();
	int i;

	for (i = 0; !err && i < devices.count; i++) {
		if (devices.dev[i] == dev) {
			*ordinal = i;
			return cudaSuccess;
		}
	}
	return err ? err : cudaErrorInvalidDevice;
}

static cudaError_t retain(int ordinal, CUcontext *ctx)
{
	cudaError_t err = cudaSuccess;

	pthread_mutex_lock(&devices.lock);
	if (!devices.primary[ordinal])
		err = rt_error(drv.cuDevicePrimaryCtxRetain(&devices.primary[ordinal],
							    devices.dev[ordinal]));
	*ctx = devices.primary[ordinal];
	pthread_mutex_unlock(&devices.lock);
	return err;
}

/* Returns a device's primary context, which stays retained. */
cudaError_t rt_primary(int ordinal, CUcontext *ctx)
{
	CUdevice dev;
	cudaError_t err = rt_device(ordinal, &dev);

	return err ? err : retain(ordinal, ctx);
}

static cudaError_t make_current(int ordinal)
{
	CUcontext ctx;
	cudaError_t err = rt_primary(ordinal, &ctx);

	if (!err)
		err = rt_error(drv.cuCtxSetCurrent(ctx));
	if (!err)
		rt_self.bound = ctx;
	return err;
}

/*
 * Binds the first device that can be used, in the order of the program's list, or else of
 * ordinals.
 */
static cudaError_t bind_default(void)
{
	cudaError_t err = cudaErrorNoDevice;
	int i, n;

	n = devices.valid_count ? devices.valid_count : devices.count;
	for (i = 0; i < n && err; i++) {
		rt_self.device = devices.valid_count ? devices.valid[i] : i;
		err = make_current(rt_self.device);
	}
	if (err)
		rt_self.device = 0;
	return err;
}

/*
 * Gives the thread a context; this is the slow half of rt_enter(). A context that the runtime
 * did not bind itself was made by the program and stays.
 */
cudaError_t rt_bind(void)
{
	unsigned int epoch = atomic_load(&rt_epoch);
	CUcontext ctx = NULL;
	cudaError_t err = need_devices();

	if (!err)
		err = rt_error(drv.cuCtxGetCurrent(&ctx));
	if (err)
		return err;
	if (!ctx || ctx == rt_self.bound)
		err = rt_self.chosen || rt_self.bound ? make_current(rt_self.device) :
							bind_default();
	if (err)
		return err;
	rt_self.epoch = epoch;
	return rt_modules_again();
}

/*
 * Runs after CUDA_ERROR_INVALID_CONTEXT. Had the thread lost its context, and does it have one
 * now?
 */
bool rt_rebind(void)
{
	CUcontext ctx = NULL;

	if (drv.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || ctx)
		return false;
	rt_self.epoch = 0;
	return rt_bind() == cudaSuccess;
}

cudaError_t rt_context(CUcontext *ctx)
{
	return rt_error(drv.cuCtxGetCurrent(ctx));
}

/* Returns the device of the thread's context. The caller has called rt_enter(). */
cudaError_t rt_current_device(CUdevice *dev)
{
	return rt_error(DRV(cuCtxGetDevice(dev)));
}

/* In a fork's child: what the program said about devices was about the parent's. */
void rt_devices_forked(void)
{
	memset(&devices, 0, sizeof(devices));
	pthread_mutex_init(&devices.lock, NULL);
	rt_self.bound = NULL;
	rt_self.chosen = false;
	rt_self.device = 0;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t err;

	if (!count)
		return rt_ret(cudaErrorInvalidValue);
	*count = 0;
	err = need_devices();
	if (!err && !devices.count)
		err = cudaErrorNoDevice;
	if (!err)
		*count = devices.count;
	return rt_ret(err);
}

/* Makes no context. A thread without one works on the device that it chose, or on device 0. */
static cudaError_t get_device(int *ordinal)
{
	CUcontext ctx = NULL;
	CUdevice dev;
	cudaError_t err = need_devices();

	if (!err)
		err = rt_error(drv.cuCtxGetCurrent(&ctx));
	if (err)
		return err;
	if (!ctx) {
		*ordinal = rt_self.chosen || !devices.valid_count ? rt_self.device :
								    devices.valid[0];
		return cudaSuccess;
	}
	err = rt_error(drv.cuCtxGetDevice(&dev));
	return err ? err : rt_ordinal(dev, ordinal);
}

cudaError_t cudaGetDevice(int *device)
{
	return rt_ret(device ? get_device(device) : cudaErrorInvalidValue);
}

cudaError_t cudaSetDevice(int device)
{
	CUdevice dev;
	cudaError_t err = rt_device(device, &dev);

	if (!err)
		err = make_current(device);
	if (!err) {
		rt_self.device = device;
		rt_self.chosen = true;
		rt_self.epoch = atomic_load(&rt_epoch);
		err = rt_modules_again();
	}
	return rt_ret(err);
}

cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
	cudaError_t err = need_devices();
	int i;

	if (!err && (len < 0 || len > devices.count || (len && !device_arr)))
		err = cudaErrorInvalidValue;
	for (i = 0; !err && i < len; i++)
		if (device_arr[i] < 0 || device_arr[i] >= devices.count)
			err = cudaErrorInvalidDevice;
	if (err)
		return rt_ret(err);
	pthread_mutex_lock(&devices.lock);
	memcpy(devices.valid, device_arr, len * sizeof(*device_arr));
	devices.valid_count = len;
	pthread_mutex_unlock(&devices.lock);
	return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
	int ordinal = 0;
	cudaError_t err = get_device(&ordinal);

	if (err)
		return rt_ret(err);
	pthread_mutex_lock(&devices.lock);
	if (devices.primary[ordinal]) {
		err = rt_error(drv.cuDevicePrimaryCtxReset(devices.dev[ordinal]));
		devices.primary[ordinal] = NULL;
		atomic_fetch_add(&rt_epoch, 1);
	}
	pthread_mutex_unlock(&devices.lock);
	rt_self.last = cudaSuccess;
	return rt_ret(err);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	CUcontext ctx = NULL;
	int ordinal, active;
	cudaError_t err;

	if (!flags)
		return rt_ret(cudaErrorInvalidValue);
	err = get_device(&ordinal);
	if (!err)
		err = rt_error(drv.cuCtxGetCurrent(&ctx));
	if (!err && ctx)
		err = rt_error(drv.cuCtxGetFlags(flags));
	else if (!err)
		err = rt_error(drv.cuDevicePrimaryCtxGetState(devices.dev[ordinal], flags,
							      &active));
	/* Host memory can always be mapped, and the runtime says so. */
	if (!err)
		*flags |= cudaDeviceMapHost;
	return rt_ret(err);
}

static cudaError_t set_flags(int ordinal, unsigned int flags)
{
	if (flags & ~(unsigned int)(cudaDeviceMask | cudaDeviceSyncMemops))
		return cudaErrorInvalidValue;
	return rt_error(drv.cuDevicePrimaryCtxSetFlags(devices.dev[ordinal],
						       flags & ~cudaDeviceMapHost));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int ordinal;
	cudaError_t err = get_device(&ordinal);

	return rt_ret(err ? err : set_flags(ordinal, flags));
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	CUcontext ctx;
	CUdevice dev;
	cudaError_t err = rt_device(device, &dev);

	if (!err && (flags & cudaInitDeviceFlagsAreValid))
		err = set_flags(device, deviceFlags);
	if (!err)
		err = rt_primary(device, &ctx);
	return rt_ret(err);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	CUdevice dev;
	cudaError_t err = need_devices();

	if (!err && (!device || !pciBusId))
		err = cudaErrorInvalidValue;
	if (!err)
		err = rt_error(drv.cuDeviceGetByPCIBusId(&dev, pciBusId));
	if (!err)
		err = rt_ordinal(dev, device);
	return rt_ret(err);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	CUcontext peer;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_primary(peerDevice, &peer);
	if (!err)
		err = rt_error(DRV(cuCtxEnablePeerAccess(peer, flags)));
	return rt_ret(err);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
	CUcontext peer;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_primary(peerDevice, &peer);
	if (!err)
		err = rt_error(DRV(cuCtxDisablePeerAccess(peer)));
	return rt_ret(err);
}
