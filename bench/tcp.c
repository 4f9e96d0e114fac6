// SPDX-License-Identifier: Apache-2.0
/*
 * Measures a null call, a launch and copies of 4 KB by other ways to forward calls (see
 * forward.h). The driver is the libcuda.so.1 that the loader finds.
 *
 * usage: tcp tcp|notify|unix|notify_unix|inline
 */
#define _GNU_SOURCE
#include "batch.h"
#include "forward.h"
#include "launch.h"

enum what { NULL_CALL, LAUNCH, TO_DEVICE, TO_HOST };

static char host[BYTES];
static CUdeviceptr device;

/* --- The server ------------------------------------------------------------------- */

static void forward_server_start(void)
{
	cuda_start();
	cuda_must("cuMemAlloc", cuda.alloc(&device, BYTES));
}

static void forward_serve_one(void)
{
	const struct request r = message->request;
	struct answer a = { CUDA_ERROR_INVALID_VALUE, 0 };

	switch (r.what) {
	case NULL_CALL:
		a.status = CUDA_SUCCESS;
		break;
	case LAUNCH:
		a.status = cuda.launch(cuda.empty, r.words[0], r.words[1], r.words[2], r.words[3],
				       r.words[4], r.words[5], r.words[6], NULL, NULL, NULL);
		break;
	case TO_DEVICE:
		if (r.size == BYTES)
			a.status = cuda.to_device(device, message->data, r.size);
		break;
	case TO_HOST:
		a.status = cuda.to_host(message->data, device, BYTES);
		a.size = BYTES;
		break;
	}
	message->answer = a;
}

/* --- The client: it marshals calls as stubs do ------------------------------------- */

static void call(enum what what, uint32_t size)
{
	cuda_must(way->name, forward_call(what, size));
}

static void null_call(void)
{
	call(NULL_CALL, 0);
}

static void launch(void)
{
	static const uint64_t words[] = { 1, 1, 1, 1, 1, 1, 0, 0, 0, 0 };

	memcpy(message->request.words, words, sizeof(words));
	call(LAUNCH, 0);
}

static void copy_to_device(void)
{
	memcpy(message->data, host, BYTES);
	call(TO_DEVICE, BYTES);
}

static void copy_to_host(void)
{
	call(TO_HOST, 0);
	memcpy(host, message->data, BYTES);
}

int main(int argc, char **argv)
{
	if (argc != 2 || !forward_start(argv[1])) {
		fprintf(stderr, "usage: tcp tcp|notify|unix|notify_unix|inline\n");
		return 2;
	}
	memset(host, 42, sizeof(host));
	measure(way->name, "null_call", null_call);
	measure(way->name, "launch", launch);
	measure(way->name, "copy_4k_to_device", copy_to_device);
	memset(host, 0, sizeof(host));
	measure(way->name, "copy_4k_to_host", copy_to_host);
	if (host[0] == 42 && host[BYTES - 1] == 42)
		return 0;
	fprintf(stderr, "%s: the copy is wrong\n", way->name);
	return 1;
}
