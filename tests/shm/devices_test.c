// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what CUDA_VISIBLE_DEVICES leaves, as a program sees it: here 2,0 of
 * four devices, which answer with the number under which the driver was asked. With an
 * argument it only prints the names of the devices, or cuInit's error.
 */
#include "driver_test.h"

static int print_names(void)
{
	CUresult res = cuInit(0);
	char name[64];
	int n, i;

	if (res) {
		printf("error %d\n", res);
		return 0;
	}
	cuDeviceGetCount(&n);
	for (i = 0; i < n; i++)
		printf("%s%s", i ? ", " : "", cuDeviceGetName(name, sizeof(name), i) ? "?" : name);
	puts("");
	return 0;
}

static void test_queries(void)
{
	char text[64];
	CUdevice dev = -7;
	CUuuid id;
	int n = 0, can = 0;

	ok(cuDeviceGetCount(&n) == 0 && n == 2, "two_devices_are_left");
	ok(!cuDeviceGetName(text, sizeof(text), 0) && !strcmp(text, "device 2") &&
	   !cuDeviceGetUuid(&id, 1) && id.bytes[0] == 0x10, "they_are_in_the_order_of_the_list");
	ok_eq(cuDeviceGet(&dev, 2), CUDA_ERROR_INVALID_DEVICE, "hidden_device_cannot_be_had");
	ok(!cuDeviceGetPCIBusId(text, sizeof(text), 0) && !strcmp(text, "0000:07:00.0"),
	   "number_goes_to_the_driver_translated");
	ok_eq(cuDeviceGetPCIBusId(text, sizeof(text), 2), CUDA_ERROR_INVALID_DEVICE,
	      "hidden_number_is_refused_by_the_driver");
	ok(!cuDeviceGetByPCIBusId(&dev, "0000:07:00.0") && dev == 0,
	   "number_comes_back_translated");
	ok_eq(cuDeviceGetByPCIBusId(&dev, "0000:08:00.0"), CUDA_ERROR_INVALID_DEVICE,
	      "hidden_device_does_not_come_back");
	ok(!cuDeviceCanAccessPeer(&can, 0, 1) && can == 20, "both_numbers_of_a_pair_are_translated");
}

/* The driver says that its devices have all of these. */
static void test_refused(void)
{
	static const CUdevice_attribute of_refused[] = {
		CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH,
		CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
		CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
		CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS,
		CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED,
		CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED,
	};
	int v = 0, shown = 0;
	size_t i;

	for (i = 0; i < sizeof(of_refused) / sizeof(of_refused[0]); i++)
		shown += cuDeviceGetAttribute(&v, of_refused[i], 0) || v;
	ok(!shown && !cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0) && v,
	   "no_device_has_what_only_refused_functions_use");
}

static void test_contexts(void)
{
	CUcontext c, created;
	CUdevice dev = -7;
	CUdeviceptr p;
	int n = -7;

	cuDevicePrimaryCtxRetain(&c, 0);
	cuCtxSetCurrent(c);
	ok(!cuCtxGetDevice(&dev) && dev == 0, "context_knows_the_programs_number");
	ok(!cuStreamGetDevice(NULL, &dev) && dev == 0, "stream_knows_it_too");
	ok(!cuMemAlloc(&p, 64) &&
	   !cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) &&
	   n == 0, "pointer_knows_it_too");
	ok(!cuCtxCreate(&created, NULL, 0, 1) && !cuCtxGetDevice(&dev) && dev == 1 &&
	   !cuStreamGetDevice(NULL, &dev) && dev == 1, "created_context_is_on_the_right_device");
	ok_eq(cuMemPrefetchAsync(p, 64, (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 }, 0, NULL),
	      CUDA_ERROR_NOT_SUPPORTED, "location_that_the_backend_lacks_is_not_supported");
}

static void test_locations(void)
{
	CUmemPoolProps props = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc desc[2] = {
		{ .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } },
		{ .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } },
	};
	CUmemoryPool pool;

	/* The fake driver answers the second call: is the last location this device? */
	ok(!cuMemPoolCreate(&pool, &props) && !cuDeviceGetDefaultMemPool(&pool, 0),
	   "location_in_a_struct_is_translated");
	ok(!cuMemSetAccess(0x1000, 64, desc, 2) && !cuDeviceGetDefaultMemPool(&pool, 1),
	   "locations_in_an_array_are_translated");
	ok_eq(desc[1].location.id, 1, "programs_own_struct_is_left_alone");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return print_names();
	setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
	setenv("FAKE_STRICT", "1", 1);
	tap_plan(17);
	if (cuInit(0)) {
		printf("Bail out! no CUDA\n");
		return 1;
	}
	test_queries();
	test_refused();
	test_contexts();
	test_locations();
	return tap_exit();
}
