// SPDX-License-Identifier: Apache-2.0
/*
 * The devices: count, names, UUIDs, PCI addresses, properties and attributes. The numbers
 * describe what the executor really accepts: a launch checks the limits of blocks, grids
 * and shared memory against the same constants.
 *
 * A process's devices have places: their numbers on the machine. A restore of a checkpoint
 * may change them (checkpoint.c). All devices differ in nothing but their memory, and MIG
 * instances (machine.c) in their number of multiprocessors. Of instances a process has one,
 * and no GPU beside it, as with NVIDIA's driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"

#define MAX_PITCH	0x7fffffff
#define CLOCK_KHZ	1000000
#define L2_BYTES	(1 << 20)
#define BUS_BITS	64

static struct sgpu_machine machine;

static struct {
	uint64_t total[SGPU_DEVICES];	/* bytes of each part of the machine */
	unsigned int n;			/* devices of the process */
	uint8_t place[SGPU_DEVICES];
} devices;

static struct { int major, minor; } capability;

/* Attributes that are not listed are 0: softgpu lacks the feature. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = SGPU_MAX_BLOCK_Z,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = SGPU_MAX_GRID_X,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = SGPU_MAX_GRID_YZ,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = SGPU_MAX_GRID_YZ,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = SGPU_SHARED_PLAIN,
	[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
	[CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
	[CU_DEVICE_ATTRIBUTE_MAX_PITCH] = MAX_PITCH,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = SGPU_SM_REGS,
	[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = CLOCK_KHZ,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] = SGPU_MAX_LINE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH] = SGPU_MAX_WIDTH,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT] = SGPU_MAX_HEIGHT,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS] = SGPU_MAX_LAYERS,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS] = SGPU_MAX_LAYERS,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH] = SGPU_MAX_CUBE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH] = SGPU_MAX_CUBE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS] = SGPU_MAX_FACES,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH] = SGPU_MAX_LINE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH] = SGPU_MAX_WIDTH,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT] = SGPU_MAX_HEIGHT,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH] = SGPU_MAX_BOX,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS] = SGPU_MAX_LAYERS,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT] = SGPU_MAX_LAYERED,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS] = SGPU_MAX_LAYERS,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH] = SGPU_MAX_CUBE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH] = SGPU_MAX_CUBE,
	[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS] = SGPU_MAX_FACES,
	[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = CU_COMPUTEMODE_DEFAULT,
	[CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = CLOCK_KHZ,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = BUS_BITS,
	[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = L2_BYTES,
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = SGPU_SM_THREADS,
	[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
	[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] =
		SGPU_SM_SHARED,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = SGPU_SM_REGS,
	[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO] = 2,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
	[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] =
		SGPU_SHARED_OPTIN,
	[CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = SGPU_SM_BLOCKS,
	[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] =
		SGPU_SHARED_RESERVED,
	[CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK] =
		CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY | CU_MEM_DECOMPRESS_ALGORITHM_LZ4,
	[CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH] = SGPU_DECOMPRESS_MOST,
	[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] = SGPU_POOL_HANDLES,
	[CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT] = 1,
	[CU_DEVICE_ATTRIBUTE_NUMA_ID] = -1,
	[CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID] = -1,
	[CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
};

/* ---- which devices ---- */

/* Returns the place of the GPU, or of its first instance; -1: it has none. */
static int first_of_gpu(unsigned int gpu)
{
	unsigned int d;

	for (d = 0; d < machine.parts; d++)
		if (machine.part[d].gpu == gpu)
			return (int)d;
	return -1;
}

/* Returns the place that an entry of CUDA_VISIBLE_DEVICES names, or -1. */
static int named(const char *entry, size_t length)
{
	char uuid[SGPU_UUID_TEXT], *end;
	long number = strtol(entry, &end, 10);
	unsigned int d;

	if (length && end == entry + length)
		return number >= 0 && number < (long)machine.gpus ?
		       first_of_gpu((unsigned int)number) : -1;
	for (d = 0; d < machine.parts && length > 4 && length < sizeof(uuid); d++) {
		sgpu_part_uuid_text(&machine.part[d], uuid);
		if (!strncasecmp(uuid, entry, length))
			return (int)d;
	}
	for (d = 0; d < machine.gpus && length > 4 && length < sizeof(uuid); d++) {
		sgpu_uuid_text(d, uuid);
		if (!strncasecmp(uuid, entry, length))
			return first_of_gpu(d);
	}
	return -1;
}

/* The list ends at the first entry that names no device, as with NVIDIA's driver. */
static void choose(const char *list)
{
	size_t length;
	int d;

	for (; devices.n < machine.parts; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		d = named(list, length);
		if (d < 0 || memchr(devices.place, d, devices.n))
			return;
		devices.place[devices.n++] = (uint8_t)d;
	}
}

/*
 * A process has one instance at most, and with it no other device ("CUDA can only enumerate a
 * single compute instance", NVIDIA's MIG user guide).
 */
static void only_one_instance(void)
{
	unsigned int d;

	for (d = 0; d < devices.n; d++)
		if (machine.part[devices.place[d]].slices) {
			devices.place[0] = devices.place[d];
			devices.n = 1;
		}
}

static CUresult find_machine(void)
{
	const char *wrong = sgpu_machine_find(&machine);

	if (!wrong)
		return CUDA_SUCCESS;
	if (!strcmp(wrong, "WORMHOLE_SOFTGPU_MEM"))
		sgpu_complain("WORMHOLE_SOFTGPU_MEM=%s is not a size of at least 1M, or a list of at most %u of "
			      "them, one for each device", getenv(wrong), SGPU_DEVICES);
	else
		sgpu_complain("%s=%s is no list of instances for each device, such as 3+2+1: slices of 1, 2, 3, 4 or "
			      "7, together at most %u, with at least 1M of memory; at most %u devices and "
			      "instances", wrong, getenv(wrong), SGPU_MIG_SLICES, SGPU_DEVICES);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sgpu_devices_init(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	CUresult rc = find_machine();
	unsigned int d;

	if (rc)
		return rc;
	if (!sgpu_capability(&capability.major, &capability.minor)) {
		sgpu_complain("WORMHOLE_SOFTGPU_CAPABILITY=%s is no compute capability from 7.5 to 12.1, such as "
			      SGPU_CAPABILITY, getenv("WORMHOLE_SOFTGPU_CAPABILITY"));
		return CUDA_ERROR_INVALID_VALUE;
	}
	devices.n = 0;
	for (d = 0; d < machine.parts; d++) {
		devices.total[d] = machine.part[d].bytes / SGPU_GRANULE * SGPU_GRANULE;
		devices.place[d] = (uint8_t)d;
	}
	if (list)
		choose(list);
	else
		devices.n = machine.parts;
	only_one_instance();
	return devices.n ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

unsigned int sgpu_target(void)
{
	return (unsigned int)(10 * capability.major + capability.minor);
}

bool sgpu_device_ok(CUdevice dev)
{
	return dev >= 0 && (unsigned int)dev < devices.n;
}

uint64_t sgpu_device_total(int device)
{
	return devices.total[devices.place[device]];
}

uint64_t sgpu_devices_total(void)
{
	uint64_t all = 0;
	unsigned int d;

	for (d = 0; d < devices.n; d++)
		all += sgpu_device_total((int)d);
	return all;
}

unsigned int sgpu_device_place(int device)
{
	return devices.place[device];
}

static const struct sgpu_part *part_of(int device)
{
	return &machine.part[devices.place[device]];
}

unsigned int sgpu_device_sms(int device)
{
	const struct sgpu_part *p = part_of(device);

	return p->slices ? p->slices * SGPU_SLICE_SMS : SGPU_NSM;
}

bool sgpu_devices_mapped(const uint8_t to[SGPU_DEVICES], uint8_t place[SGPU_DEVICES])
{
	unsigned int d, taken = 0;

	for (d = 0; d < devices.n; d++) {
		place[d] = to[devices.place[d]];
		if (place[d] >= machine.parts || taken & 1u << place[d] ||
		    devices.total[place[d]] != sgpu_device_total((int)d) ||
		    (machine.part[place[d]].slices && place[d] != devices.place[d]))
			return false;
		taken |= 1u << place[d];
	}
	return true;
}

void sgpu_devices_set(const uint8_t place[SGPU_DEVICES])
{
	memcpy(devices.place, place, devices.n);
}

int sgpu_device_by_uuid(const CUuuid *uuid)
{
	unsigned char own[16];
	unsigned int d;

	for (d = 0; d < machine.parts; d++) {
		sgpu_part_uuid(&machine.part[d], own);
		if (!memcmp(own, uuid->bytes, sizeof(own)))
			return (int)d;
	}
	return -1;
}

/* ---- queries ---- */

/* Checks what all device queries check. On success the lock is held. */
static CUresult enter_device(CUdevice dev, const void *out)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_device_ok(dev) ? CUDA_SUCCESS :
				     sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult rc = enter_device(ordinal, dev);

	if (rc)
		return rc;
	*dev = ordinal;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult rc = enter_device(0, count);

	if (rc)
		return rc;
	*count = (int)devices.n;
	return sgpu_leave(CUDA_SUCCESS);
}

static void copy_text(char *out, int len, const char *text)
{
	size_t n = strlen(text);

	if (n > (size_t)len - 1)
		n = (size_t)len - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult rc = enter_device(dev, name);
	char own[64];

	if (rc)
		return rc;
	if (len <= 0)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	sgpu_part_name(part_of(dev), own, sizeof(own));
	copy_text(name, len, own);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	CUresult rc = enter_device(dev, uuid);

	if (rc)
		return rc;
	sgpu_part_uuid(part_of(dev), (unsigned char *)uuid->bytes);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
	__attribute__((alias("cuDeviceGetUuid_v2")));

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUresult rc = enter_device(dev, bytes);

	if (rc)
		return rc;
	*bytes = sgpu_device_total(dev);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which,
			      CUdevice dev)
{
	CUresult rc = enter_device(dev, value);

	if (rc)
		return rc;
	if (which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = attributes[which];
	if (which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		*value = (int)sgpu_device_sms(dev);
	if (which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
		*value = sgpu_hmm();
	if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = capability.major;
	if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = capability.minor;
	if (which == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH ||
	    which == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
		*value = capability.major >= 9;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult rc = enter_device(dev, major);

	if (rc)
		return rc;
	if (!minor)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*major = capability.major;
	*minor = capability.minor;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	CUresult rc = enter_device(dev, prop);

	if (rc)
		return rc;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = SGPU_MAX_BLOCK_THREADS,
		.maxThreadsDim = { SGPU_MAX_BLOCK_THREADS,
				   SGPU_MAX_BLOCK_THREADS, SGPU_MAX_BLOCK_Z },
		.maxGridSize = { SGPU_MAX_GRID_X, SGPU_MAX_GRID_YZ,
				 SGPU_MAX_GRID_YZ },
		.sharedMemPerBlock = SGPU_SHARED_PLAIN,
		.totalConstantMemory = 65536,
		.SIMDWidth = 32,
		.memPitch = MAX_PITCH,
		.regsPerBlock = SGPU_SM_REGS,
		.clockRate = CLOCK_KHZ,
		.textureAlign = 512,
	};
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	char own[sizeof(SGPU_PCI_BUS_ID)];
	CUresult rc = enter_device(dev, id);

	if (rc)
		return rc;
	if (len < (int)sizeof(own))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	sgpu_pci_bus_id(part_of(dev)->gpu, own);
	copy_text(id, len, own);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned int domain = 0, bus, slot, function = 0, i;
	CUresult rc = enter_device(0, dev);

	if (rc)
		return rc;
	if (!id || (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot,
			   &function) < 3 &&
		    sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	for (i = 0; i < devices.n && part_of((int)i)->gpu != bus; i++)
		;
	if (domain || slot || function || i == devices.n)
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	*dev = (CUdevice)i;
	return sgpu_leave(CUDA_SUCCESS);
}

/* No device is a peer of another one, or of itself. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult rc = enter_device(dev, can);

	if (rc)
		return rc;
	if (!sgpu_device_ok(peer))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	*can = 0;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetExecAffinitySupport(int *can, CUexecAffinityType type,
					CUdevice dev)
{
	CUresult rc = enter_device(dev, can);

	if (rc)
		return rc;
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*can = 0;
	return sgpu_leave(CUDA_SUCCESS);
}
