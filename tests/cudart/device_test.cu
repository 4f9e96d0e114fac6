// SPDX-License-Identifier: Apache-2.0
// The test promises devices: selection, properties, flags, limits, reset, versions, and the way
// to the driver API. It needs nvcc and any CUDA device.
#include <cuda.h>
#include "common.h"

#include <cuda_profiler_api.h>

__device__ int value = 4;

__global__ void twice(int *x)
{
	*x = 2 * value;
}

static void test_selection(int count)
{
	int dev = 7, devices[] = { 0 };
	cudaDeviceProp want = {};

	ok_err(cudaGetDevice(&dev), cudaSuccess, "a_thread_has_a_device_before_it_chooses");
	ok_eq(dev, 0, "the_first_device_is_the_default");
	ok_err(cudaSetDevice(count), cudaErrorInvalidDevice,
	       "a_device_that_does_not_exist_is_refused");
	ok_err(cudaSetDevice(-1), cudaErrorInvalidDevice, "a_negative_device_is_refused");
	clear_error();
	ok_err(cudaSetDevice(0), cudaSuccess, "a_device_is_chosen");
	want.major = 5;
	dev = -1;
	ok_err(cudaChooseDevice(&dev, &want), cudaSuccess, "a_device_is_found_by_its_properties");
	ok(dev >= 0 && dev < count, "the_found_device_exists");
	ok_err(cudaSetValidDevices(devices, 1), cudaSuccess, "a_list_of_valid_devices_is_taken");
}

static void test_properties(void)
{
	char bus[32] = "", again[32] = "";
	int n = 0, dev = -1;
	size_t free, total;
	cudaDeviceProp p;

	memset(&p, 0xee, sizeof(p));
	NEED(cudaGetDeviceProperties(&p, 0));
	NEED(cudaMemGetInfo(&free, &total));
	ok(p.name[0] && strlen(p.name) < sizeof(p.name), "a_device_has_a_name");
	ok(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[2] == 64 &&
	   p.maxGridSize[0] > 65535,
	   "launch_limits_are_those_of_cuda_devices");
	ok(p.totalGlobalMem >= total - total / 8 && p.totalConstMem == 65536 &&
	   p.sharedMemPerBlock == 49152,
	   "memory_sizes_are_in_the_properties");
	NEED(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
	ok(n == p.multiProcessorCount && n > 0, "attribute_and_property_agree");
	NEED(cudaDeviceGetAttribute(&n, cudaDevAttrComputeCapabilityMajor, 0));
	ok(n == p.major && n >= 5, "the_compute_capability_is_known");
	ok_err(cudaGetDeviceProperties(&p, 99), cudaErrorInvalidDevice,
	       "properties_of_no_device_are_refused");
	ok_err(cudaDeviceGetAttribute(&n, (cudaDeviceAttr)100000, 0), cudaErrorInvalidValue,
	       "an_unknown_attribute_is_refused");
	clear_error();
	NEED(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
	NEED(cudaDeviceGetByPCIBusId(&dev, bus));
	NEED(cudaDeviceGetPCIBusId(again, sizeof(again), dev));
	ok(!strcmp(bus, again) && strchr(bus, ':'), "a_device_is_found_by_its_bus_address");
}

static void test_limits_and_reset(int *dev)
{
	size_t stack = 0, later = 0;
	unsigned int flags = 0;
	void *again;
	int got = 0;

	NEED(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
	NEED(cudaDeviceSetLimit(cudaLimitStackSize, stack + 1024));
	NEED(cudaDeviceGetLimit(&later, cudaLimitStackSize));
	ok(stack > 0 && later >= stack + 1024, "a_limit_is_raised");
	ok_err(cudaGetDeviceFlags(&flags), cudaSuccess, "device_flags_can_be_asked");
	ok(flags & cudaDeviceMapHost, "host_memory_can_always_be_mapped");
	twice<<<1, 1>>>(dev);
	NEED(cudaDeviceSynchronize());
	ok_err(cudaDeviceReset(), cudaSuccess, "a_device_is_reset");
	ok(cudaFree(dev) != cudaSuccess, "memory_from_before_a_reset_is_gone");
	clear_error();
	NEED(cudaMalloc(&again, 64));
	twice<<<1, 1>>>((int *)again);
	NEED(cudaGetLastError());
	NEED(cudaMemcpy(&got, again, sizeof(got), cudaMemcpyDeviceToHost));
	ok_eq(got, 8, "kernels_and_variables_work_after_a_reset");
	NEED(cudaFree(again));
}

static void test_driver(void)
{
	enum cudaDriverEntryPointQueryResult status;
	int runtime = 0, driver = 0;
	CUresult (*get_current)(CUcontext *) = NULL;
	CUcontext ctx = NULL;
	CUcontext (*none)(void) = NULL;

	NEED(cudaRuntimeGetVersion(&runtime));
	NEED(cudaDriverGetVersion(&driver));
	ok(runtime / 1000 == 13 && driver >= 13000, "versions_are_those_of_cuda_13");
	NEED(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void **)&get_current, 13000,
	     cudaEnableDefault,
					      &status));
	ok(status == cudaDriverEntryPointSuccess && get_current, "a_driver_function_is_found");
	NEED(cudaFree(0));
	ok(get_current && get_current(&ctx) == CUDA_SUCCESS && ctx,
	   "the_driver_sees_the_runtimes_context");
	NEED(cudaGetDriverEntryPointByVersion("cuNoSuchThing", (void **)&none, 13000,
	     cudaEnableDefault, &status));
	ok(status == cudaDriverEntryPointSymbolNotFound && !none,
	   "an_unknown_driver_function_is_reported");
}

int main()
{
	int count = 0, *dev;

	tap_plan(28);
	ok_err(cudaGetDeviceCount(&count), cudaSuccess, "devices_are_counted");
	test_selection(count);
	test_properties();
	NEED(cudaMalloc(&dev, 64));
	test_limits_and_reset(dev);
	test_driver();
	ok(cudaProfilerStart() == cudaSuccess && cudaProfilerStop() == cudaSuccess,
	   "a_profiler_that_is_not_there_starts_and_stops");
	return tap_exit();
}
