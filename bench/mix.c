// SPDX-License-Identifier: Apache-2.0
/*
 * The Neuron mix (tests/programs/neuron.cu) by other ways to forward calls (see forward.h):
 * every call goes to the server, as forwarders do it, even a peek at the last error. The
 * driver is the libcuda.so.1 that the loader finds, and the generator is the
 * libcurand.so.10 beside it.
 *
 *	mix WAY [calls=100000]
 *
 * prints what neuron prints: on stderr `rate CALLS-A-SECOND calls/s`, the crossings, and
 * milliseconds of CPU time of client and server in user mode and in the kernel; on stdout a hash
 * of the copied data.
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"
#include "forward.h"
#include "launch.h"
#include "../tests/programs/shares.h"

#define N		120	/* floats: 480 bytes */
#define XORWOW		101	/* CURAND_RNG_PSEUDO_XORWOW */

enum what { COPY_IN, COPY_OUT, SEED, OFFSET, LAUNCH, PEEK };
enum kind { COPY, KINDS = 5 };

/* Numbers of copies, seeds, offsets, launches, peeks. */
static const long share[KINDS] = { 290122, 268537, 268536, 142394, 127246 };

/* --- The server ------------------------------------------------------------------------ */

static CUdeviceptr device;
static CUfunction neuron;
static void *generator;
static int (*set_seed)(void *, unsigned long long);
static int (*set_offset)(void *, unsigned long long);

/* Computes the same as the kernel of neuron.cu: x > 0 ? x : 0.5 * x. */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry neuron(.param .u64 x, .param .u32 n)\n{\n"
	"	.reg .pred %p<3>;\n	.reg .b32 %r<6>;\n	.reg .f32 %f<4>;\n"
	"	.reg .b64 %rd<5>;\n"
	"	ld.param.u64 %rd1, [x];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n	setp.ge.s32 %p1, %r5, %r1;\n"
	"	@%p1 bra DONE;\n"
	"	cvta.to.global.u64 %rd2, %rd1;\n	mul.wide.s32 %rd3, %r5, 4;\n"
	"	add.s64 %rd4, %rd2, %rd3;\n	ld.global.f32 %f1, [%rd4];\n"
	"	mul.f32 %f2, %f1, 0f3F000000;\n	setp.gt.f32 %p2, %f1, 0f00000000;\n"
	"	selp.f32 %f3, %f1, %f2, %p2;\n	st.global.f32 [%rd4], %f3;\n"
	"DONE:\n	ret;\n}\n";

static void forward_server_start(void)
{
	void *lib = dlopen("libcurand.so.10", RTLD_NOW);
	int (*create)(void **, int);
	CUmodule mod;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	cuda_start();
	cuda_must("cuModuleLoadData", cuda.load(&mod, ptx));
	cuda_must("cuModuleGetFunction", cuda.get_function(&neuron, mod, "neuron"));
	cuda_must("cuMemAlloc", cuda.alloc(&device, N * sizeof(float)));
	create = (typeof(create))cuda_symbol(lib, "curandCreateGenerator");
	set_seed = (typeof(set_seed))cuda_symbol(lib, "curandSetPseudoRandomGeneratorSeed");
	set_offset = (typeof(set_offset))cuda_symbol(lib, "curandSetGeneratorOffset");
	cuda_must("curandCreateGenerator", (CUresult)create(&generator, XORWOW));
}

static int32_t launch(const uint64_t *words)
{
	CUdeviceptr x = device;
	int n = (int)words[6];
	void *params[] = { &x, &n };

	return (int32_t)cuda.launch(neuron, (unsigned int)words[0], 1, 1, (unsigned int)words[3],
				    1, 1, 0, NULL, params, NULL);
}

static void forward_serve_one(void)
{
	const struct request r = message->request;
	struct answer a = { CUDA_ERROR_INVALID_VALUE, 0 };

	switch (r.what) {
	case COPY_IN:
		if (r.size == N * sizeof(float))
			a.status = cuda.to_device(device, message->data, r.size);
		break;
	case COPY_OUT:
		a.status = cuda.to_host(message->data, device, N * sizeof(float));
		a.size = N * sizeof(float);
		break;
	case SEED:
		a.status = set_seed(generator, r.words[0]);
		break;
	case OFFSET:
		a.status = set_offset(generator, r.words[0]);
		break;
	case LAUNCH:
		a.status = launch(r.words);
		break;
	case PEEK:
		a.status = CUDA_SUCCESS;
		break;
	}
	message->answer = a;
}

/* --- The client -------------------------------------------------------------------------- */

static float host[N];
static uint64_t hash = 0xcbf29ce484222325ULL;
static long made[KINDS];

static void call(enum what what, uint32_t size)
{
	cuda_must(way->name, (CUresult)forward_call(what, size));
}

static void copy(void)
{
	const unsigned char *b = (const unsigned char *)host;
	size_t i;

	if (made[COPY] % 2) {
		call(COPY_OUT, 0);
		memcpy(host, message->data, sizeof(host));
		for (i = 0; i < sizeof(host); i++)
			hash = (hash ^ b[i]) * 0x100000001b3ULL;
		return;
	}
	host[made[COPY] % N] = (float)(made[COPY] % 977) / 977 - 0.5f;
	memcpy(message->data, host, sizeof(host));
	call(COPY_IN, sizeof(host));
}

static void one(int kind, long i)
{
	static const uint64_t shape[] = { 1, 1, 1, 128, 1, 1, N, 0, 0, 0 };
	static const enum what other[] = { 0, SEED, OFFSET, LAUNCH, PEEK };

	if (kind == COPY) {
		copy();
		return;
	}
	memcpy(message->request.words, shape, sizeof(shape));
	if (other[kind] != LAUNCH)
		message->request.words[0] = other[kind] == SEED ? 1701 + (uint64_t)i : 0;
	call(other[kind], 0);
}

static void mix(long calls)
{
	long debt[KINDS] = { 0 }, total = 0, i;
	int j, k;

	for (j = 0; j < KINDS; j++)
		total += share[j];
	for (i = 0; i < calls; i++) {
		k = next_kind(debt, share, KINDS, total);
		one(k, i);
		made[k]++;
	}
}

static void print_cpu(const char *name, int who)
{
	struct rusage u;

	must(!getrusage(who, &u), "getrusage");
	fprintf(stderr, ", %s %ld ms user %ld ms kernel", name,
		u.ru_utime.tv_sec * 1000 + u.ru_utime.tv_usec / 1000,
		u.ru_stime.tv_sec * 1000 + u.ru_stime.tv_usec / 1000);
}

/* The server ends when its connection ends. */
static void end_server(void)
{
	int status = 0;

	if (!way->serve)
		return;
	close(sock);
	must(waitpid(server_process, &status, 0) == server_process && !status, "the server's end");
}

int main(int argc, char **argv)
{
	long calls = 100000;
	uint64_t start;

	if (argc < 2 || argc > 3 || (argc == 3 && sscanf(argv[2], "calls=%ld", &calls) != 1) ||
	    calls < 1 || !forward_start(argv[1])) {
		fprintf(stderr, "usage: mix tcp|notify|unix|notify_unix|inline [calls=N]\n");
		return 2;
	}
	call(PEEK, 0);		/* the answer shows that the server runs */
	start = bench_ns();
	mix(calls);
	start = bench_ns() - start;
	end_server();
	fprintf(stderr, "rate %.0f calls/s\n", (double)calls * 1e9 / (double)start);
	fprintf(stderr, "crossed: %ld requests", way->serve ? calls : 0);
	print_cpu("client", RUSAGE_SELF);
	print_cpu("server", RUSAGE_CHILDREN);
	fputc('\n', stderr);
	printf("copies %016llx\n"
	       "calls %ld: %ld copies %ld seeds %ld offsets %ld launches %ld peeks\n",
	       (unsigned long long)hash, calls, made[0], made[1], made[2], made[3], made[4]);
	return 0;
}
