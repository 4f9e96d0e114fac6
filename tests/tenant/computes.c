// SPDX-License-Identifier: Apache-2.0
/*
 * A program for the test of suspended tenants: `computes ROUNDS [BYTES]` computes in threads, by
 * streams, graphs, events, managed memory and copies, and prints a checksum of all it has on the
 * device. A run that nobody disturbs prints the same. It prints "began" when all threads compute,
 * and ends with status 1 and the call's name at the first error. Addresses and handles are made
 * once. It holds BYTES of the device besides.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	3
#define WORDS	4096u

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry mix(.param .u64 p, .param .u32 n)\n{\n"
	".reg .u64 %a, %o; .reg .u32 %v, %n, %t, %b, %d;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
	"mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x;\n"
	"mad.lo.u32 %t, %b, %d, %t; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
	"ld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 1664525, %n; add.u32 %v, %v, %t;\n"
	"st.global.u32 [%a], %v; ret;\n}\n";

static CUcontext ctx;
static CUfunction mix;
static unsigned int rounds;
static pthread_barrier_t begin;

static void must(CUresult res, const char *what)
{
	const char *name = "?";

	if (res == CUDA_SUCCESS)
		return;
	cuGetErrorName(res, &name);
	printf("%s: %s\n", what, name);
	exit(1);
}
#define MUST(call) must(call, #call)

struct mine {
	pthread_t thread;
	unsigned int number;
	CUdeviceptr plain, pooled;
	uint32_t *managed;
	CUstream stream;
	CUevent event;
	CUgraphExec graph;
	uint32_t host[WORDS], sum;
};

static void launch(CUdeviceptr p, uint32_t n, CUstream stream)
{
	void *params[] = { &p, &n };

	MUST(cuLaunchKernel(mix, WORDS / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

static void set_up(struct mine *m)
{
	CUgraph graph;
	unsigned int i;

	MUST(cuCtxSetCurrent(ctx));
	MUST(cuStreamCreate(&m->stream, CU_STREAM_NON_BLOCKING));
	MUST(cuEventCreate(&m->event, 0));
	MUST(cuMemAlloc(&m->plain, sizeof(m->host)));
	MUST(cuMemAllocAsync(&m->pooled, sizeof(m->host), m->stream));
	MUST(cuMemAllocManaged((CUdeviceptr *)&m->managed, sizeof(m->host), CU_MEM_ATTACH_GLOBAL));
	for (i = 0; i < WORDS; i++)
		m->host[i] = i * 2654435761u + m->number;
	memcpy(m->managed, m->host, sizeof(m->host));
	MUST(cuMemcpyHtoDAsync(m->plain, m->host, sizeof(m->host), m->stream));
	MUST(cuMemcpyHtoDAsync(m->pooled, m->host, sizeof(m->host), m->stream));
	MUST(cuStreamBeginCapture(m->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(m->plain, 7 + m->number, m->stream);
	launch(m->pooled, 9 + m->number, m->stream);
	MUST(cuStreamEndCapture(m->stream, &graph));
	MUST(cuGraphInstantiate(&m->graph, graph, 0));
}

static void compute(struct mine *m, uint32_t round)
{
	MUST(cuGraphLaunch(m->graph, m->stream));
	MUST(cuEventRecord(m->event, m->stream));
	launch(m->pooled, round, m->stream);
	launch((CUdeviceptr)m->managed, round, m->stream);
	MUST(cuMemcpyDtoHAsync(m->host, m->plain, sizeof(m->host), m->stream));
	MUST(cuStreamSynchronize(m->stream));
	MUST(cuEventSynchronize(m->event));
	/* What the device has done goes through the host and back. */
	m->managed[round % WORDS] += m->host[(round * 31) % WORDS];
	m->host[round % WORDS] ^= m->managed[(round * 17) % WORDS];
	MUST(cuMemcpyHtoD(m->plain, m->host, sizeof(m->host)));
}

static uint32_t sum_of(const uint32_t *v, uint32_t sum)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		sum = sum * 16777619u ^ v[i];
	return sum;
}

static void *run(void *arg)
{
	struct mine *m = arg;
	uint32_t i;

	set_up(m);
	pthread_barrier_wait(&begin);
	for (i = 0; i < rounds; i++)
		compute(m, i);
	m->sum = sum_of(m->host, sum_of(m->managed, 1));
	MUST(cuMemcpyDtoH(m->host, m->pooled, sizeof(m->host)));
	m->sum = sum_of(m->host, m->sum);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct mine mine[THREADS];
	CUmodule mod;
	CUdeviceptr held;
	CUdevice dev;
	uint32_t sum = 1;
	unsigned int i;

	rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 100;
	MUST(cuInit(0));
	MUST(cuDeviceGet(&dev, 0));
	MUST(cuDevicePrimaryCtxRetain(&ctx, dev));
	MUST(cuCtxSetCurrent(ctx));
	MUST(cuModuleLoadData(&mod, ptx));
	MUST(cuModuleGetFunction(&mix, mod, "mix"));
	if (argc > 2)
		MUST(cuMemAlloc(&held, strtoul(argv[2], NULL, 10)));
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		mine[i].number = i;
		if (pthread_create(&mine[i].thread, NULL, run, &mine[i]))
			return 1;
	}
	pthread_barrier_wait(&begin);
	puts("began");
	fflush(stdout);
	for (i = 0; i < THREADS; i++) {
		pthread_join(mine[i].thread, NULL);
		sum = sum * 16777619u ^ mine[i].sum;
	}
	printf("sum %08x\n", sum);
	return 0;
}
