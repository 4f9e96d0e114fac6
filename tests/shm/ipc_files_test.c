// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that two processes can share memory of cuMemCreate: it is exported as
 * a descriptor, passed on by a socket as programs do, imported and mapped in a process
 * that was executed anew. The test runs the same natively, in the program's process and
 * over shm.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
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

static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = FD,
				    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static const CUmemAccessDesc both = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static size_t page;

static CUresult start(void)
{
	CUresult res = start_context();

	return res ? res : cuMemGetAllocationGranularity(&page, &prop,
							 CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

static CUdeviceptr map(CUmemGenericAllocationHandle h)
{
	CUdeviceptr p = 0;

	if (cuMemAddressReserve(&p, page, 0, 0, 0) || cuMemMap(p, page, 0, h, 0) ||
	    cuMemSetAccess(p, page, &both, 1))
		return 0;
	return p;
}

static CUresult import(CUmemGenericAllocationHandle *h, int fd)
{
	return cuMemImportFromShareableHandle(h, (void *)(intptr_t)fd, FD);
}

/* --- The other process --------------------------------------------------------------- */

/* Answers, for each descriptor, the import's result and the first word, which it then changes. */
static int peer(int conn)
{
	CUmemGenericAllocationHandle h;
	uint32_t say[2];
	CUdeviceptr p;
	int fd;

	if (start())
		return 1;
	while ((fd = receive_file(conn)) >= 0) {
		say[0] = import(&h, fd);
		say[1] = 0;
		close(fd);
		if (!say[0]) {
			p = map(h);
			/* The mapping keeps the memory. */
			cuMemRelease(h);
			cuMemcpyDtoH(&say[1], p, 4);
			cuMemsetD32(p + 4, say[1] + 1, 1);
			cuCtxSynchronize();
		}
		if (send(conn, say, sizeof(say), 0) != sizeof(say))
			return 1;
	}
	return 0;
}

static CUresult ask(int conn, int fd, uint32_t *word)
{
	uint32_t said[2] = { CUDA_ERROR_UNKNOWN };

	send_file(conn, fd);
	if (recv(conn, said, sizeof(said), 0) != sizeof(said))
		diag("the other process ended");
	*word = said[1];
	return said[0];
}

/* --- Points --------------------------------------------------------------------------- */

static void test_sharing(int conn)
{
	CUmemGenericAllocationHandle h, again;
	uint32_t word = 0;
	CUdeviceptr p;
	int fd = -1, other = -1;

	ok_eq(cuMemCreate(&h, page, &prop, 0), 0, "memory_is_made_to_be_exported");
	p = map(h);
	cuMemsetD32(p, 4711, page / 4);
	cuCtxSynchronize();
	ok_eq(cuMemExportToShareableHandle(&fd, h, FD, 0), 0, "it_is_exported");
	ok(fcntl(fd, F_GETFD) >= 0, "as_a_descriptor_of_this_process");
	ok_eq(ask(conn, fd, &word), 0, "another_process_imports_it");
	ok_eq(word, 4711, "and_finds_what_was_written");
	cuMemcpyDtoH(&word, p + 4, 4);
	ok_eq(word, 4712, "what_it_writes_arrives");
	ok_eq(cuMemExportToShareableHandle(&other, h, FD, 0), 0, "it_is_exported_again");
	ok_eq(ask(conn, other, &word), 0, "and_imported_again");
	ok_eq(cuMemRelease(h), 0, "its_handle_is_released");
	ok_eq(ask(conn, fd, &word), 0, "mapped_memory_is_still_imported");
	ok_eq(cuMemRetainAllocationHandle(&again, (void *)p), 0, "mapped_memory_has_a_handle_again");
	cuMemRelease(again);
	close(other);
	cuMemUnmap(p, page);
	cuMemAddressFree(p, page);
	close(fd);
}

static void test_refusals(int conn)
{
	CUmemAllocationProp plain = prop;
	CUmemGenericAllocationHandle h;
	int fd = open("/dev/zero", O_RDONLY), none = -1;
	uint32_t word;

	plain.requestedHandleTypes = 0;
	cuMemCreate(&h, page, &plain, 0);
	ok(cuMemExportToShareableHandle(&none, h, FD, 0) != 0, "memory_not_made_for_it_is_not_exported");
	cuMemRelease(h);
	ok(ask(conn, fd, &word) != 0, "another_file_is_not_imported");
	close(fd);
}

/* The owner ends: the other process keeps memory that this one cannot have any more. */
static void test_end(int *conn, pid_t *pid)
{
	CUmemGenericAllocationHandle h, own;
	CUdeviceptr p = 0;
	uint32_t word = 0;
	int fd = -1;

	cuMemCreate(&h, page, &prop, 0);
	cuMemExportToShareableHandle(&fd, h, FD, 0);
	ok_eq(import(&own, fd), 0, "memory_of_this_process_is_imported_here");
	p = map(own);
	ok(p && !cuMemsetD32(p, 5, 1) && !cuMemcpyDtoH(&word, p, 4) && word == 5, "and_mapped");
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	close(*conn);
	ok_eq(cuMemcpyDtoH(&word, p, 4), 0, "another_process_may_end_meanwhile");
	*pid = start_peer(conn);
	ok_eq(ask(*conn, fd, &word), 0, "the_next_one_imports_it");
	ok_eq(word, 5, "with_what_it_holds");
	close(fd);
}

int main(int argc, char **argv)
{
	int conn, value = 0;
	pid_t pid;

	alarm(100);
	if (argc == 3 && !strcmp(argv[1], "--peer"))
		return peer(atoi(argv[2]));
	if (start()) {
		printf("Bail out! CUDA does not start\n");
		return 1;
	}
	tap_plan(19);
	pid = start_peer(&conn);
	cuDeviceGetAttribute(&value,
			     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0);
	ok_eq(value, 1, "device_says_that_it_can");
	test_sharing(conn);
	test_refusals(conn);
	test_end(&conn, &pid);
	close(conn);
	waitpid(pid, NULL, 0);
	return tap_exit();
}
