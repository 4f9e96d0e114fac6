// SPDX-License-Identifier: Apache-2.0
/*
 * A client for the tests of tenants, which does what its words say, in order.
 *   alloc=BYTES  allocates; prints "ok" or the error's name
 *   free         frees the last allocation
 *   pin=BYTES    pins memory; fill=BYTES writes so much of it; unpin ends the last of it
 *   copy=BYTES   copies to the device and back
 *   export=FILE  writes the last allocation's IPC handle
 *   open=FILE    opens a handle; prints "ok" or the error's name; `close` closes it
 *   openevent=FILE  does the same with an event
 *   launch=N     makes N launches of a small kernel, and waits for them; prints "ok" or the
 *                error's name
 *   event=FILE   writes an event's handle; share=N writes those of N events, until one has
 *                none, and prints how many
 *   end          destroys these events
 *   create=FILE  makes 64 MiB by cuMemCreate and exports them: FILE gets what is in the descriptor
 *   import=FILE  imports such a file; `map` maps it and releases the handle, `unmap` ends that
 *   pool=FILE    makes a pool with 40 MiB of memory and exports both, the memory to FILE.memory;
 *                `takepool=FILE` imports both; `freepool` frees the memory and trims the pool,
 *                `endpool` destroys the pool
 *   info         prints total and free memory as CUDA tells it
 *   driver       prints the driver's version
 *   context      makes a second context current; `first` makes the first one current again,
 *                `destroy` ends the second one
 *   ready        prints "ready"
 *   line         waits for a line of standard input
 *   wait         waits until the end of standard input
 *   fork         leaves a child that waits likewise
 * It ends with status 3 when CUDA does not start. Nothing here lives longer than two
 * minutes.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "start.h"

#define EVENTS	10000

static CUdeviceptr last, opened;
static CUcontext own, second;
static void *pinned;
static CUevent event[EVENTS];
static unsigned int events;

static int say(CUresult res)
{
	const char *name = "?";

	if (res != CUDA_SUCCESS)
		cuGetErrorName(res, &name);
	printf("%s\n", res == CUDA_SUCCESS ? "ok" : name);
	fflush(stdout);
	return res != CUDA_SUCCESS;
}

static CUresult copy(size_t n)
{
	char *a = calloc(1, n);
	CUdeviceptr p;
	CUresult res = cuMemAlloc(&p, n);

	if (res == CUDA_SUCCESS)
		res = cuMemcpyHtoD(p, a, n);
	if (res == CUDA_SUCCESS)
		res = cuMemcpyDtoH(a, p, n);
	if (res == CUDA_SUCCESS)
		res = cuMemFree(p);
	free(a);
	return res;
}

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

static CUresult launch(unsigned long long n)
{
	CUfunction f;
	CUmodule m;
	CUresult res = cuModuleLoadData(&m, ptx);

	if (res == CUDA_SUCCESS)
		res = cuModuleGetFunction(&f, m, "nothing");
	for (; n && res == CUDA_SUCCESS; n--)
		res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return res ? res : cuCtxSynchronize();
}

static CUresult write_handle(const char *file, const void *h)
{
	FILE *f = fopen(file, "w");
	int good = f && fwrite(h, 64, 1, f) == 1;

	return f && !fclose(f) && good ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

static CUresult export_memory(const char *file)
{
	CUipcMemHandle h;
	CUresult res = cuIpcGetMemHandle(&h, last);

	return res ? res : write_handle(file, &h);
}

static CUresult new_event(CUipcEventHandle *h)
{
	const unsigned int flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
	CUresult res = cuEventCreate(&event[events], flags);

	if (res == CUDA_SUCCESS)
		res = cuIpcGetEventHandle(h, event[events]);
	events += res == CUDA_SUCCESS;
	return res;
}

static CUresult export_event(const char *file)
{
	CUipcEventHandle h;
	CUresult res = new_event(&h);

	return res ? res : write_handle(file, &h);
}

static int read_handle(const char *file, void *h)
{
	FILE *f = fopen(file, "r");
	int good = f && fread(h, 64, 1, f) == 1;

	if (f)
		fclose(f);
	return good;
}

static CUresult open_memory(const char *file)
{
	CUipcMemHandle h;

	if (!read_handle(file, &h))
		return CUDA_ERROR_FILE_NOT_FOUND;
	return cuIpcOpenMemHandle(&opened, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

#define CREATED	(64ull << 20)
#define FD	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static CUmemGenericAllocationHandle allocation;
static CUdeviceptr mapped;

static CUresult create(const char *file)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = FD,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};
	unsigned char bytes[64];
	CUresult res = cuMemCreate(&allocation, CREATED, &prop, 0);
	int fd = -1;

	if (res == CUDA_SUCCESS)
		res = cuMemExportToShareableHandle(&fd, allocation, FD, 0);
	if (res != CUDA_SUCCESS)
		return res;
	if (pread(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return CUDA_ERROR_FILE_NOT_FOUND;
	close(fd);
	return write_handle(file, bytes);
}

/* A descriptor of the same kind with the same content is as good as the original. */
static int same_file(const char *file)
{
	int fd = memfd_create("copy", MFD_ALLOW_SEALING);
	unsigned char bytes[64];

	if (!read_handle(file, bytes) || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return -1;
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE);
	return fd;
}

static CUresult import(const char *file)
{
	int fd = same_file(file);
	CUresult res;

	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	res = cuMemImportFromShareableHandle(&allocation, (void *)(intptr_t)fd, FD);
	close(fd);
	return res;
}

static CUmemoryPool pool;
static CUdeviceptr pooled;

static CUresult make_pool(const char *file)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = FD,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};
	CUmemPoolPtrExportData data;
	unsigned char bytes[64];
	char memory[256];
	CUresult res = cuMemPoolCreate(&pool, &props);
	int fd = -1;

	if (res == CUDA_SUCCESS)
		res = cuMemAllocFromPoolAsync(&pooled, 40u << 20, pool, NULL);
	if (res == CUDA_SUCCESS)
		res = cuMemPoolExportToShareableHandle(&fd, pool, FD, 0);
	if (res == CUDA_SUCCESS)
		res = cuMemPoolExportPointer(&data, pooled);
	if (res != CUDA_SUCCESS)
		return res;
	if (pread(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return CUDA_ERROR_FILE_NOT_FOUND;
	close(fd);
	snprintf(memory, sizeof(memory), "%s.memory", file);
	res = write_handle(memory, &data);
	return res ? res : write_handle(file, bytes);
}

static CUresult take_pool(const char *file)
{
	CUmemPoolPtrExportData data;
	char memory[256];
	int fd = same_file(file);
	CUresult res;

	snprintf(memory, sizeof(memory), "%s.memory", file);
	if (fd < 0 || !read_handle(memory, &data))
		return CUDA_ERROR_FILE_NOT_FOUND;
	res = cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, FD, 0);
	close(fd);
	return res ? res : cuMemPoolImportPointer(&pooled, pool, &data);
}

static CUresult free_pool(void)
{
	CUresult res = cuMemFreeAsync(pooled, NULL);

	if (res == CUDA_SUCCESS)
		res = cuStreamSynchronize(NULL);
	return res ? res : cuMemPoolTrimTo(pool, 0);
}

static CUresult map(void)
{
	CUresult res = cuMemAddressReserve(&mapped, CREATED, 0, 0, 0);

	if (res == CUDA_SUCCESS)
		res = cuMemMap(mapped, CREATED, 0, allocation, 0);
	return res ? res : cuMemRelease(allocation);
}

static CUresult open_event(const char *file)
{
	CUipcEventHandle h;
	CUevent e;

	return read_handle(file, &h) ? cuIpcOpenEventHandle(&e, h) : CUDA_ERROR_FILE_NOT_FOUND;
}

static CUresult share(unsigned long long n)
{
	CUresult res = CUDA_SUCCESS;
	CUipcEventHandle h;

	while (events < n && events < EVENTS && res == CUDA_SUCCESS)
		res = new_event(&h);
	printf("%u ", events);
	return res;
}

static void info(void)
{
	size_t total = 0, left = 0;

	cuMemGetInfo(&left, &total);
	printf("total %zu free %zu\n", total, left);
	fflush(stdout);
}

static void await_line(void)
{
	char c;

	while (read(0, &c, 1) > 0 && c != '\n')
		;
}

static void await_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

static void driver(void)
{
	int version = 0;

	cuDriverGetVersion(&version);
	printf("driver %d\n", version);
	fflush(stdout);
}

/* Returns 1 for an error that the word meant. */
static int act(const char *word)
{
	const char *value = strchr(word, '=');
	unsigned long long n = value ? strtoull(value + 1, NULL, 0) : 0;

	if (!strncmp(word, "alloc=", 6))
		return say(cuMemAlloc(&last, n));
	if (!strncmp(word, "pin=", 4))
		return say(cuMemAllocHost(&pinned, n));
	if (!strncmp(word, "fill=", 5)) {
		memset(pinned, 1, n);
		return say(CUDA_SUCCESS);
	}
	if (!strcmp(word, "unpin"))
		return say(cuMemFreeHost(pinned));
	if (!strncmp(word, "copy=", 5))
		return say(copy(n));
	if (!strncmp(word, "launch=", 7))
		return say(launch(n));
	if (!strncmp(word, "export=", 7))
		return say(export_memory(value + 1));
	if (!strncmp(word, "event=", 6))
		return say(export_event(value + 1));
	if (!strncmp(word, "open=", 5))
		return say(open_memory(value + 1));
	if (!strncmp(word, "openevent=", 10))
		return say(open_event(value + 1));
	if (!strncmp(word, "share=", 6))
		return say(share(n));
	if (!strncmp(word, "create=", 7))
		return say(create(value + 1));
	if (!strncmp(word, "import=", 7))
		return say(import(value + 1));
	if (!strncmp(word, "pool=", 5))
		return say(make_pool(value + 1));
	if (!strncmp(word, "takepool=", 9))
		return say(take_pool(value + 1));
	if (!strcmp(word, "freepool"))
		return say(free_pool());
	if (!strcmp(word, "endpool"))
		return say(cuMemPoolDestroy(pool));
	if (!strcmp(word, "map"))
		return say(map());
	if (!strcmp(word, "unmap"))
		return say(cuMemUnmap(mapped, CREATED));
	if (!strcmp(word, "close"))
		return say(cuIpcCloseMemHandle(opened));
	if (!strcmp(word, "free"))
		return say(cuMemFree(last));
	if (!strcmp(word, "context"))
		return cuCtxGetCurrent(&own) || say(cuCtxCreate(&second, NULL, 0, 0));
	if (!strcmp(word, "first"))
		return say(cuCtxSetCurrent(own));
	if (!strcmp(word, "destroy"))
		return say(cuCtxDestroy(second));
	while (!strcmp(word, "end") && events)
		cuEventDestroy(event[--events]);
	if (!strcmp(word, "info"))
		info();
	else if (!strcmp(word, "driver"))
		driver();
	else if (!strcmp(word, "line"))
		await_line();
	else if (!strcmp(word, "wait"))
		await_end();
	else if (!strcmp(word, "fork") && !fork()) {
		await_end();
		_exit(0);
	} else if (!strcmp(word, "ready")) {
		puts("ready");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int i, rc = 0;
	CUresult res;

	alarm(120);
	res = start_context();
	if (res != CUDA_SUCCESS) {
		say(res);
		return 3;
	}
	for (i = 1; i < argc; i++)
		rc |= act(argv[i]);
	return rc;
}
