// SPDX-License-Identifier: Apache-2.0
/*
 * A driver library for the test device. It is softgpu's, but for the kernel `accumulate`,
 * which the device runs. It works as NVIDIA's user-mode driver does: a launch writes a
 * command to the ring, its number to the device's memory, and the doorbell; a wait reads
 * a register and looks at what the device writes. None of this is a system call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda.h>

#include "device.h"

#define KERNEL		"accumulate"
#define MAX_SPINS	(1u << 30)
#define LOOKS_AT_THE_LOCK	10000000u

static struct {
	CUresult (*cuLaunchKernelEx)(const CUlaunchConfig *, CUfunction, void **, void **);
	CUresult (*cuFuncGetName)(const char **, CUfunction);
	CUresult (*cuStreamSynchronize)(CUstream);
	CUresult (*cuCtxSynchronize)(void);
	CUresult (*cuMemcpyDtoH_v2)(void *, CUdeviceptr, size_t);
	CUresult (*cuMemcpyDtoHAsync_v2)(void *, CUdeviceptr, size_t, CUstream);
	CUresult (*cuMemcpyHtoD_v2)(CUdeviceptr, const void *, size_t);
} soft;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile char *registers, *memory, *ring;
static uint64_t submitted;	/* number of the last command */
static CUdeviceptr target;	/* the sum that the device is adding to, or 0 */

static volatile struct wh_dev_status *status(void)
{
	return (volatile struct wh_dev_status *)ring;
}

static void *map(int fd, size_t size, int prot, off_t offset)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, offset);

	return p == MAP_FAILED ? NULL : p;
}

/* Opens the device. If that fails, a launch of the kernel returns the error. */
__attribute__((constructor))
static void start(void)
{
	int fd = open(WH_DEV_NODE, O_RDWR | O_CLOEXEC);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

#define FIND(f)	soft.f = lib ? dlsym(lib, #f) : NULL
	FIND(cuLaunchKernelEx);
	FIND(cuFuncGetName);
	FIND(cuStreamSynchronize);
	FIND(cuCtxSynchronize);
	FIND(cuMemcpyDtoH_v2);
	FIND(cuMemcpyDtoHAsync_v2);
	FIND(cuMemcpyHtoD_v2);
#undef FIND
	if (fd < 0) {
		perror(WH_DEV_NODE);
		return;
	}
	/* NVIDIA's driver maps its registers only for writing, and reads them nevertheless. */
	registers = map(fd, WH_DEV_REGISTERS_SIZE, PROT_WRITE, WH_DEV_REGISTERS);
	memory = map(fd, WH_DEV_MEMORY_SIZE, PROT_READ | PROT_WRITE, WH_DEV_MEMORY);
	ring = map(fd, WH_DEV_SYSTEM_SIZE, PROT_READ | PROT_WRITE, WH_DEV_SYSTEM);
	close(fd);
}

static bool wait_for(uint64_t number)
{
	unsigned int spins;

	for (spins = 0; spins < MAX_SPINS; spins++) {
		if (__atomic_load_n(&status()->completed, __ATOMIC_ACQUIRE) >= number)
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/*
 * Waits until the device has done all commands, and writes its sum to where the kernel
 * would have put it.
 */
static CUresult drain(void)
{
	uint64_t sum;
	CUresult res;

	if (!target)
		return CUDA_SUCCESS;
	if (*(volatile uint64_t *)(registers + WH_DEV_REGISTERS) != WH_DEV_MAGIC)
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	if (!wait_for(submitted))
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	if (status()->errors)
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	sum = status()->result;
	res = soft.cuMemcpyHtoD_v2(target, &sum, sizeof(sum));
	target = 0;
	return res;
}

/*
 * A thread that finds the lock taken looks for it, as in softgpu: to sleep would be a system call,
 * and so would be to wake it. The number of looks is finite: the holder may have been stopped.
 */
static void take_lock(void)
{
	unsigned int n;

	for (n = 0; n < LOOKS_AT_THE_LOCK; n++) {
		if (!pthread_mutex_trylock(&lock))
			return;
		sched_yield();
	}
	pthread_mutex_lock(&lock);
}

static CUresult drain_locked(void)
{
	CUresult res;

	take_lock();
	res = drain();
	pthread_mutex_unlock(&lock);
	return res;
}

static void submit(uint64_t start, uint64_t add, bool first)
{
	uint64_t number = submitted + 1, entry = number % WH_DEV_ENTRIES;
	volatile struct wh_dev_command *c = (volatile void *)(ring + 4096 + entry * WH_DEV_STRIDE);

	c->number = number;
	c->start = start;
	c->add = add;
	c->first = first;
	*(volatile uint64_t *)(memory + entry * 8) = number;
	__builtin_ia32_sfence();	/* the device's memory is write-combining */
	*(volatile uint64_t *)(registers + WH_DEV_DOORBELL) = number;
	submitted = number;
}

static CUresult accumulate(CUdeviceptr sum, uint32_t add)
{
	uint64_t start = 0;
	bool first = target != sum;
	CUresult res;

	if (!registers || !memory || !ring)
		return CUDA_ERROR_NO_DEVICE;
	if (first) {
		res = drain();
		if (res == CUDA_SUCCESS)
			res = soft.cuMemcpyDtoH_v2(&start, sum, sizeof(start));
		if (res != CUDA_SUCCESS)
			return res;
		/* The worker before may have left the number at any value. */
		if (!submitted)
			submitted = status()->completed;
		target = sum;
	}
	if (submitted >= WH_DEV_ENTRIES && !wait_for(submitted - WH_DEV_ENTRIES + 1))
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	submit(start, add, first);
	return CUDA_SUCCESS;
}

static bool is_ours(CUfunction f)
{
	static CUfunction known[2];	/* one is ours, one is not */
	const char *name;
	bool ours;

	if (f == known[0] || f == known[1])
		return f == known[0];
	ours = soft.cuFuncGetName(&name, f) == CUDA_SUCCESS && !strcmp(name, KERNEL);
	known[!ours] = f;
	return ours;
}

__attribute__((visibility("default")))
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
			  void **extra)
{
	struct {
		CUdeviceptr sum;
		uint32_t add;
	} args;
	CUresult res;

	if (!is_ours(f))
		return soft.cuLaunchKernelEx(config, f, params, extra);
	if (!extra || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER)
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(&args, extra[1], sizeof(args));
	take_lock();
	res = accumulate(args.sum, args.add);
	pthread_mutex_unlock(&lock);
	return res;
}

__attribute__((visibility("default")))
CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult res = drain_locked();

	return res == CUDA_SUCCESS ? soft.cuStreamSynchronize(stream) : res;
}

__attribute__((visibility("default")))
CUresult cuCtxSynchronize(void)
{
	CUresult res = drain_locked();

	return res == CUDA_SUCCESS ? soft.cuCtxSynchronize() : res;
}

__attribute__((visibility("default")))
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	CUresult res = drain_locked();

	return res == CUDA_SUCCESS ? soft.cuMemcpyDtoH_v2(dst, src, size) : res;
}

__attribute__((visibility("default")))
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CUresult res = drain_locked();

	return res == CUDA_SUCCESS ? soft.cuMemcpyDtoHAsync_v2(dst, src, size, stream) : res;
}
