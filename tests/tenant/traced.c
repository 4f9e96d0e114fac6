// SPDX-License-Identifier: Apache-2.0
/*
 * A program for a trace: two threads at the same time, each with a stream and a kernel of
 * its own, which it launches a number of times between copies of known sizes. With a
 * number as second argument each launch runs so many turns of a loop. With `wait` the
 * program waits for a line before all this, and for another one after it.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) do { \
	CUresult res_ = (call); \
	if (res_ != CUDA_SUCCESS) { \
		fprintf(stderr, "%s: %d\n", #call, res_); \
		exit(1); \
	} \
} while (0)

#define KERNEL(name) \
	".visible .entry " name "(.param .u64 p, .param .u32 turns)\n{\n" \
	".reg .u64 %a; .reg .u32 %v, %t; .reg .pred %q;\n" \
	"ld.param.u64 %a, [p]; ld.param.u32 %t, [turns]; ld.global.u32 %v, [%a];\n" \
	"LOOP:\nadd.u32 %v, %v, 1; sub.u32 %t, %t, 1; setp.ne.u32 %q, %t, 0; @%q bra LOOP;\n" \
	"st.global.u32 [%a], %v; ret;\n}\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	KERNEL("alpha") KERNEL("a_kernel_whose_name_is_longer_than_one_record_has_room_for_beta");

static CUcontext ctx;
static CUmodule module;
static int launches;
static unsigned int turns;
static pthread_barrier_t both;

static void *work(void *name)
{
	char up[1000] = { 0 }, down[4];
	CUfunction f;
	CUstream stream;
	CUdeviceptr p;
	void *args[] = { &p, &turns };
	int i;

	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuModuleGetFunction(&f, module, name));
	CHECK(cuMemAlloc(&p, 4096));
	pthread_barrier_wait(&both);
	CHECK(cuMemcpyHtoDAsync(p, up, sizeof(up), stream));
	for (i = 0; i < launches; i++)
		CHECK(cuLaunchKernel(f, 2, 1, 1, 1, 1, 1, 0, stream, args, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoHAsync(down, p, sizeof(down), stream));
	CHECK(cuStreamSynchronize(stream));
	/* A later call has the device's work written down. */
	pthread_barrier_wait(&both);
	CHECK(cuStreamSynchronize(stream));
	return NULL;
}

static void line(int wait)
{
	char text[16];

	if (wait) {
		printf("ready\n");
		fflush(stdout);
		if (!fgets(text, sizeof(text), stdin))
			exit(1);
	}
}

int main(int argc, char **argv)
{
	int wait = argc > 3 && !strcmp(argv[3], "wait");
	pthread_t a, b;

	launches = argc > 1 ? atoi(argv[1]) : 10;
	turns = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&module, ptx));
	line(wait);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&a, NULL, work, "alpha");
	pthread_create(&b, NULL, work,
		       "a_kernel_whose_name_is_longer_than_one_record_has_room_for_beta");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	line(wait);
	return 7;
}
