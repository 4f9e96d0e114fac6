// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that two processes can share a memory pool: it is exported as a descriptor, its
 * memory as 64 bytes, and both are imported in a process that was executed anew. What is not made
 * for it is refused. The test runs the same natively, in the program's process and over shm.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass_file.h"
#include "start.h"
#include "tap.h"

#define FD	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define BYTES	(1u << 20)

static CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = FD,
				.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

static CUresult import(CUmemoryPool *pool, int fd)
{
	return cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)fd, FD, 0);
}

/* --- The other process --------------------------------------------------------------- */

enum op { POOL, POINTER, ALLOC, SET_POOL, FREE, CLOSE, DESTROY };

struct call {
	enum op op;
	CUmemPoolPtrExportData data;
};

/* Imports, and answers the first word, which it then changes. */
static CUresult pointer(CUdeviceptr *p, CUmemoryPool pool, CUmemPoolPtrExportData *data,
			uint32_t *word)
{
	CUdeviceptr had = *p;
	CUresult res = cuMemPoolImportPointer(p, pool, data);

	if (res) {
		*p = had;
		return res;
	}
	cuMemcpyDtoH(word, *p, 4);
	cuMemsetD32(*p + 4, *word + 1, 1);
	return cuCtxSynchronize();
}

static CUresult answer(int conn, struct call *c, uint32_t *word)
{
	static CUmemoryPool pool;
	static CUdeviceptr p;
	CUdeviceptr other;
	CUresult res;
	int fd;

	switch (c->op) {
	case POOL:
		fd = receive_file(conn);
		res = import(&pool, fd);
		close(fd);
		return res;
	case POINTER:
		return pointer(&p, pool, &c->data, word);
	case ALLOC:
		return cuMemAllocFromPoolAsync(&other, 4096, pool, NULL);
	case SET_POOL:
		return cuDeviceSetMemPool(0, pool);
	case FREE:
		res = cuMemFreeAsync(p, NULL);
		return res ? res : cuStreamSynchronize(NULL);
	case CLOSE:
		return cuIpcCloseMemHandle(p);
	case DESTROY:
		return cuMemPoolDestroy(pool);
	}
	return CUDA_ERROR_UNKNOWN;
}

static int peer(int conn)
{
	struct call c;
	uint32_t say[2];

	if (start_context())
		return 1;
	while (recv(conn, &c, sizeof(c), 0) == sizeof(c)) {
		say[1] = 0;
		say[0] = answer(conn, &c, &say[1]);
		if (send(conn, say, sizeof(say), 0) != sizeof(say))
			return 1;
	}
	return 0;
}

static CUresult ask(int conn, enum op op, const CUmemPoolPtrExportData *data, int fd,
		    uint32_t *word)
{
	struct call c = { .op = op };
	uint32_t said[2] = { CUDA_ERROR_UNKNOWN };

	if (data)
		c.data = *data;
	send(conn, &c, sizeof(c), 0);
	if (fd >= 0)
		send_file(conn, fd);
	if (recv(conn, said, sizeof(said), 0) != sizeof(said))
		diag("the other process ended");
	if (word)
		*word = said[1];
	return said[0];
}

/* --- Points --------------------------------------------------------------------------- */

static void test_sharing(int conn, CUmemoryPool pool, int fd)
{
	CUmemPoolPtrExportData data, wrong;
	uint32_t word = 0;
	CUdeviceptr p = 0;

	ok_eq(ask(conn, POOL, NULL, fd, NULL), 0, "another_process_imports_a_pool");
	ok(!cuMemAllocFromPoolAsync(&p, BYTES, pool, NULL) && !cuMemsetD32(p, 4711, BYTES / 4) &&
	   !cuCtxSynchronize(), "the_pool_has_memory");
	ok_eq(cuMemPoolExportPointer(&data, p), 0, "memory_of_the_pool_is_exported");
	ok_eq(ask(conn, POINTER, &data, -1, &word), 0, "and_imported");
	ok_eq(word, 4711, "it_has_what_was_written");
	cuMemcpyDtoH(&word, p + 4, 4);
	ok_eq(word, 4712, "what_the_other_process_writes_arrives");
	ok(ask(conn, ALLOC, NULL, -1, NULL) != 0, "an_imported_pool_gives_no_memory");
	ok(ask(conn, SET_POOL, NULL, -1, NULL) != 0, "nor_is_it_the_devices_pool");
	ok(ask(conn, CLOSE, NULL, -1, NULL) != 0, "its_memory_is_not_closed_as_an_allocation");
	wrong = data;
	((unsigned char *)&wrong)[16] ^= 1;
	ok(ask(conn, POINTER, &wrong, -1, NULL) != 0, "changed_bytes_are_not_imported");
	memset(&wrong, 0, sizeof(wrong));
	ok(ask(conn, POINTER, &wrong, -1, NULL) != 0, "nor_are_zeros");
	ok_eq(ask(conn, FREE, NULL, -1, NULL), 0, "the_other_process_frees_it");
	ok(ask(conn, FREE, NULL, -1, NULL) != 0, "once");
	ok_eq(cuMemcpyDtoH(&word, p + 4, 4), 0, "here_it_is_still_there");
	ok(!cuMemFreeAsync(p, NULL) && !cuStreamSynchronize(NULL), "and_is_freed_here");
	/* NVIDIA's driver imports what is no memory any more, and keeps the pool for it. */
	if (!strcmp(getenv("WORMHOLE_TRANSPORT") ?: "", "shm"))
		ok(ask(conn, POINTER, &data, -1, NULL) != 0, "freed_memory_is_not_imported");
	else
		skip("freed_memory_is_not_imported", "the driver imports it");
	ok_eq(ask(conn, DESTROY, NULL, -1, NULL), 0, "the_other_process_destroys_its_pool");
}

static void test_refusals(int conn)
{
	CUmemPoolProps plain = props;
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr p = 0;
	int fd = -1, other;

	plain.handleTypes = 0;
	cuMemPoolCreate(&pool, &plain);
	cuMemAllocFromPoolAsync(&p, 4096, pool, NULL);
	ok(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0) != 0,
	   "a_pool_not_made_for_it_is_not_exported");
	ok(p && cuMemPoolExportPointer(&data, p) != 0, "nor_is_its_memory");
	cuMemFreeAsync(p, NULL);
	cuMemPoolDestroy(pool);
	cuMemAlloc(&p, 4096);
	ok(cuMemPoolExportPointer(&data, p) != 0, "memory_of_no_pool_is_not_exported");
	cuMemFree(p);
	other = dup(1);
	ok(ask(conn, POOL, NULL, other, NULL) != 0, "another_file_is_not_imported");
	close(other);
}

int main(int argc, char **argv)
{
	CUmemoryPool pool = NULL;
	int conn, value = 0, fd = -1;
	pid_t pid;

	alarm(100);
	if (argc == 3 && !strcmp(argv[1], "--peer"))
		return peer(atoi(argv[2]));
	if (start_context()) {
		printf("Bail out! CUDA does not start\n");
		return 1;
	}
	tap_plan(24);
	pid = start_peer(&conn);
	cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0);
	ok(value & FD, "device_says_that_it_can");
	ok_eq(cuMemPoolCreate(&pool, &props), 0, "a_pool_is_made_to_be_exported");
	ok_eq(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0), 0, "it_is_exported");
	test_sharing(conn, pool, fd);
	test_refusals(conn);
	close(fd);
	cuMemPoolDestroy(pool);
	close(conn);
	waitpid(pid, NULL, 0);
	return tap_exit();
}
