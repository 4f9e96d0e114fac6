// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises memory and events between two processes (CUDA IPC), and expects what
 * an H200 answered. The other process opens, writes and ends as it is told. The test runs
 * the same natively, in the program's process and over shm.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc_peer.h"
#include "tap.h"

#define SIZE	(4ull << 20)
#define WORDS	1000u
#define LAZY	CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

static struct peer peer;

static struct peer_answer tell(const struct peer_call *c)
{
	return peer_call(&peer, c);
}

#define TELL(...) tell(&(struct peer_call){ __VA_ARGS__ })
#define HERE(...) peer_do(&(struct peer_call){ __VA_ARGS__ })

static struct peer_answer open_there(const void *handle, unsigned int flags)
{
	struct peer_call c = { .op = PEER_OPEN, .value = flags };

	memcpy(c.handle, handle, sizeof(c.handle));
	return tell(&c);
}

static struct peer_answer open_here(const void *handle)
{
	struct peer_call c = { .op = PEER_OPEN, .value = LAZY };

	memcpy(c.handle, handle, sizeof(c.handle));
	return peer_do(&c);
}

/* --- Memory ----------------------------------------------------------------------- */

static void shared_bytes(CUdeviceptr p, CUdeviceptr there)
{
	uint32_t word = 0;

	ok(TELL(.op = PEER_READ, .address = there + 4 * (WORDS - 1)).value == 7, "other_process_reads_what_was_written");
	TELL(.op = PEER_WRITE, .address = there + SIZE - 4, .value = 1234);
	/* A driver may have copied pageable memory to a place of its own when it returns. */
	TELL(.op = PEER_SYNC);
	cuMemcpyDtoH(&word, p + SIZE - 4, 4);
	ok(word == 1234, "what_it_writes_arrives");
	ok_eq(TELL(.op = PEER_ADD, .address = there, .value = 5, .size = WORDS).result, 0,
		  "its_kernels_take_the_address");
	TELL(.op = PEER_SYNC);
	cuMemcpyDtoH(&word, p + 4 * (WORDS - 1), 4);
	ok(word == 12, "and_work_on_the_memory");
	cuMemcpyDtoH(&word, p + 4 * WORDS, 4);
	ok(word == 7, "nothing_beside_it_is_touched");
}

static void described(CUdeviceptr there)
{
	struct peer_answer a = TELL(.op = PEER_RANGE, .address = there + 4096);

	ok(!a.result && a.address == there && a.size == SIZE, "imported_memory_has_its_range");
	a = TELL(.op = PEER_TYPE, .address = there);
	ok(!a.result && a.value == CU_MEMORYTYPE_DEVICE, "imported_memory_is_the_devices");
}

static void refusals(const CUipcMemHandle *h)
{
	CUipcMemHandle bad = *h;
	CUevent event;
	void *host;

	ok_eq(open_there(h, 0).result, CUDA_ERROR_INVALID_VALUE, "opening_needs_its_flag");
	memset(&bad, 0, sizeof(bad));
	ok_eq(open_there(&bad, LAZY).result, CUDA_ERROR_INVALID_VALUE, "empty_handle_is_not_opened");
	ok_eq(open_here(h).result, CUDA_ERROR_INVALID_CONTEXT, "own_handle_is_not_opened");
	cuMemAllocHost(&host, 4096);
	ok_eq(cuIpcGetMemHandle(&bad, (CUdeviceptr)host), CUDA_ERROR_INVALID_VALUE, "host_memory_has_no_handle");
	cuMemFreeHost(host);
	ok_eq(cuIpcGetMemHandle(&bad, 0x1000), CUDA_ERROR_INVALID_VALUE, "unknown_address_has_no_handle");
	ok_eq(cuIpcCloseMemHandle(0x1000), CUDA_ERROR_INVALID_VALUE, "unknown_address_is_not_closed");
	ok_eq(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE,
		  "interprocess_events_measure_no_time");
	(void)event;
}

static void opened_twice(const CUipcMemHandle *h, CUdeviceptr there)
{
	struct peer_answer a = open_there(h, LAZY);

	ok(!a.result && a.address == there, "opened_again_it_is_the_same_address");
	ok_eq(TELL(.op = PEER_EXPORT, .address = there).result, CUDA_ERROR_INVALID_VALUE,
	      "imported_memory_is_not_passed_on");
	ok_eq(TELL(.op = PEER_FREE, .address = there).result, CUDA_ERROR_INVALID_VALUE,
		  "imported_memory_is_not_freed");
	ok_eq(TELL(.op = PEER_CLOSE, .address = there).result, CUDA_SUCCESS, "it_is_closed");
	ok_eq(TELL(.op = PEER_READ, .address = there).result, CUDA_SUCCESS,
		  "opened_twice_it_is_open_after_one_closing");
	ok_eq(TELL(.op = PEER_CLOSE, .address = there).result, CUDA_SUCCESS, "it_is_closed_as_often");
	ok(TELL(.op = PEER_READ, .address = there).result != CUDA_SUCCESS, "then_its_address_is_nothing");
	ok_eq(TELL(.op = PEER_CLOSE, .address = there).result, CUDA_ERROR_INVALID_VALUE,
		  "and_is_not_closed_again");
}

static void memory(void)
{
	CUipcMemHandle h, again;
	struct peer_answer a;
	CUdeviceptr p, other;

	cuMemAlloc(&p, SIZE);
	cuMemsetD32(p, 7, SIZE / 4);
	ok_eq(cuIpcGetMemHandle(&h, p), CUDA_SUCCESS, "memory_has_a_handle");
	cuIpcGetMemHandle(&again, p);
	ok(!memcmp(&h, &again, sizeof(h)), "the_same_one_each_time");
	cuIpcGetMemHandle(&again, p + 4096);
	ok(!memcmp(&h, &again, sizeof(h)), "and_for_each_address_in_it");
	cuMemAlloc(&other, SIZE);
	cuIpcGetMemHandle(&again, other);
	ok(memcmp(&h, &again, sizeof(h)), "other_memory_has_another");
	cuCtxSynchronize();
	a = open_there(&h, LAZY);
	ok_eq(a.result, CUDA_SUCCESS, "another_process_opens_it");
	shared_bytes(p, a.address);
	described(a.address);
	refusals(&h);
	opened_twice(&h, a.address);
	cuMemFree(p);
	ok(open_there(&h, LAZY).result != CUDA_SUCCESS, "freed_memory_is_not_opened");
	cuMemFree(other);
}

/* --- Events ----------------------------------------------------------------------- */

static void events(void)
{
	struct peer_call open = { .op = PEER_EVENT_OPEN };
	CUipcEventHandle h, again;
	CUipcMemHandle m;
	CUevent plain, event, own;
	CUdeviceptr p, there;
	struct peer_answer a;
	uint32_t word = 0;
	int i, good = 1;

	cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING);
	ok_eq(cuIpcGetEventHandle(&h, plain), CUDA_ERROR_INVALID_HANDLE, "plain_event_has_no_handle");
	cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	ok_eq(cuIpcGetEventHandle(&h, event), CUDA_SUCCESS, "interprocess_event_has_one");
	memcpy(open.handle, &h, sizeof(h));
	a = tell(&open);
	ok_eq(a.result, CUDA_SUCCESS, "another_process_opens_the_event");
	memset(open.handle, 0, sizeof(open.handle));
	ok_eq(tell(&open).result, CUDA_ERROR_MAP_FAILED, "empty_event_handle_is_not_opened");
	memcpy(&again, &h, sizeof(again));
	ok_eq(cuIpcOpenEventHandle(&own, again), CUDA_ERROR_INVALID_CONTEXT, "own_event_is_not_opened");
	ok_eq(TELL(.op = PEER_EVENT_EXPORT, .event = a.event).result, CUDA_ERROR_INVALID_HANDLE,
	      "opened_event_is_not_passed_on");

	cuMemAlloc(&p, SIZE);
	cuMemsetD32(p, 0, SIZE / 4);
	cuIpcGetMemHandle(&m, p);
	cuCtxSynchronize();
	there = open_there(&m, LAZY).address;
	/* Each side's kernel waits for the other's by the event alone. */
	for (i = 0; i < 20 && good; i++) {
		good = !HERE(.op = PEER_ADD, .address = p, .value = 1, .size = SIZE / 4).result &&
		       !cuEventRecord(event, NULL) &&
		       !TELL(.op = PEER_EVENT_WAIT, .event = a.event).result &&
		       !TELL(.op = PEER_ADD, .address = there, .value = 1,
			     .size = SIZE / 4).result &&
		       !TELL(.op = PEER_EVENT_RECORD, .event = a.event).result &&
		       !HERE(.op = PEER_EVENT_WAIT, .event = event).result;
	}
	ok(good, "both_processes_record_it_and_wait_for_it");
	cuMemcpyDtoH(&word, p + SIZE - 4, 4);
	ok(word == 40, "kernels_of_both_take_turns_by_it");
	ok_eq(cuEventQuery(event), CUDA_SUCCESS, "it_has_happened");
	ok_eq(TELL(.op = PEER_EVENT_END, .event = a.event).result, CUDA_SUCCESS, "opened_event_is_destroyed");
	TELL(.op = PEER_CLOSE, .address = there);
	cuEventDestroy(event);
	cuEventDestroy(plain);
	cuMemFree(p);
}

/* --- Ends -------------------------------------------------------------------------- */

static void ends(void)
{
	struct peer_answer a = TELL(.op = PEER_ALLOC, .size = SIZE);
	CUdeviceptr theirs = a.address, here;
	CUipcMemHandle h;
	uint32_t word = 0;

	TELL(.op = PEER_WRITE, .address = theirs, .value = 99);
	a = TELL(.op = PEER_EXPORT, .address = theirs);
	memcpy(&h, a.handle, sizeof(h));
	here = open_here(&h).address;
	peer_kill(&peer);
	ok(here && !cuMemcpyDtoH(&word, here, 4) && word == 99, "memory_of_a_dead_owner_stays_where_it_is_open");
	ok_eq(cuIpcCloseMemHandle(here), CUDA_SUCCESS, "and_is_closed");
	peer_start(&peer);
	ok_eq(open_there(&h, LAZY).result, CUDA_ERROR_INVALID_HANDLE, "its_handle_opens_nothing_any_more");
}

int main(int argc, char **argv)
{
	int value = 0;

	peer_main(argc, argv);
	tap_plan(42);
	peer_start(&peer);
	cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0);
	ok(value == 1, "device_says_that_it_can");
	memory();
	events();
	ends();
	peer_end(&peer);
	return tap_exit();
}
