// SPDX-License-Identifier: Apache-2.0
/*
 * Writes what a cuRAND library answers to cases of generator, order, seed, offset and
 * counts, which come one in a line on stdin: selected values as bits and a hash over all
 * of them. rand.ref is what the genuine library wrote on a GPU. Its lines are cases too,
 * so a new recording reads it and writes it.
 *
 *   rand_record host|device LIBCURAND [LIBCUDA] < rand.ref
 */
#include <cuda.h>
#include <curand.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST ((size_t)1 << 19)	/* values of one call */

static struct {
	curandStatus_t (*create)(curandGenerator_t *, curandRngType_t);
	curandStatus_t (*destroy)(curandGenerator_t);
	curandStatus_t (*seed)(curandGenerator_t, unsigned long long);
	curandStatus_t (*offset)(curandGenerator_t, unsigned long long);
	curandStatus_t (*order)(curandGenerator_t, curandOrdering_t);
	curandStatus_t (*bits)(curandGenerator_t, unsigned int *, size_t);
	curandStatus_t (*uniform)(curandGenerator_t, float *, size_t);
	curandStatus_t (*uniform2)(curandGenerator_t, double *, size_t);
	curandStatus_t (*normal)(curandGenerator_t, float *, size_t, float, float);
	curandStatus_t (*normal2)(curandGenerator_t, double *, size_t, double, double);
	curandStatus_t (*log)(curandGenerator_t, float *, size_t, float, float);
	curandStatus_t (*log2)(curandGenerator_t, double *, size_t, double, double);
	curandStatus_t (*poisson)(curandGenerator_t, unsigned int *, size_t, double);
} rnd;

static CUresult (*dtoh)(void *, CUdeviceptr, size_t);
static CUresult (*fill)(CUdeviceptr, unsigned char, size_t);
static bool on_host;
static void *out;		/* what the library writes to */
static void *copy;		/* the same, readable */

static void *need(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return p;
}

static void load_rand(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	rnd.create = need(lib, on_host ? "curandCreateGeneratorHost" : "curandCreateGenerator");
	rnd.destroy = need(lib, "curandDestroyGenerator");
	rnd.seed = need(lib, "curandSetPseudoRandomGeneratorSeed");
	rnd.offset = need(lib, "curandSetGeneratorOffset");
	rnd.order = need(lib, "curandSetGeneratorOrdering");
	rnd.bits = need(lib, "curandGenerate");
	rnd.uniform = need(lib, "curandGenerateUniform");
	rnd.uniform2 = need(lib, "curandGenerateUniformDouble");
	rnd.normal = need(lib, "curandGenerateNormal");
	rnd.normal2 = need(lib, "curandGenerateNormalDouble");
	rnd.log = need(lib, "curandGenerateLogNormal");
	rnd.log2 = need(lib, "curandGenerateLogNormalDouble");
	rnd.poisson = need(lib, "curandGeneratePoisson");
}

static void start_device(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	CUresult (*init)(unsigned int), (*retain)(CUcontext *, CUdevice);
	CUresult (*current)(CUcontext), (*alloc)(CUdeviceptr *, size_t);
	CUdeviceptr p;
	CUcontext c;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	init = need(lib, "cuInit");
	retain = need(lib, "cuDevicePrimaryCtxRetain");
	current = need(lib, "cuCtxSetCurrent");
	alloc = need(lib, "cuMemAlloc_v2");
	dtoh = need(lib, "cuMemcpyDtoH_v2");
	fill = need(lib, "cuMemsetD8_v2");
	if (init(0) || retain(&c, 0) || current(c) || alloc(&p, MOST * 8)) {
		fprintf(stderr, "the device does not start\n");
		exit(1);
	}
	out = (void *)(uintptr_t)p;
}

/* Makes one step of a case: a letter for the distribution, then the count. */
static curandStatus_t step(curandGenerator_t g, char what, size_t n)
{
	switch (what) {
	case 'b':
		return rnd.bits(g, out, n);
	case 'u':
		return rnd.uniform(g, out, n);
	case 'U':
		return rnd.uniform2(g, out, n);
	case 'n':
		return rnd.normal(g, out, n, 0.f, 1.f);
	case 'N':
		return rnd.normal2(g, out, n, 0., 1.);
	case 'm':		/* another mean and deviation */
		return rnd.normal(g, out, n, 10.f, 3.f);
	case 'l':
		return rnd.log(g, out, n, 0.25f, 0.5f);
	case 'L':
		return rnd.log2(g, out, n, 0.25, 0.5);
	case 'p':
		return rnd.poisson(g, out, n, 7.5);
	default:		/* 'P': large */
		return rnd.poisson(g, out, n, 5000.);
	}
}

static void show(char what, size_t n)
{
	size_t at[] = { 0, 1, 2, 3, 4, 5, 4094, 4095, 4096, 8191, 8192, n / 2, n / 2 + 1, n - 2,
			n - 1 };
	int size = strchr("UNL", what) ? 8 : 4;
	const uint8_t *p = copy;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n * size; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	printf(" | %c%zu %016" PRIx64, what, n, h);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (at[i] >= n || (i && at[i] <= at[i - 1]))
			continue;
		if (size == 8)
			printf(" %016" PRIx64, ((uint64_t *)copy)[at[i]]);
		else
			printf(" %08" PRIx32, ((uint32_t *)copy)[at[i]]);
	}
}

static void run(int type, int order, uint64_t seed, uint64_t offset, const char *steps)
{
	curandGenerator_t g;
	curandStatus_t st = rnd.create(&g, type);
	const char *s = steps;

	printf("%d %d 0x%" PRIx64 " %" PRIu64 " %s", type, order, seed, offset, steps);
	if (st) {
		printf(" | create %d\n", st);
		return;
	}
	if (order)
		st = rnd.order(g, order);
	if (!st && seed)
		st = rnd.seed(g, seed);
	if (!st && offset)
		st = rnd.offset(g, offset);
	if (st)
		printf(" | set %d", st);
	while (!st && *s) {
		char *end, what = *s;
		size_t n = strtoull(s + 1, &end, 10), bytes = n * 8;

		s = *end ? end + 1 : end;
		if (on_host)
			memset(out, 0xee, bytes);
		else
			fill((CUdeviceptr)(uintptr_t)out, 0xee, bytes);
		st = step(g, what, n);
		if (st) {
			printf(" | %c%zu status %d", what, n, st);
			break;
		}
		if (!on_host && dtoh(copy, (CUdeviceptr)(uintptr_t)out, bytes)) {
			printf(" | %c%zu copy failed", what, n);
			break;
		}
		show(what, n);
	}
	printf("\n");
	rnd.destroy(g);
}

/* Runs the cases, one in a line: TYPE ORDER SEED OFFSET STEPS, and what may follow. */
static void run_all(void)
{
	unsigned long long seed, offset;
	char line[4096], steps[64];
	int type, order;

	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%d %d %llx %llu %63s", &type, &order, &seed, &offset, steps) == 5)
			run(type, order, seed, offset, steps);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: rand_record host|device LIBCURAND [LIBCUDA]\n");
		return 2;
	}
	on_host = !strcmp(argv[1], "host");
	copy = calloc(MOST, 8);
	if (on_host)
		out = copy;
	else
		start_device(argc > 3 ? argv[3] : "libcuda.so.1");
	load_rand(argv[2]);
	run_all();
	return 0;
}
